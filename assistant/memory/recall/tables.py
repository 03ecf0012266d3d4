"""The tables of one assistant in the file of the index: its lines, and two full-text indexes over them.

The first index holds how each line begins. The second holds it with the two lines before it in the same place that had
the very same audience, since a line alone ("No, the red one.") says little; so a public line is never found by a
private one. A long line speaks for itself: the second index holds all of it, as passages.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar

from msgspec import Struct

from assistant.memory.recall.words import ENGLISH, split_words
from tools.memories import Memory, MemoryKind

#: From this length on a line is no part of a neighbourhood, in characters.
LONG_LINE = 300
#: So much of a line is in the first index, in characters: a long text begins with what it is about.
BEGINNING = 600
#: The second index numbers the passages of a line from its row, shifted by so many bits.
PASSAGE_BITS = 6
#: Lines further apart than this belong to different talks, in seconds.
SAME_TALK = 3600.0
EVERYBODY = 0
_VARIABLES = 500
_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")
Item = TypeVar("Item")


class LineColumns(NamedTuple):
    """A memory as a line of an index. `about` is JSON or empty; `given` and `family` are the ends of a longer name."""

    id: str
    place: str
    at: float
    who: str
    name: str
    given: str | None
    family: str | None
    about: str
    line: str
    past: int
    expires: float | None
    talk: int


class AssistantTables(Struct, frozen=True):
    """The tables of the assistant with this number. Blocking; the caller begins and ends the transactions.

    `full_text` is False where SQLite has no FTS5: then only the lines are kept.
    """

    db: sqlite3.Connection
    number: int
    full_text: bool = True

    @property
    def lines(self) -> str:
        """Return the name of the table of lines."""
        return f"lines_{self.number}"

    @property
    def alone(self) -> str:
        """Return the name of the full-text index over each line."""
        return f"alone_{self.number}"

    @property
    def beside(self) -> str:
        """Return the name of the full-text index over each line and those before it."""
        return f"beside_{self.number}"

    @property
    def members(self) -> str:
        """Return the name of the table of those who are in each audience, which all assistants share."""
        return "audience_members"

    @property
    def vectors(self) -> str:
        """Return the name of the table of vectors."""
        return f"vectors_{self.number}"

    def create(self, language: str) -> None:
        """Make the tables."""
        self.db.execute(
            f"""CREATE TABLE {self.lines} (row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
            audience INTEGER NOT NULL, place TEXT NOT NULL, at REAL NOT NULL, who TEXT NOT NULL, name TEXT NOT NULL,
            given TEXT, family TEXT, about TEXT NOT NULL, line TEXT NOT NULL, past INTEGER NOT NULL, expires REAL,
            talk INTEGER NOT NULL, first INTEGER, second INTEGER)"""
        )
        for column in ("who", "first", "second"):
            self.db.execute(f"CREATE INDEX {self.lines}_{column} ON {self.lines} ({column})")
        for column in ("name", "given", "family"):
            self.db.execute(f"CREATE INDEX {self.lines}_{column} ON {self.lines} ({column}, who)")
        self.db.execute(f"CREATE INDEX {self.lines}_at ON {self.lines} (at, row)")
        self.db.execute(f"CREATE INDEX {self.lines}_talk ON {self.lines} (audience, place, talk, row)")
        self.db.execute(
            f"CREATE TABLE {self.vectors} (row INTEGER NOT NULL, model TEXT NOT NULL, numbers BLOB NOT NULL, "
            "PRIMARY KEY (row, model)) WITHOUT ROWID"
        )
        if self.full_text:
            tokenizer = "porter unicode61 remove_diacritics 2" if language == ENGLISH else "trigram"
            for table, columns in ((self.alone, "line, people"), (self.beside, "line")):
                self.db.execute(f"CREATE VIRTUAL TABLE {table} USING fts5({columns}, tokenize='{tokenizer}')")

    def drop(self) -> None:
        """Remove the tables."""
        for table in (self.alone, self.beside, self.vectors, self.lines):
            self.db.execute(f"DROP TABLE IF EXISTS {table}")

    def put(self, memory: Memory, audience: int) -> int | None:
        """Add a line, or renew the one with its id. Return its row when the line is new or has other words."""
        new = columns_of(memory)
        known = self.db.execute(
            f"SELECT row, line, audience, place, who, about FROM {self.lines} WHERE id = ?", (memory.id,)
        ).fetchone()
        if known is not None and known[1:] == (new.line, audience, new.place, new.who, new.about):
            self.db.execute(
                f"UPDATE {self.lines} SET at = ?, name = ?, given = ?, family = ?, past = ?, expires = ? WHERE row = ?",
                (new.at, new.name, new.given, new.family, new.past, new.expires, known[0]),
            )
            return None
        if known is not None:
            self.remove([known[0]])
        row = self.db.execute(
            f"""INSERT INTO {self.lines} (audience, {", ".join(LineColumns._fields)})
            VALUES (?, {", ".join("?" * len(new))})""",
            (audience, *new),
        ).lastrowid
        if row is None:
            raise sqlite3.DatabaseError("a row was written without a number")
        if self.full_text:
            self.db.execute(
                f"INSERT INTO {self.alone} (rowid, line, people) VALUES (?, ?, ?)",
                (row, new.line[:BEGINNING], " ".join(people_of(memory))),
            )
            self._write_neighbourhood(row)
        return row

    def remove(self, rows: Sequence[int]) -> None:
        """Remove lines, and write anew what held them as neighbours."""
        touched: set[int] = set()
        for some in _in_parts(rows):
            marks = ",".join("?" * len(some))
            for column in ("first", "second"):
                found = self.db.execute(f"SELECT row FROM {self.lines} WHERE {column} IN ({marks})", some)
                touched.update(row for (row,) in found)
            for table in (self.lines, self.vectors):
                self.db.execute(f"DELETE FROM {table} WHERE row IN ({marks})", some)
            if self.full_text:
                self.db.execute(f"DELETE FROM {self.alone} WHERE rowid IN ({marks})", some)
            for row in some if self.full_text else ():
                self._remove_neighbourhood(row)
        for row in sorted(touched.difference(rows)):
            self._write_neighbourhood(row)

    def find_rows(self, ids: Iterable[str]) -> list[int]:
        """Return the rows of the memories with these ids, as far as they are there."""
        rows: list[int] = []
        for some in _in_parts(list(ids)):
            marks = ",".join("?" * len(some))
            rows += [row for (row,) in self.db.execute(f"SELECT row FROM {self.lines} WHERE id IN ({marks})", some)]
        return rows

    def optimize(self) -> None:
        """Merge the full-text indexes, so that no removed term stays in them."""
        for table in (self.alone, self.beside) if self.full_text else ():
            self.db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")

    def _write_neighbourhood(self, row: int) -> None:
        audience, place, at, line, talk = self.db.execute(
            f"SELECT audience, place, at, line, talk FROM {self.lines} WHERE row = ?", (row,)
        ).fetchone()
        before = []
        if talk:
            before = self.db.execute(
                f"""SELECT row, line, at FROM {self.lines} WHERE audience = ? AND place = ? AND talk = 1 AND row < ?
                ORDER BY row DESC LIMIT 2""",
                (audience, place, row),
            ).fetchall()
        near = [(other, text) for other, text, then in before if abs(at - then) <= SAME_TALK]
        first, second = ([other for other, _ in near] + [None, None])[:2]
        self.db.execute(f"UPDATE {self.lines} SET first = ?, second = ? WHERE row = ?", (first, second, row))
        self._remove_neighbourhood(row)
        whole = "\n".join([*(text for _, text in reversed(near)), line])
        self.db.executemany(
            f"INSERT INTO {self.beside} (rowid, line) VALUES (?, ?)",
            enumerate([whole] if near else cut_passages(line), row << PASSAGE_BITS),
        )

    def _remove_neighbourhood(self, row: int) -> None:
        self.db.execute(
            f"DELETE FROM {self.beside} WHERE rowid BETWEEN ? AND ?",
            (row << PASSAGE_BITS, (row + 1 << PASSAGE_BITS) - 1),
        )


def columns_of(memory: Memory) -> LineColumns:
    """Return a memory as a line, with `?` for lone surrogates, which no encoding has."""
    text = memory.text.encode(errors="replace").decode()
    words = split_words(memory.name)
    given, family = (words[0], words[-1]) if len(words) > 1 else (None, None)
    return LineColumns(
        memory.id, memory.place, memory.at, memory.who, " ".join(words), given, family,
        json.dumps(memory.about) if memory.about else "", text, int(bool(memory.superseded_by)), memory.expires,
        int(memory.kind in {MemoryKind.HEARD, MemoryKind.SEEN} and len(memory.text) < LONG_LINE),
    )  # fmt: skip


def people_of(memory: Memory) -> list[str]:
    """Return the words that stand for those who said a memory, and whom it is about."""
    return [person_token(who) for who in sorted({memory.who, *memory.about} - {""})]


def person_token(principal_id: str) -> str:
    """Return a word that stands for a principal in the full-text index, and that no text has by chance."""
    return "q" + sha256(principal_id.encode(errors="replace")).hexdigest()[:20]


def cut_passages(text: str) -> list[str]:
    """Return a text in passages of about `LONG_LINE` characters, cut after sentences where there are any."""
    passages: list[str] = []
    for sentence in _SENTENCE.split(text):
        if passages and (len(passages[-1]) + len(sentence) < LONG_LINE or len(passages) == 1 << PASSAGE_BITS):
            passages[-1] = f"{passages[-1]} {sentence}"
        else:
            passages.append(sentence)
    return passages


def _in_parts(items: Sequence[Item]) -> Iterable[Sequence[Item]]:
    return (items[i : i + _VARIABLES] for i in range(0, len(items), _VARIABLES))
