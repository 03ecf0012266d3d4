"""Stores how far an assistant's sleep came, and what else is kept beside it, as one sealed JSON record.

Beside it stands what lasts of the assistant's life (`assistant/life/life_state.py`): whom it follows, and the like.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mud_assistant.assistant.journal.codec import exact_json, parse_json, seal, unseal
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import BrokenRecord

_LIFE = "life"


def load_sleep(db: Database, assistant: str) -> object:
    """Return what `save_sleep` wrote last, None when there is nothing that can be read."""
    row = db.execute("SELECT sleep FROM memory_state WHERE assistant = ?", (assistant,)).fetchone()
    try:
        return parse_json(unseal(row[0])) if row and row[0] else None
    except BrokenRecord:
        return None


def save_sleep(db: Database, assistant: str, state: object) -> None:
    """Write down how far the assistant's sleep came; `state` is plain JSON."""
    db.execute(
        """INSERT INTO memory_state VALUES (?, 0, ?)
           ON CONFLICT (assistant) DO UPDATE SET sleep = excluded.sleep""",
        (assistant, seal(exact_json(state))),
    )


def clear_sleep(db: Database, assistant: str) -> None:
    """Remove how far the assistant's sleep came, and all that is kept beside it but its life."""
    life = load_life(db, assistant)
    save_sleep(db, assistant, {_LIFE: life} if life else {})


def load_life(db: Database, assistant: str) -> Mapping[str, Any]:
    """Return what `save_life` wrote last, empty when there is nothing that can be read."""
    life = _kept(db, assistant).get(_LIFE)
    return life if isinstance(life, Mapping) else {}


def save_life(db: Database, assistant: str, life: Mapping[str, Any]) -> None:
    """Write down what lasts of the assistant's life, in plain JSON, beside its sleep."""
    save_sleep(db, assistant, {**_kept(db, assistant), _LIFE: life})


def forget_in_life(db: Database, assistant: str, principal_id: str) -> None:
    """Remove a person from what lasts of the assistant's life: their id in a list, and every object that names it."""
    life = load_life(db, assistant)
    left = {name: _without(part, principal_id) for name, part in life.items()}
    if left != life:
        save_life(db, assistant, left)


def _without(part: object, who: str) -> object:
    if isinstance(part, list):
        return [one for one in part if one != who]
    if isinstance(part, Mapping):
        return None if _names(part, who) else {key: value for key, value in part.items() if key != who}
    return part


def _names(part: Mapping[str, Any], who: str) -> bool:
    """Tell whether the object, or one in it, is of the person with this id."""
    return part.get("id") == who or any(isinstance(value, Mapping) and _names(value, who) for value in part.values())


def _kept(db: Database, assistant: str) -> Mapping[str, Any]:
    kept = load_sleep(db, assistant)
    return kept if isinstance(kept, Mapping) else {}
