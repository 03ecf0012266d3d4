"""Finds the pass-phrase in what somebody tells the character in private, by which they are known again."""

from __future__ import annotations

import re

_TOLD = re.compile(r"\W*(?:this is )?my pass-?\s?phrase is:?\s+(?P<phrase>\S.{0,200}?)[.!]?\s*", re.IGNORECASE)
_MARKS = "\"'\u201c\u201d\u2018\u2019 "


def phrase_in(words: str) -> str:
    """Return the pass-phrase that the words tell, empty for none.

    It is found before anything is written down or shown to a model: the words go nowhere else.
    """
    found = _TOLD.fullmatch(words)
    return "" if found is None else found["phrase"].strip(_MARKS)


def known_again(name: str, since: str) -> str:
    """Say that somebody proved who they are; `since` is the date since when they are known."""
    return f"{name} told the pass-phrase that was left with you: they are the {name} whom you have known since {since}."


def phrase_kept(name: str, *, is_kept: bool) -> str:
    """Say whether the pass-phrase of somebody is kept."""
    if is_kept:
        return f"{name} left a pass-phrase with you, by which you will know them again."
    return f"{name} told a pass-phrase that is not known, or is too short to be kept."
