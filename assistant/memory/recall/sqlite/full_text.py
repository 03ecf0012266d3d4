"""The lists of lines that SQLite finds by words, with FTS5 or, where it has none, among the newest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mud_assistant.assistant.memory.recall.candidates import DEPTH, CandidateLists, Scope
from mud_assistant.assistant.memory.recall.rank import RankedLine
from mud_assistant.assistant.memory.recall.sqlite.file_tables import FileTables
from mud_assistant.assistant.memory.recall.sqlite.plain import MOST_LINES, rank_by_words
from mud_assistant.assistant.memory.recall.tables import PASSAGE_BITS, person_token
from mud_assistant.assistant.memory.recall.vectors import Vector
from mud_assistant.assistant.memory.recall.words import match_expression


@dataclass(frozen=True, slots=True)
class FullTextLists(CandidateLists):
    """The lines of one assistant in SQLite, as lists of rows, best first. Blocking; raises sqlite3.Error."""

    tables: FileTables

    @property
    def can_follow(self) -> bool:
        """Tell whether what was said later of the same thing can be found by rare words."""
        return self.tables.full_text and super(FullTextLists, self).can_follow

    def literal(self, text: str) -> str:
        """Return a text as SQL that holds digits only."""
        return f"CAST(x'{text.encode(errors='replace').hex()}' AS TEXT)"

    def choose_terms(self, terms: Sequence[str]) -> tuple[list[str], int]:
        """Return the terms to search for, and the row after which: a word in every line tells nothing, slowly."""
        if not self.tables.full_text:
            return list(terms), 0
        return super(FullTextLists, self).choose_terms(terms)

    def count_lines(self, words: Sequence[str], most: int) -> dict[str, int]:
        """Count the lines that hold each of these words, up to `most`."""
        table = self.tables.alone
        sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
        return {
            word: self.tables.db.execute(sql, (f"line : ({match_expression([word], self.language)})", most)).fetchone()[
                0
            ]
            for word in words
        }

    def said_later(self, scope: Scope, word: str, line: RankedLine) -> list[int]:
        """Return the lines of the same person that hold a word, and that are newer than this one."""
        table = self.tables.alone
        found = self.tables.db.execute(
            f"""SELECT lines.row FROM {table} JOIN {self.tables.lines} AS lines ON lines.row = {table}.rowid
            WHERE {table} MATCH ? AND +lines.who = ? AND +lines.at > ? AND {scope.condition} LIMIT {DEPTH}""",
            (f"line : ({match_expression([word], self.language)})", line.who, line.at),
        )
        return [row for (row,) in found]

    def by_words(self, scope: Scope, terms: Sequence[str], since: int = 0) -> tuple[list[int], list[int]]:
        """Return the lines that hold a term, and those that do so together with the lines before them.

        `terms` and `since` are as `choose_terms` gives them.
        """
        if not self.tables.full_text:
            return self._by_words_alone(scope, terms, "1"), []
        words = match_expression(terms, self.language)
        if not words:
            return [], []
        return (
            self._match(f"line : ({words})", scope, since),
            self._match_beside(words, scope, since),
        )

    def by_people(self, scope: Scope, terms: Sequence[str], named: Mapping[str, frozenset[str]]) -> list[int]:
        """Return the lines that hold a term, and that are by or about one of the `named`, or hold that name."""
        ids = sorted({who for some in named.values() for who in some})
        if not self.tables.full_text:
            return self._by_words_alone(scope, terms, f"who IN ({','.join(map(self.literal, ids))})")
        words = match_expression(terms, self.language)
        if not words:
            return []
        people = " OR ".join(f'people : "{person_token(who)}"' for who in ids)
        names = match_expression(list(named), self.language)
        either = f"({people} OR line : ({names}))" if names else f"({people})"
        return self._match(f"{either} AND line : ({words})", scope, 0)

    def near_signs(self, scope: Scope, vector: Vector) -> list[int]:
        """Return the rows nearest to a vector by the signs of its numbers, best first."""
        return self.tables.signs_like(vector).nearest(vector.signs, scope.audiences)

    def _match(self, expression: str, scope: Scope, since: int) -> list[int]:
        table = self.tables.alone
        found = self.tables.db.execute(
            f"""SELECT lines.row FROM {table} JOIN {self.tables.lines} AS lines ON lines.row = {table}.rowid
            WHERE {table} MATCH ? AND {table}.rowid > {since} AND {scope.condition}
            ORDER BY {table}.rank LIMIT {DEPTH}""",
            (expression,),
        )
        return [row for (row,) in found]

    def _match_beside(self, expression: str, scope: Scope, since: int) -> list[int]:
        table = self.tables.beside
        found = self.tables.db.execute(
            f"""SELECT lines.row FROM {table}
            JOIN {self.tables.lines} AS lines ON lines.row = {table}.rowid >> {PASSAGE_BITS}
            WHERE {table} MATCH ? AND {table}.rowid >= {since + 1 << PASSAGE_BITS} AND {scope.condition}
            ORDER BY {table}.rank LIMIT {2 * DEPTH}""",
            (expression,),
        )
        return list(dict.fromkeys(row for (row,) in found))[:DEPTH]

    def _by_words_alone(self, scope: Scope, terms: Sequence[str], condition: str) -> list[int]:
        newest = self.tables.db.execute(
            f"""SELECT row, line FROM {self.tables.lines} AS lines WHERE {condition} AND {scope.condition}
            ORDER BY row DESC LIMIT ?""",
            (MOST_LINES,),
        ).fetchall()
        return rank_by_words(terms, newest, DEPTH)
