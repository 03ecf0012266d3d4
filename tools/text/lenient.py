"""Reads leniently what small models and players write: the words inside a wrapping, and the thing that a name means.

Conservative on purpose: a wrapping is removed only when it holds the whole text and is the speaker's own. A name is
found whatever its case and articles: 'the Old MAP', 'map' and 'old m' all mean the old map.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator

from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.text.clean import one_line

#: The most characters that may be said at once.
MAX_WORDS = 2000
#: Opening and closing marks. Single quotes are left alone: they are apostrophes too often.
_QUOTES = (('"', '"'), ("“", "”"), ("«", "»"), ("„", "“"))
_SPEAKS = r"(?:says?|said|asks?|asked|replies|replied|answers?|answered)"
#: The first characters of a name that a list may show where it has no room for the rest.
_SHOWN_OF_A_NAME = 6
_ARTICLES = frozenset({"the", "a", "an", "some", "my", "this", "that"})


def strip_speech_label(text: str, speaker_name: str) -> str:
    """Return the bare words: 'Sage: Hello', 'Sage says, "Hello"' and '"Hello"' are all 'Hello'.

    Quotation marks are removed only when they hold everything and none stands inside.
    """
    while (bare := _strip_quotes(_strip_name(text.strip(), speaker_name))) != text:
        text = bare
    return text


def strip_actor_name(text: str, actor_name: str) -> str:
    """Return the bare act, as it follows the actor's name: 'Sage smiles' and '*smiles*' are both 'smiles'."""
    while (bare := _strip_actor(_strip_stars(text.strip()), actor_name)) != text:
        text = bare
    return text


def _strip_name(text: str, name: str) -> str:
    """Return `text` without a leading `name:`, or a `name says` before a quotation that runs to its end."""
    if not name:
        return text
    own = re.escape(name)
    label = re.match(rf"(?:{own}\s?:|\*\*{own}:\*\*|\*\*{own}\*\*:)\s*", text, re.IGNORECASE)
    if label:
        return text[label.end() :]
    says = re.match(rf"{own}\s+{_SPEAKS}\s*[,:]?\s*(?=[\"“«„])", text, re.IGNORECASE)
    if says and _strip_quotes(text[says.end() :]) != text[says.end() :]:
        return text[says.end() :]
    return text


def _strip_quotes(text: str) -> str:
    """Return `text` without the one pair of quotation marks that holds all of it."""
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == opening and text[-1] == closing and not {opening, closing} & set(inner):
            return inner.strip()
    return text


def _strip_stars(text: str) -> str:
    """Return `text` without the asterisks that hold all of it."""
    held = re.fullmatch(r"(\*+)([^*]+)\1", text)
    return held.group(2).strip() if held else text


def _strip_actor(text: str, name: str) -> str:
    """Return `text` without the leading name, when words follow it."""
    own = re.match(rf"{re.escape(name)}\s+(?=\S)", text, re.IGNORECASE) if name else None
    return text[own.end() :] if own else text


def _cut(value: object) -> object:
    return value[:MAX_WORDS] if isinstance(value, str) else value


#: Text to be said. A longer text is cut after MAX_WORDS characters, not refused.
Words = Annotated[str, BeforeValidator(_cut)]


def pick(wanted: str, names: Sequence[str], *, what: str = "You see") -> int:
    """Return the index of the name meant. Raises ToolFailed that says what there is when none or several fit.

    Case, articles and full stops do not matter. An exact name wins, then the only one that begins so, then the
    only one that shares all words of the shorter side.
    """
    found = candidates(wanted, names)
    if len(found) == 1:
        return found[0]
    shown = one_line(wanted, max_chars=60)
    if found:
        several = ", ".join(names[index] for index in found)
        raise ToolFailed(f"More than one thing here is '{shown}': {several}. Say which one.")
    there = ", ".join(names) or "nothing"
    raise ToolFailed(f"There is no '{shown}' here. {what}: {there}.")


def pick_person(
    wanted: str, people: Sequence[tuple[str, str]], only: frozenset[str] | None = None, *, what: str = "Here are"
) -> int:
    """Return the index of the person meant. `people` holds the id and the name of each who is there.

    `only` holds the ids of those who may be meant, None for anybody: a name is no proof of who somebody is. Raises
    ToolFailed like `pick`, and when the name fits only somebody else.
    """
    names = [name for _, name in people]
    if only is None:
        return pick(wanted, names, what=what)
    allowed = [index for index, (id_, _) in enumerate(people) if id_ in only]
    found = candidates(wanted, [names[index] for index in allowed])
    if len(found) == 1:
        return allowed[found[0]]
    shown = one_line(names[pick(wanted, names, what=what)], max_chars=60)
    raise ToolFailed(f"The {shown} who is there is somebody else, so it was not done.")


def candidates(wanted: str, names: Sequence[str]) -> list[int]:
    """Return the indexes of the names that fit `wanted` best; empty when none does."""
    target = plain(wanted)
    if not target:
        return []
    plains = [plain(name) for name in names]
    words = set(target.split())
    return (
        [index for index, name in enumerate(plains) if name == target]
        or [index for index, name in enumerate(plains) if name.startswith(target)]
        or [index for index, name in enumerate(plains) if _overlap(words, set(name.split()))]
    )


def plain(name: str) -> str:
    """Return `name` in lower case without articles, quotation marks and outer punctuation."""
    words = [word.strip(".,;:!?'\"") for word in name.casefold().split()]
    kept = [word for word in words if word and word not in _ARTICLES]
    return " ".join(kept or [word for word in words if word])


def _overlap(wanted: set[str], name: set[str]) -> bool:
    """Tell whether one side's words are all among the other's."""
    return bool(name) and (wanted <= name or name <= wanted)


def has_name(text: str, name: str) -> bool:
    """Tell whether a text may hold this name, cut short or broken over lines as in a table."""
    first = "".join(name.split())[:_SHOWN_OF_A_NAME]
    letters = r"\s*".join(map(re.escape, first))
    begins = r"(?<!\w)" if first[:1].isalnum() else ""
    return bool(first) and re.search(begins + letters, text, re.IGNORECASE) is not None
