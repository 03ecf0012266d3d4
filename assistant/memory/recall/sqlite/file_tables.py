"""The tables of one assistant in the file of the index: its lines, their vectors, and two full-text indexes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from mud_assistant.assistant.journal.database import among, as_list, insert
from mud_assistant.assistant.memory.recall.stems import ENGLISH_TOKENIZER
from mud_assistant.assistant.memory.recall.tables import (
    BEGINNING,
    EVERYBODY,
    PASSAGE_BITS,
    LineColumns,
    LineTables,
    Talk,
)
from mud_assistant.assistant.memory.recall.vectors import SignTable, Vector, read_vector
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.tools.trust import Audience


@dataclass(frozen=True, slots=True)
class FileKnowledge:
    """What is known of an open file without reading it: the signs of each assistant's vectors, and the audiences."""

    signs: dict[int, SignTable] = field(default_factory=dict)
    audiences: dict[Audience, int] = field(default_factory=dict)

    def forget(self) -> None:
        """Forget all of it: the file may be otherwise."""
        self.signs.clear()
        self.audiences.clear()


@dataclass(frozen=True, slots=True)
class FileTables(LineTables):
    """The tables of the assistant with this number. `full_text` is False without FTS5: then only lines are kept."""

    full_text: bool
    known: FileKnowledge

    @property
    def alone(self) -> str:
        """Return the name of the full-text index over each line."""
        return f"alone_{self.number}"

    @property
    def beside(self) -> str:
        """Return the name of the full-text index over each line and those before it."""
        return f"beside_{self.number}"

    def create(self) -> None:
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
            tokenizer = ENGLISH_TOKENIZER if self.language == ENGLISH else "trigram"
            for table, columns in ((self.alone, "line, people"), (self.beside, "line")):
                self.db.execute(f"CREATE VIRTUAL TABLE {table} USING fts5({columns}, tokenize='{tokenizer}')")

    def drop(self) -> None:
        """Remove the tables."""
        for table in (self.alone, self.beside, self.vectors, self.lines):
            self.db.execute(f"DROP TABLE IF EXISTS {table}")
        self.known.signs.pop(self.number, None)

    def optimize(self) -> None:
        """Merge the full-text indexes, so that no removed term stays in them."""
        for table in (self.alone, self.beside) if self.full_text else ():
            self.db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep vectors of this model, by the ids of their memories, in place of any others these have."""
        signs = self.known.signs.get(self.number)
        for memory_id, vector in vectors:
            known = self.db.execute(f"SELECT row, audience FROM {self.lines} WHERE id = ?", (memory_id,)).fetchone()
            if known is None:
                continue
            row, audience = known
            self.db.execute(f"DELETE FROM {self.vectors} WHERE row = ?", (row,))
            self.db.execute(
                f"INSERT INTO {self.vectors} (row, model, numbers) VALUES (?, ?, ?)",
                (row, model, vector.numbers.tobytes()),
            )
            if signs is not None and signs.model == model and signs.size == len(vector.numbers):
                signs.put(row, audience, vector.signs)

    def signs_like(self, like: Vector) -> SignTable:
        """Return the signs of all vectors of this one's model and length, read where they are not known."""
        known = self.known.signs.get(self.number)
        if known is None or known.model != like.model or known.size != len(like.numbers):
            known = self.known.signs[self.number] = SignTable(like.model, len(like.numbers))
            for row, audience, numbers in self.db.execute(
                f"""SELECT v.row, lines.audience, v.numbers FROM {self.vectors} AS v
                JOIN {self.lines} AS lines ON lines.row = v.row WHERE v.model = ? AND length(v.numbers) = ?""",
                (like.model, len(like.numbers)),
            ):
                vector = read_vector(like.model, numbers)
                if vector is not None:
                    known.put(row, audience, vector.signs)
        return known

    def _key_of(self, audience: Audience) -> int:
        if audience is None:
            return EVERYBODY
        known = self.known.audiences
        if audience not in known:
            members = json.dumps(sorted(audience))
            self.db.execute("INSERT OR IGNORE INTO audiences (members) VALUES (?)", (members,))
            key = self.db.execute("SELECT audience FROM audiences WHERE members = ?", (members,)).fetchone()[0]
            self.db.executemany(
                "INSERT OR IGNORE INTO audience_members VALUES (?, ?)", [(who, key) for who in audience]
            )
            known[audience] = key
        return known[audience]

    def _same_talk(self, talk: Talk) -> tuple[str, tuple[str | int, ...]]:
        return "audience = ? AND place = ? AND talk = 1", (talk.audience, talk.place)

    def _insert(self, line: LineColumns, people: Sequence[str], talk: Talk, near: Sequence[int | None]) -> int:
        row = insert(
            self.db,
            f"""INSERT INTO {self.lines} (audience, first, second, {", ".join(LineColumns._fields)})
            VALUES (?, ?, ?, {", ".join("?" * len(line))})""",
            (talk.audience, *near, *line),
        )
        if self.full_text:
            self.db.execute(
                f"INSERT INTO {self.alone} (rowid, line, people) VALUES (?, ?, ?)",
                (row, line.line[:BEGINNING], " ".join(people)),
            )
        return row

    def _delete(self, rows: Sequence[int]) -> None:
        for table in (self.lines, self.vectors):
            self.db.execute(f"DELETE FROM {table} WHERE {among(self.db, 'row')}", (as_list(self.db, rows),))
        if self.full_text:
            self.db.execute(f"DELETE FROM {self.alone} WHERE {among(self.db, 'rowid')}", (as_list(self.db, rows),))
        if (signs := self.known.signs.get(self.number)) is not None:
            for row in rows:
                signs.remove(row)

    def _write_passages(self, row: int, passages: Sequence[str]) -> None:
        if self.full_text:
            self.db.executemany(
                f"INSERT INTO {self.beside} (rowid, line) VALUES (?, ?)", enumerate(passages, row << PASSAGE_BITS)
            )

    def _remove_passages(self, rows: Sequence[int]) -> None:
        if self.full_text:
            self.db.executemany(
                f"DELETE FROM {self.beside} WHERE rowid BETWEEN ? AND ?",
                [(row << PASSAGE_BITS, (row + 1 << PASSAGE_BITS) - 1) for row in rows],
            )
