"""The lines of one assistant in PostgreSQL. All assistants share the tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from mud_assistant.assistant.memory.recall.postgres.schema import TABLES
from mud_assistant.assistant.memory.recall.postgres.tokens import find_tokens, write_vector
from mud_assistant.assistant.memory.recall.tables import (
    BEGINNING,
    EVERYBODY,
    PASSAGE_BITS,
    LineColumns,
    LineTables,
    Talk,
)
from mud_assistant.assistant.memory.recall.vectors import Vector
from mud_assistant.tools.memories import Memory
from mud_assistant.tools.trust import Audience


@dataclass(frozen=True, slots=True)
class PostgresTables(LineTables):
    """The lines of the assistant with this number.

    Who writes holds the lock of the assistant's own row, so that its lines are written one after the other.
    """

    #: By how much the tables grew since that was written down.
    _grown: Counter[str] = field(default_factory=Counter)

    def create(self) -> None:
        """Make nothing: the tables are there."""

    def drop(self) -> None:
        """Remove all rows of the assistant."""
        for table in TABLES:
            self.db.execute(f"DELETE FROM {table} WHERE assistant = ?", (self.number,))

    def put(self, memories: Sequence[Memory]) -> None:
        """Add lines, or renew those with the same ids."""
        LineTables.put(self, memories)
        self._count()

    def remove(self, rows: Sequence[int]) -> None:
        """Remove lines, write anew what held them as neighbours, and remove audiences that have no line any more."""
        LineTables.remove(self, rows)
        for table in ("recall_members", "recall_audiences"):
            self.db.execute(
                f"""DELETE FROM {table} AS a WHERE assistant = ? AND NOT EXISTS
                (SELECT 1 FROM recall_lines AS l WHERE l.assistant = a.assistant AND l.audience = a.audience)""",
                (self.number,),
            )
        self._count()

    def put_vectors(self, model: str, vectors: Sequence[tuple[str, Vector]]) -> None:
        """Keep vectors of this model, by the ids of their memories, in place of any others these have."""
        self.db.executemany(
            """INSERT INTO recall_vectors (assistant, row, model, audience, signs, numbers)
            SELECT assistant, row, ?, audience, CAST(? AS varbit), ? FROM recall_lines WHERE assistant = ? AND id = ?
            ON CONFLICT (assistant, row) DO UPDATE
            SET model = excluded.model, signs = excluded.signs, numbers = excluded.numbers""",
            [
                (model, f"{one.signs:0{len(one.numbers)}b}", one.numbers.tobytes(), self.number, memory_id)
                for memory_id, one in vectors
            ],
        )

    def _count(self) -> None:
        """Write down by how much the tables grew."""
        grown = [self._grown[name] for name in ("lines", "words", "passages", "passage_words")]
        self._grown.clear()
        self.db.execute(
            """UPDATE recall_assistants SET lines = lines + ?, words = words + ?, passages = passages + ?,
            passage_words = passage_words + ? WHERE number = ?""",
            (*grown, self.number),
        )

    def _key_of(self, audience: Audience) -> int:
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

    def _same_talk(self, talk: Talk) -> tuple[str, tuple[str | int, ...]]:
        return "thread = ?", (self._thread_of(talk),)

    def _thread_of(self, talk: Talk) -> str:
        return sha256(f"{self.number} {talk.audience} {talk.place}".encode()).hexdigest()[:32]

    def _insert(self, line: LineColumns, people: Sequence[str], talk: Talk, near: Sequence[int | None]) -> int:
        tokens = [*find_tokens(line.line[:BEGINNING], self.language), *people]
        row: int = self.db.execute(
            f"""INSERT INTO recall_lines
            (assistant, row, size, words, audience, thread, first, second, {", ".join(LineColumns._fields)})
            SELECT ?, coalesce(max(row), 0) + 1, ?, CAST(? AS tsvector), {", ".join("?" * (4 + len(line)))}
            FROM recall_lines WHERE assistant = ? RETURNING row""",
            (
                *(self.number, len(tokens), write_vector(self.number, tokens)),
                *(talk.audience, self._thread_of(talk) if talk.talk else None, *near, *line, self.number),
            ),
        ).fetchone()[0]
        self._grown.update(lines=1, words=len(tokens))
        return row

    def _delete(self, rows: Sequence[int]) -> None:
        mine = (self.number, list(rows))
        removed = self.db.execute(
            "DELETE FROM recall_lines WHERE assistant = ? AND row = ANY(?) RETURNING size", mine
        ).fetchall()
        self._grown.update(lines=-len(removed), words=-sum(size for (size,) in removed))
        self.db.execute("DELETE FROM recall_vectors WHERE assistant = ? AND row = ANY(?)", mine)

    def _write_passages(self, row: int, passages: Sequence[str]) -> None:
        for passage, words in enumerate(passages, row << PASSAGE_BITS):
            tokens = find_tokens(words, self.language)
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
