"""The lists of lines a query may mean: by their words, by those round them, by who speaks, by meaning.

What is the same wherever the lines are is here; words are found by SQLite's FTS5 or by PostgreSQL. Every statement
that reads lines has the condition of a `Scope`, so that no second way to them forgets who hears.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.memory.recall.rank import FEWEST_SPEAKERS, RankedLine
from mud_assistant.assistant.memory.recall.tables import EVERYBODY, LineTables
from mud_assistant.assistant.memory.recall.vectors import Vector, rank_by_meaning, read_vector
from mud_assistant.assistant.memory.recall.words import ENGLISH, collect_stems, split_terms, split_words
from mud_assistant.tools.trust import Audience

#: So many lines of each list are joined.
DEPTH = 100
#: The words of a query may be in so many lines together, in a large memory; the most frequent words are left out.
_MOST_MATCHES = 1_500
#: So much of a line is read to put it in order, in characters.
READ = 400
#: So many people of one name are told apart.
MOST_NAMESAKES = 20
#: With more hearers than this it counts as said to everybody.
_MOST_HEARERS = 500


class Scope(Struct, frozen=True):
    """Which lines a query may see at all. `audiences` are the keys of those allowed, None for all.

    `without` is a principal whose lines are left out, as SQL.
    """

    audiences: tuple[int, ...] | None
    now: float
    past: bool
    without: str = ""

    @property
    def condition(self) -> str:
        """Return the condition in SQL. It holds no text of players; the plus keeps SQLite from going by an index."""
        parts = [f"(lines.expires IS NULL OR lines.expires > {float(self.now)!r})"]
        if not self.past:
            parts.append("lines.past = 0")
        if self.audiences is not None:
            parts.append(f"+lines.audience IN ({','.join(map(str, self.audiences))})")
        if self.without:
            parts.append(f"lines.who != {self.without}")
        return " AND ".join(parts)


def list_ids(tables: LineTables) -> frozenset[str]:
    """Return the ids of all lines."""
    return frozenset(each for (each,) in tables.db.execute(f"SELECT id FROM {tables.lines} AS lines"))


def list_without_vector(tables: LineTables, model: str, limit: int) -> list[tuple[str, str]]:
    """Return the ids and texts (`name: text`, the name in lower case) of lines without a vector, newest first."""
    found = tables.db.execute(
        f"""SELECT id, name, line FROM {tables.lines} AS lines WHERE NOT EXISTS
        (SELECT 1 FROM {tables.vectors} AS v WHERE v.row = lines.row AND v.model = ?)
        ORDER BY row DESC LIMIT ?""",
        (model, limit),
    )
    return [(line_id, f"{name}: {line}" if name else line) for line_id, name, line in found]


@dataclass(frozen=True, slots=True)
class CandidateLists(ABC):
    """The lines of one assistant, as lists of rows, best first. Blocking; raises the errors of the database."""

    tables: LineTables

    @property
    def language(self) -> str:
        """Return the language of the owner."""
        return self.tables.language

    @property
    def can_follow(self) -> bool:
        """Tell whether what was said later of the same thing can be found by rare words."""
        return self.language == ENGLISH

    @abstractmethod
    def literal(self, text: str) -> str:
        """Return a text as SQL that holds digits only."""

    @abstractmethod
    def count_lines(self, words: Sequence[str], most: int) -> dict[str, int]:
        """Count the lines that hold each of these words, up to `most`."""

    @abstractmethod
    def said_later(self, scope: Scope, word: str, line: RankedLine) -> list[int]:
        """Return the lines of the same person that hold a word, and that are newer than this one."""

    @abstractmethod
    def by_words(self, scope: Scope, terms: Sequence[str], since: int = 0) -> tuple[list[int], list[int]]:
        """Return the lines that hold a term, and those that do so together with the lines before them.

        `terms` and `since` are as `choose_terms` gives them.
        """

    @abstractmethod
    def by_people(self, scope: Scope, terms: Sequence[str], named: Mapping[str, frozenset[str]]) -> list[int]:
        """Return the lines that hold a term, and that are by or about one of the `named`, or hold that name."""

    @abstractmethod
    def near_signs(self, scope: Scope, vector: Vector) -> list[int]:
        """Return the rows nearest to a vector by the signs of its numbers, best first."""

    def without(self, scope: Scope, who: str) -> Scope:
        """Return the scope without the lines of a principal."""
        return replace(scope, without=self.literal(who))

    def scope_for(self, hearers: Audience, now: float, *, past: bool) -> Scope:
        """Return what these hearers may be told. None is everybody, no hearers at all is the owner."""
        if hearers is not None and not hearers:
            return Scope(None, now, past)
        if hearers is None or len(hearers) > _MOST_HEARERS:
            return Scope((EVERYBODY,), now, past)
        keys = self.tables.db.execute(
            f"""SELECT audience FROM {self.tables.members} AS members WHERE who IN ({_marks(hearers)})
            GROUP BY audience HAVING COUNT(*) = ?""",
            (*hearers, len(hearers)),
        )
        return Scope((EVERYBODY, *(key for (key,) in keys)), now, past)

    def find_names(self, runs: Sequence[str], parts: Sequence[str] = ()) -> dict[str, set[str]]:
        """Return those of `runs` that are names of people who said something, with the ids of those people.

        Each of `parts` may be the first or the last word of such a name.
        """
        found = {name: self._step_through("name = ? AND who > ?", name) for name in runs}
        for part in parts:
            for column in ("given", "family"):
                found[part] = found.get(part, set()) | self._step_through(f"{column} = ? AND who > ?", part)
        return {name: people - {""} for name, people in found.items() if people - {""}}

    def count_speakers(self, rows: Sequence[int]) -> Counter[str]:
        """Count the lines of each speaker among these rows."""
        return Counter(
            dict(
                self.tables.db.execute(
                    f"""SELECT who, COUNT(*) FROM {self.tables.lines} AS lines
                    WHERE row IN ({_marks(rows)}) GROUP BY who""",
                    tuple(rows),
                ).fetchall()
            )
        )

    def answers_to(self, scope: Scope, rows: Sequence[int]) -> list[int]:
        """Return, for each of these rows, the line with which somebody else answered its question; 0 for none."""
        found = self.tables.db.execute(
            f"""SELECT question.row, lines.row FROM {self.tables.lines} AS question
            JOIN {self.tables.lines} AS lines ON lines.first = question.row
            WHERE question.row IN ({_marks(rows)}) AND question.line LIKE ? AND lines.who != question.who
            AND {scope.condition} ORDER BY lines.row""",
            (*rows, "%?"),
        )
        answers = dict(found.fetchall())
        return [answers.get(row, 0) for row in rows]

    def is_crowd(self) -> bool:
        """Tell whether the lines are of more than two people, so that most of them are strangers to one another."""
        return len(self._step_through("? = '' AND who > ?", "", FEWEST_SPEAKERS)) >= FEWEST_SPEAKERS

    def newest(self, scope: Scope) -> list[int]:
        """Return the newest lines."""
        found = self.tables.db.execute(
            f"SELECT row FROM {self.tables.lines} AS lines WHERE {scope.condition} ORDER BY at DESC, row DESC LIMIT ?",
            (DEPTH,),
        )
        return [row for (row,) in found]

    def from_time(self, scope: Scope, since: float, until: float) -> list[int]:
        """Return the newest lines that are not older than one time, and older than another."""
        found = self.tables.db.execute(
            f"""SELECT row FROM {self.tables.lines} AS lines WHERE at >= ? AND at < ? AND {scope.condition}
            ORDER BY at DESC, row DESC LIMIT ?""",
            (since, until, DEPTH),
        )
        return [row for (row,) in found]

    def said_by(self, scope: Scope, named: Sequence[str]) -> list[int]:
        """Return lines of these people, those first that say most: whose words are rare among the last of them."""
        found = self.tables.db.execute(
            f"""SELECT row, line FROM {self.tables.lines} AS lines WHERE who IN ({_marks(named)})
            AND {scope.condition} ORDER BY row DESC LIMIT {2 * DEPTH}""",
            tuple(named),
        ).fetchall()
        stems = {row: collect_stems(line, self.language) for row, line in found}
        seen = Counter(stem for some in stems.values() for stem in some)
        worth = {row: sum(seen[stem] == 1 for stem in some) for row, some in stems.items()}
        return sorted(worth, key=lambda row: (-worth[row], -row))[:DEPTH]

    def by_meaning(self, scope: Scope, vector: Vector) -> list[tuple[int, float]]:
        """Return the lines nearest in meaning, each with the cosine. It is empty without vectors of the same model."""
        return rank_by_meaning(vector, self._read_vectors(vector.model, self.near_signs(scope, vector)))[:DEPTH]

    def read(self, scope: Scope, rows: Sequence[int], names: Mapping[str, frozenset[str]]) -> list[RankedLine]:
        """Return these rows as far as they may be seen, in the order given. A line is about those it names.

        Only the beginning of a long text is read.
        """
        found = self.tables.db.execute(
            f"""SELECT row, id, at, who, substr(line, 1, {READ}), audience, about, length(line)
            FROM {self.tables.lines} AS lines
            WHERE row IN ({_marks(rows)}) AND {scope.condition}""",
            tuple(rows),
        )
        lines = {}
        for row, memory_id, at, who, text, audience, about, size in found:
            ids = set(json.loads(about)) if about else set()
            folded = text.casefold() if names else ""
            inside = [name for name in names if name in folded]
            for name in set(inside).intersection(split_words(text) if inside else ()):
                ids |= names[name]
            lines[row] = RankedLine(row, memory_id, at, who, text, audience, frozenset(ids), size)
        return [lines[row] for row in rows if row in lines]

    def choose_terms(self, terms: Sequence[str]) -> tuple[list[str], int]:
        """Return the terms to search for, and the row after which: a word in every line tells nothing, slowly."""
        searched = [term for term in terms if split_terms([term], self.language)]
        last = self.tables.db.execute(f"SELECT MAX(row) FROM {self.tables.lines} AS lines").fetchone()[0] or 0
        if last <= _MOST_MATCHES:
            return searched, 0
        counts = self.count_lines(searched, _MOST_MATCHES + 1)
        chosen: list[str] = []
        total = 0
        for term in sorted(searched, key=counts.__getitem__):
            if chosen and total + counts[term] > _MOST_MATCHES:
                break
            total += counts[term]
            chosen += [term] if counts[term] else []
        return chosen, last - _MOST_MATCHES if total > _MOST_MATCHES else 0

    def _step_through(self, condition: str, value: str, most: int = MOST_NAMESAKES) -> set[str]:
        """Return the people of the lines for which a condition holds, without a look at each of their lines."""
        people, last = set[str](), ""
        while len(people) < most:
            (last,) = self.tables.db.execute(
                f"SELECT MIN(who) FROM {self.tables.lines} AS lines WHERE {condition}", (value, last)
            ).fetchone()
            if last is None:
                break
            people.add(last)
        return people

    def _read_vectors(self, model: str, rows: Sequence[int]) -> dict[int, Vector]:
        stored = self.tables.db.execute(
            f"SELECT row, numbers FROM {self.tables.vectors} AS v WHERE model = ? AND row IN ({_marks(rows)})",
            (model, *rows),
        )
        vectors = {row: read_vector(model, numbers) for row, numbers in stored}
        return {row: one for row, one in vectors.items() if one is not None}


def _marks(values: Sequence[object] | frozenset[str]) -> str:
    return ",".join("?" * len(values)) or "NULL"
