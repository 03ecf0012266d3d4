"""Texts and queries as PostgreSQL's full-text search takes them: the words are ours, so both databases find the same.

Each word begins with the number of its assistant. One GIN index serves all assistants so, and a search reads only what
is one assistant's.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from mud_assistant.assistant.memory.recall.stems import stem_english
from mud_assistant.assistant.memory.recall.words import ENGLISH, SHORTEST_TRIGRAM, split_terms

_WORD = re.compile(r"[^\W_]+")
#: PostgreSQL counts no positions behind this one, and takes no longer word, in characters.
_LAST_POSITION, _LONGEST = 16_383, 400


def find_tokens(text: str, language: str = ENGLISH) -> list[str]:
    """Return the words of a text as they are indexed: stems in English, in other languages each three letters."""
    if language != ENGLISH:
        folded = text.lower()
        return [folded[i : i + SHORTEST_TRIGRAM] for i in range(len(folded) - SHORTEST_TRIGRAM + 1)]
    if not text.isascii():
        text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return [stem_english(word)[:_LONGEST] for word in _WORD.findall(text.lower())]


def write_vector(assistant: int, tokens: Iterable[str]) -> str:
    """Return words in their order as a tsvector in SQL's text."""
    places: dict[str, list[str]] = {}
    for place, token in enumerate(tokens, 1):
        places.setdefault(token, []).append(str(min(place, _LAST_POSITION)))
    return " ".join(f"{_quote(assistant, token)}:{','.join(where)}" for token, where in places.items())


def write_queries(assistant: int, terms: Sequence[str], language: str = ENGLISH) -> list[str]:
    """Return a tsquery in SQL's text for each of the pieces in which these terms can be found."""
    pieces = (find_tokens(piece, language) for piece in split_terms(terms, language))
    return list(dict.fromkeys(write_phrase(assistant, tokens) for tokens in pieces if tokens))


def write_phrase(assistant: int, tokens: Iterable[str]) -> str:
    """Return a tsquery in SQL's text for words that stand one behind the other."""
    return " <-> ".join(_quote(assistant, token) for token in tokens)


def _quote(assistant: int, token: str) -> str:
    quoted = token.replace("\0", " ").replace("\\", "\\\\").replace("'", "''")
    return f"'{assistant}:{quoted}'"
