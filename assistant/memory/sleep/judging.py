"""Judges the sentences of a night by rule: what a small model made up, copied, or learned about the character."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mud_assistant.assistant.memory.sleep.asking import EXAMPLE_WORDS

_CLAUSE = re.compile(r"[.!?;:,—–]\s+|[。！？；：，]")  # noqa: RUF001 - full-width marks end clauses too
_SAYS_OF = r"(?:'re|'ve|'s|(?:\s+\w+)?\s+(?:is|are|was|were|has|have|had|will|must|should|can|may|shall|would)\b)"
#: Words that stand for the character, or address it; and those that stand for somebody else.
_ME = ("i", "me", "myself", "you", "yourself", "we", "the character", "this character", "the assistant", "the ai")
_THEY = ("he", "she", "they")
_WORD = re.compile(r"\w+")
_MINE = re.compile(r"\b(?:my|mine|our|ours)\b")
_STEM, _LAST_LATIN = 4, "\u024f"


def is_about_me(text: str, my_names: Sequence[str], names: Sequence[str]) -> bool:
    """Tell whether the subject of a sentence or of a clause is the character, as far as a rule can see it.

    `my_names` are the character's, `names` those of the people whom the text may be about. It is the subject when it is
    named before anybody else, and when something is said of it: "Sage is", "you have".
    """
    mine = "|".join(re.escape(name.casefold()) for name in (*my_names, *_ME) if name)
    others = "|".join(re.escape(name.casefold()) for name in (*names, *_THEY) if name)
    first = re.compile(rf"\b(?:(?P<me>{mine})|{others})\b")
    lowered = text.casefold()
    clauses = (found for clause in _CLAUSE.split(lowered) if (found := first.search(clause)))
    return says_of_me(text, my_names) or any(found["me"] for found in clauses)


def says_of_me(text: str, my_names: Sequence[str]) -> bool:
    """Tell whether something is said of the character, or of "you", in a text of somebody's own words."""
    mine = "|".join(re.escape(name.casefold()) for name in (*my_names, "you", "yourself") if name)
    return re.search(rf"\b(?:{mine}){_SAYS_OF}", text.casefold()) is not None


def is_grounded(text: str, shown: Sequence[str], names: Sequence[str]) -> bool:
    """Tell whether a sentence can be from the texts that were shown: it shares a word with them that is not a name.

    Only for letters of Latin scripts: other texts count as grounded. Words of our own examples need to be in the lines.
    """
    seen, lowered = "\n".join(shown).casefold(), text.casefold()
    if any(word in lowered and word not in seen for word in EXAMPLE_WORDS):
        return False
    stems = find_stems(lowered) - find_stems(" ".join(names).casefold())
    if not stems or any(char > _LAST_LATIN and char.isalpha() for char in text):
        return True
    return bool(stems & find_stems(seen))


def find_stems(text: str) -> frozenset[str]:
    """Return the beginnings of the longer words of a text."""
    return frozenset(word[:_STEM] for word in _WORD.findall(text.casefold()) if len(word) >= _STEM)


def is_first_person(text: str) -> bool:
    """Tell whether a sentence about somebody else is in their own words, such as "the chest in my room"."""
    return _MINE.search(text.casefold()) is not None


def is_copy(text: str, shown: Sequence[str]) -> bool:
    """Tell whether a sentence stands word by word in one of the texts that were shown."""
    words = " ".join(_WORD.findall(text.casefold()))
    return bool(words) and any(f" {words} " in f" {' '.join(_WORD.findall(one.casefold()))} " for one in shown)
