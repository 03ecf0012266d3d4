"""The lines of one assistant: as columns, with the words of each, and those of the talk that it is part of.

The first full-text index holds how each line begins. The second holds it with the two lines before it in the same place
that had the very same audience, since a line alone ("No, the red one.") says little; so a public line is never found by
a private one. A long line speaks for itself: the second index holds all of it, as passages.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from mud_assistant.assistant.journal.database import Database, among, as_list, is_sqlite
from mud_assistant.assistant.memory.recall.vectors import Vector
from mud_assistant.assistant.memory.recall.words import split_words
from mud_assistant.tools.memories import Memory, MemoryKind
from mud_assistant.tools.trust import Audience

#: From this length on a line is no part of a neighbourhood, in characters.
LONG_LINE = 300
#: So much of a line is in the first index, in characters: a long text begins with what it is about.
BEGINNING = 600
#: The second index numbers the passages of a line from its row, shifted by so many bits.
PASSAGE_BITS = 6
#: Lines further apart than this belong to different talks, in seconds.
SAME_TALK = 3600.0
EVERYBODY = 0
#: Comes after every row.
_NO_ROW = 2**62
#: A longer name is cut: PostgreSQL indexes no longer text.
_LONGEST_NAME = 400
_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")


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


class Talk(NamedTuple):
    """What tells which lines are of the same talk as a line."""

    audience: int
    place: str
    at: float
    talk: int


@dataclass(frozen=True, slots=True)
class LineTables(ABC):
    """The lines of the assistant with this number. Blocking; the caller begins and ends the transactions.

    All assistants share the tables of PostgreSQL. In SQLite each has its own.
    """

    db: Database
    number: int
    language: str

    @property
    def lines(self) -> str:
        """Return the table of lines to read, in SQL. It needs an alias behind it."""
        return self._table("lines")

    @property
    def members(self) -> str:
        """Return the table of those who are in each audience, in SQL. It needs an alias behind it."""
        return "audience_members" if is_sqlite(self.db) else self._table("members")

    @property
    def vectors(self) -> str:
        """Return the table of vectors to read, in SQL. It needs an alias behind it."""
        return self._table("vectors")

    @abstractmethod
    def create(self) -> None:
        """Make what a new assistant needs."""

    @abstractmethod
    def drop(self) -> None:
        """Remove everything of the assistant."""

    @abstractmethod
    def put_vectors(self, model: str, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep vectors of this model, by the ids of their memories, in place of any others these have."""

    @abstractmethod
    def _key_of(self, audience: Audience) -> int:
        """Return the number of an audience, a new one where it has none."""

    @abstractmethod
    def _same_talk(self, talk: Talk) -> tuple[str, tuple[str | int, ...]]:
        """Return the condition for lines of the same place and audience that are part of a talk, with its values."""

    @abstractmethod
    def _insert(self, line: LineColumns, people: Sequence[str], talk: Talk, near: Sequence[int | None]) -> int:
        """Add a line with its words, and return its row. `near` are the two lines before it."""

    @abstractmethod
    def _delete(self, rows: Sequence[int]) -> None:
        """Remove lines with their words and vectors."""

    @abstractmethod
    def _write_passages(self, row: int, passages: Sequence[str]) -> None:
        """Write the passages of a line."""

    @abstractmethod
    def _remove_passages(self, rows: Sequence[int]) -> None:
        """Remove the passages of lines."""

    def find_rows(self, ids: Iterable[str]) -> list[int]:
        """Return the rows of the memories with these ids, as far as they are there."""
        found = self.db.execute(
            f"SELECT row FROM {self.lines} AS lines WHERE {among(self.db, 'id')}", (as_list(self.db, ids),)
        )
        return [row for (row,) in found]

    def put(self, memories: Sequence[Memory]) -> None:
        """Add lines, or renew those with the same ids."""
        found = self.db.execute(
            f"""SELECT id, row, line, audience, place, who, about FROM {self.lines} AS lines
            WHERE {among(self.db, "id")}""",
            (as_list(self.db, (memory.id for memory in memories)),),
        )
        known = {memory_id: (row, tuple(stored)) for memory_id, row, *stored in found}
        for memory in memories:
            new, audience = columns_of(memory), self._key_of(memory.audience)
            row, stored = known.get(new.id, (0, ()))
            same = (new.line, audience, new.place, new.who, new.about)
            if stored == same:
                self.db.execute(
                    f"""UPDATE {self._written} SET at = ?, name = ?, given = ?, family = ?, past = ?, expires = ?
                    WHERE {self._mine} AND row = ?""",
                    (new.at, new.name, new.given, new.family, new.past, new.expires, row),
                )
                continue
            if stored:
                LineTables.remove(self, [row])  # audiences and counts are the caller's
            talk = Talk(audience, new.place, new.at, new.talk)
            near = self._before(talk)
            row = self._insert(new, people_of(memory), talk, _rows_of(near))
            self._write_passages(row, _passages_of(new.line, near))
            known[new.id] = row, same

    def remove(self, rows: Sequence[int]) -> None:
        """Remove lines, and write anew what held them as neighbours."""
        if not rows:
            return
        gone = as_list(self.db, rows)
        touched = self.db.execute(
            f"""SELECT row, line, audience, place, at, talk FROM {self.lines} AS lines
            WHERE ({among(self.db, "first")} OR {among(self.db, "second")}) AND NOT ({among(self.db, "row")})
            ORDER BY row""",
            (gone, gone, gone),
        ).fetchall()
        self._delete(rows)
        self._remove_passages([*rows, *(row for row, *_ in touched)])
        for row, line, *talk in touched:
            near = self._before(Talk(*talk), row)
            self.db.execute(
                f"UPDATE {self._written} SET first = ?, second = ? WHERE {self._mine} AND row = ?",
                (*_rows_of(near), row),
            )
            self._write_passages(row, _passages_of(line, near))

    def _table(self, name: str) -> str:
        return f"{name}_{self.number}" if is_sqlite(self.db) else f"(SELECT * FROM recall_{name} WHERE {self._mine})"

    @property
    def _mine(self) -> str:
        """Return the condition for this assistant's rows in a table that is written to. In SQLite it has its own."""
        return "true" if is_sqlite(self.db) else f"assistant = {self.number}"

    @property
    def _written(self) -> str:
        return self.lines if is_sqlite(self.db) else "recall_lines"

    def _before(self, talk: Talk, row: int = _NO_ROW) -> list[tuple[int, str]]:
        """Return the rows and words of the two lines of the same talk before a line, the nearer first.

        `row` is that of the line, where it has one already.
        """
        if not talk.talk:
            return []
        condition, values = self._same_talk(talk)
        found = self.db.execute(
            f"SELECT row, line, at FROM {self._written} WHERE {condition} AND row < ? ORDER BY row DESC LIMIT 2",
            (*values, row),
        )
        return [(other, words) for other, words, then in found if abs(talk.at - then) <= SAME_TALK]


def columns_of(memory: Memory) -> LineColumns:
    """Return a memory as a line that both databases can store: without lone surrogates, NUL and endless names."""
    words = split_words(memory.name)
    given, family = (words[0][:_LONGEST_NAME], words[-1][:_LONGEST_NAME]) if len(words) > 1 else (None, None)
    memory_id, place, who = (text.replace("\0", " ") for text in (memory.id, memory.place, memory.who))
    text = memory.text.replace("\0", " ").encode(errors="replace").decode()
    return LineColumns(
        memory_id, place, memory.at, who, " ".join(words)[:_LONGEST_NAME], given, family,
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


def _passages_of(line: str, near: Sequence[tuple[int, str]]) -> list[str]:
    """Return a line together with those before it, the nearer first in `near`, or in passages where it stands alone."""
    return ["\n".join([*(words for _, words in reversed(near)), line])] if near else cut_passages(line)


def _rows_of(near: Sequence[tuple[int, str]]) -> tuple[int | None, int | None]:
    first, second = ([row for row, _ in near] + [None, None])[:2]
    return first, second
