"""Finds which answers to others repeat a player's words, so that they are forgotten with the player. Pure.

An answer to Bob may hold what Ann said, and names only Bob as its cause. A word of Ann's that nobody else used shows
which answers do. Ordinary words are no sign of it, and an answer that says the same in other words is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mud_assistant.assistant.language.words import PLAIN_WORDS

#: A shorter word is not taken for anybody's own, in characters.
_LEAST = 4
_WORD = re.compile(rf"\w{{{_LEAST},}}")


def own_words(theirs: Iterable[str], others: Iterable[str]) -> frozenset[str]:
    """Return the words of one player's texts that are in no text of the others."""
    own = words_among(theirs)
    for text in others:
        if not own:
            break
        own -= words_among([text])
    return frozenset(own - PLAIN_WORDS)


def words_among(texts: Iterable[str]) -> set[str]:
    """Return the longer words of texts."""
    return {word for text in texts for word in _WORD.findall(text.casefold())}


def has_any(text: str, own: frozenset[str]) -> bool:
    """Tell whether a text holds one of these words."""
    return any(word in own for word in _WORD.findall(text.casefold()))
