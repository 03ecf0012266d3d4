"""Finds what a model or a player means by a name: 'the Old MAP', 'map' and 'old m' all mean the old map."""

from __future__ import annotations

from collections.abc import Sequence

from tools.errors import ToolFailed
from tools.text.clean import one_line

_ARTICLES = frozenset({"the", "a", "an", "some", "my", "this", "that"})


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
