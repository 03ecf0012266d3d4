"""The lines of one assistant in PostgreSQL, with the words of each, and those of the talk that it is part of.

What they hold is as in `recall/tables.py`: that says which lines are neighbours, and why. All assistants share the
tables.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

from msgspec import Struct, field

from assistant.journal.database import Database
from assistant.memory.recall.postgres.tokens import find_tokens, write_vector
from assistant.memory.recall.tables import (
    BEGINNING,
    EVERYBODY,
    PASSAGE_BITS,
    SAME_TALK,
    LineColumns,
    columns_of,
    cut_passages,
    people_of,
)
from tools.memories import Memory
from tools.trust import Audience

#: The row of a line, and what a line is indexed by.
Known = tuple[int, tuple[str | int, ...]]
#: Comes after every row.
_NO_ROW = 2**62
#: A longer name is cut: PostgreSQL indexes no longer text.
_LONGEST_NAME = 400


class PostgresTables(Struct, frozen=True):
    """The lines of the assistant with this number. Blocking; the caller begins and ends the transactions.

    Who writes holds the lock of the assistant's own row, so that its lines are written one after the other.
    """

    db: Database
    number: int
    #: By how much the tables grew since `count` wrote it down.
    _grown: Counter[str] = field(default_factory=Counter)

    @property
    def lines(self) -> str:
        """Return a table of the lines."""
        return f"(SELECT * FROM recall_lines WHERE assistant = {self.number})"

    @property
    def members(self) -> str:
        """Return a table of those who are in each audience."""
        return f"(SELECT * FROM recall_members WHERE assistant = {self.number})"

    @property
    def vectors(self) -> str:
        """Return a table of the vectors."""
        return f"(SELECT * FROM recall_vectors WHERE assistant = {self.number})"

    def find_known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return what is stored of the memories with these ids, by id."""
        found = self.db.execute(
            """SELECT id, row, line, audience, place, who, about FROM recall_lines
            WHERE assistant = ? AND id = ANY(?)""",
            (self.number, list(ids)),
        )
        return {memory_id: (row, tuple(stored)) for memory_id, row, *stored in found}

    def put(self, memory: Memory, known: dict[str, Known], language: str) -> None:
        """Add a line, or renew the one with its id. `known` are those of `find_known`, and is brought up to date."""
        new = _storable(columns_of(memory))
        audience = self._key_of(memory.audience)
        row, stored = known.get(new.id, (0, ()))
        same = (new.line, audience, new.place, new.who, new.about)
        if stored == same:
            self.db.execute(
                """UPDATE recall_lines SET at = ?, name = ?, given = ?, family = ?, past = ?, expires = ?
                WHERE assistant = ? AND row = ?""",
                (new.at, new.name, new.given, new.family, new.past, new.expires, self.number, row),
            )
            return
        if stored:
            self.remove([row], language)
        known[new.id] = (self._insert(memory, new, audience, language), same)

    def remove(self, rows: Sequence[int], language: str) -> None:
        """Remove lines with their vectors, and write anew what held them as neighbours."""
        gone = list(rows)
        touched = self.db.execute(
            """SELECT row, thread, at, line FROM recall_lines WHERE assistant = ? AND row != ALL(?)
            AND (first = ANY(?) OR second = ANY(?)) ORDER BY row""",
            (self.number, gone, gone, gone),
        ).fetchall()
        removed = self.db.execute(
            "DELETE FROM recall_lines WHERE assistant = ? AND row = ANY(?) RETURNING size", (self.number, gone)
        ).fetchall()
        self._grown.update(lines=-len(removed), words=-sum(size for (size,) in removed))
        self.db.execute("DELETE FROM recall_vectors WHERE assistant = ? AND row = ANY(?)", (self.number, gone))
        self._remove_passages(gone)
        self._remove_passages([row for row, *_ in touched])
        for row, thread, at, line in touched:
            near = self._before(thread, at, row)
            self.db.execute(
                "UPDATE recall_lines SET first = ?, second = ? WHERE assistant = ? AND row = ?",
                (*_rows_of(near), self.number, row),
            )
            self._write_passages(row, line, near, language)

    def remove_audiences(self) -> None:
        """Remove the audiences of which there is no line any more."""
        for table in ("recall_members", "recall_audiences"):
            self.db.execute(
                f"""DELETE FROM {table} AS a WHERE assistant = ? AND NOT EXISTS
                (SELECT 1 FROM recall_lines AS l WHERE l.assistant = a.assistant AND l.audience = a.audience)""",
                (self.number,),
            )

    def find_rows(self, ids: Iterable[str]) -> list[int]:
        """Return the rows of the memories with these ids, as far as they are there."""
        found = self.db.execute(
            "SELECT row FROM recall_lines WHERE assistant = ? AND id = ANY(?)", (self.number, list(ids))
        )
        return [row for (row,) in found]

    def count(self) -> None:
        """Write down by how much the tables grew."""
        grown = [self._grown[name] for name in ("lines", "words", "passages", "passage_words")]
        self._grown.clear()
        self.db.execute(
            """UPDATE recall_assistants SET lines = lines + ?, words = words + ?, passages = passages + ?,
            passage_words = passage_words + ? WHERE number = ?""",
            (*grown, self.number),
        )

    def _insert(self, memory: Memory, new: LineColumns, audience: int, language: str) -> int:
        """Add a line, and return its row."""
        tokens = [*find_tokens(new.line[:BEGINNING], language), *people_of(memory)]
        thread = self._thread_of(audience, new)
        near = self._before(thread, new.at)
        row: int = self.db.execute(
            f"""INSERT INTO recall_lines
            (assistant, row, size, words, audience, thread, first, second, {", ".join(LineColumns._fields)})
            SELECT ?, coalesce(max(row), 0) + 1, ?, CAST(? AS tsvector), {", ".join("?" * (4 + len(new)))}
            FROM recall_lines WHERE assistant = ? RETURNING row""",
            (
                *(self.number, len(tokens), write_vector(self.number, tokens)),
                *(audience, thread, *_rows_of(near), *new, self.number),
            ),
        ).fetchone()[0]
        self._grown.update(lines=1, words=len(tokens))
        self._write_passages(row, new.line, near, language)
        return row

    def _key_of(self, audience: Audience) -> int:
        """Return the number of an audience, a new one where it has none."""
        if audience is None:
            return EVERYBODY
        digest = sha256(json.dumps(sorted(audience)).encode()).hexdigest()
        known = self.db.execute(
            "SELECT audience FROM recall_audiences WHERE assistant = ? AND digest = ?", (self.number, digest)
        ).fetchone()
        if known is not None:
            return int(known[0])
        key: int = self.db.execute(
            """INSERT INTO recall_audiences (assistant, audience, digest) SELECT ?, coalesce(max(audience), ?) + 1, ?
            FROM recall_audiences WHERE assistant = ? RETURNING audience""",
            (self.number, EVERYBODY, digest, self.number),
        ).fetchone()[0]
        self.db.executemany(
            "INSERT INTO recall_members (assistant, who, audience) VALUES (?, ?, ?)",
            [(self.number, who, key) for who in audience],
        )
        return key

    def _thread_of(self, audience: int, line: LineColumns) -> str | None:
        """Return a name for the lines of one place and one audience; None for a line that is no part of a talk."""
        return sha256(f"{self.number} {audience} {line.place}".encode()).hexdigest()[:32] if line.talk else None

    def _before(self, thread: str | None, at: float, row: int = _NO_ROW) -> list[tuple[int, str]]:
        """Return the rows and words of the two lines of the same talk before a line, the nearer first.

        `row` is that of the line, where it has one already.
        """
        if thread is None:
            return []
        found = self.db.execute(
            "SELECT row, line, at FROM recall_lines WHERE thread = ? AND row < ? ORDER BY row DESC LIMIT 2",
            (thread, row),
        )
        return [(other, words) for other, words, then in found if abs(at - then) <= SAME_TALK]

    def _write_passages(self, row: int, text: str, near: Sequence[tuple[int, str]], language: str) -> None:
        """Write the words of a line together with those before it, or in passages where it is long."""
        whole = "\n".join([*(words for _, words in reversed(near)), text])
        for passage, words in enumerate([whole] if near else cut_passages(text), row << PASSAGE_BITS):
            tokens = find_tokens(words, language)
            self.db.execute(
                "INSERT INTO recall_passages (assistant, passage, size, words) VALUES (?, ?, ?, CAST(? AS tsvector))",
                (self.number, passage, len(tokens), write_vector(self.number, tokens)),
            )
            self._grown.update(passages=1, passage_words=len(tokens))

    def _remove_passages(self, rows: Sequence[int]) -> None:
        removed = self.db.execute(
            f"""DELETE FROM recall_passages USING unnest(CAST(? AS bigint[])) AS gone (line) WHERE assistant = ?
            AND passage BETWEEN gone.line << {PASSAGE_BITS} AND (gone.line + 1 << {PASSAGE_BITS}) - 1 RETURNING size""",
            (list(rows), self.number),
        ).fetchall()
        self._grown.update(passages=-len(removed), passage_words=-sum(size for (size,) in removed))


def _rows_of(near: Sequence[tuple[int, str]]) -> tuple[int | None, int | None]:
    first, second = ([row for row, _ in near] + [None, None])[:2]
    return first, second


def _storable(line: LineColumns) -> LineColumns:
    """Return a line as PostgreSQL can store it: it has no NUL in a text, and no index over a long one."""
    short = {name: value[:_LONGEST_NAME] for name in ("name", "given", "family") if (value := getattr(line, name))}
    texts = {name: short.get(name, value) for name, value in line._asdict().items() if isinstance(value, str)}
    return line._replace(**{name: text.replace("\0", " ") for name, text in texts.items()})
