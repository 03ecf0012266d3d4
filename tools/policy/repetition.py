"""Tells when an act is repeated: by an assistant that answers an assistant, or by a model that goes in circles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from mud_assistant.llm.messages import JSON, JSONObject

#: How many of its latest effects an assistant does not repeat for another assistant.
REMEMBERED = 10

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class Repetition:
    """The last effects of one assistant, over all its runs; in memory, so a restart forgets them."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._acts: tuple[str, ...] = ()

    def note(self, act: str) -> None:
        """Note an act that happened, or may have."""
        self._acts = (*self._acts, act)[-self._remembered :]

    def has(self, act: str) -> bool:
        """Tell whether this act is among the last ones."""
        return act in self._acts


def act_of(tool: str, arguments: JSONObject) -> str:
    """Return the act as one text, equal for equal acts: white space and the case of letters make no difference."""
    return canonical(tool, _plain(arguments))


def canonical(*values: object) -> str:
    """Return JSON values as one text, the same however the keys were ordered."""
    return _CANONICAL.encode(values)


def _plain(value: JSON) -> JSON:
    """Return the value with every text in it in lower case and with single spaces."""
    if isinstance(value, str):
        return " ".join(value.split()).casefold()
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [_plain(part) for part in value]
    return value
