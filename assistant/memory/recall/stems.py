"""Stems of English words as SQLite's FTS5 makes them, for PostgreSQL: so both databases find the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Final

from mud_assistant.assistant.memory.recall.words import stem_word

#: What FTS5 makes of an English text: Porter's stems of its words, in lower case and without accents.
ENGLISH_TOKENIZER: Final = "porter unicode61 remove_diacritics 2"


@lru_cache(maxsize=16_384)
def stem_english(word: str) -> str:
    """Return the stem of a word in lower case. On any thread; 0.1 ms for a word that is new."""
    return _stemmer()(word)


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    return make_stemmer(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))


def make_stemmer(db: sqlite3.Connection) -> Callable[[str], str]:
    """Return what stems a word with the FTS5 of a database in memory, or by a cruder rule where it has none."""
    try:
        db.execute(f"CREATE VIRTUAL TABLE words USING fts5(word, content='', tokenize='{ENGLISH_TOKENIZER}')")
        db.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, instance)")
    except sqlite3.Error:
        return stem_word
    lock = Lock()

    def stem(word: str) -> str:
        """Return the word as FTS5 indexes it."""
        with lock:
            db.execute("INSERT INTO words (rowid, word) VALUES (1, ?)", (word,))
            found = db.execute("SELECT term FROM stems").fetchall()
            db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return str(found[0][0]) if len(found) == 1 else word

    return stem
