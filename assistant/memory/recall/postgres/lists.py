"""The lists of lines that PostgreSQL finds by words, in the order of BM25, and by the signs of vectors.

PostgreSQL's own ranks know nothing of how rare a word is. So it counts, and the formula is that of SQLite's FTS5:
https://www.sqlite.org/fts5.html#the_bm25_function
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mud_assistant.assistant.memory.recall.candidates import DEPTH, MOST_NAMESAKES, CandidateLists, Scope
from mud_assistant.assistant.memory.recall.postgres.tables import PostgresTables
from mud_assistant.assistant.memory.recall.postgres.tokens import write_phrase, write_queries
from mud_assistant.assistant.memory.recall.rank import RankedLine
from mud_assistant.assistant.memory.recall.tables import PASSAGE_BITS, person_token
from mud_assistant.assistant.memory.recall.vectors import COMPARED, Vector

#: For one word this rank is how often the word is there: https://www.postgresql.org/docs/current/textsearch-controls.html
_TIMES = "ts_rank_cd('{1, 1, 1, 1}', matching.words, terms.term)"
#: How much a word counts in a line: less with each time it is there, less in a long line, more when few lines hold it.
#: The sum is rounded, so that lines of the same words are worth the same in whatever order they are added.
_WORTH = f"""CAST(sum(terms.weight * {_TIMES} * 2.2 / ({_TIMES} + 1.2 * (0.25 + 0.75 * matching.size / stats.usual)))
    AS real)"""

#: Counts the ones in a string of bits; the second is for PostgreSQL 13, which has no function for it.
BIT_COUNT, OLD_BIT_COUNT = "bit_count({})", "length(replace(CAST({} AS text), '0', ''))"
#: So many lines are looked through to see that a word is frequent.
_NEWEST = 100


@dataclass(frozen=True, slots=True)
class PostgresLists(CandidateLists):
    """The lines of one assistant in PostgreSQL, as lists of rows, best first. Blocking; raises psycopg.Error."""

    tables: PostgresTables
    #: SQL that counts the ones of a string of bits.
    ones: str

    def literal(self, text: str) -> str:
        """Return a text as SQL that holds digits only."""
        return f"convert_from(decode('{text.encode(errors='replace').hex()}', 'hex'), 'UTF8')"

    def find_names(self, runs: Sequence[str], parts: Sequence[str] = ()) -> dict[str, set[str]]:
        """Return those of `runs` that are names of people who said something, with the ids of those people.

        Each of `parts` may be the first or the last word of such a name. All are asked for at once: each question
        takes its time on the way to a server.
        """
        wanted = {"name": list(runs), "given": list(parts), "family": list(parts)}
        each = (
            f"SELECT DISTINCT {column} AS word, who FROM {self.tables.lines} AS lines WHERE {column} = ANY(?)"
            for column in wanted
        )
        found: dict[str, set[str]] = {}
        for word, who in self.tables.db.execute(f"{' UNION '.join(each)} ORDER BY word, who", tuple(wanted.values())):
            people = found.setdefault(word, set())
            if who and len(people) < MOST_NAMESAKES:
                people.add(who)
        return {word: people for word, people in found.items() if people}

    def count_lines(self, words: Sequence[str], most: int) -> dict[str, int]:
        """Count the lines that hold each of these words, up to `most`.

        An index of PostgreSQL finds all lines of a word at once. So the newest lines tell first which are frequent.
        """
        queries = [self._query_of([word]) for word in words]
        found = self.tables.db.execute(
            f"""WITH newest AS MATERIALIZED (SELECT words FROM {self.tables.lines} AS lines ORDER BY row DESC LIMIT ?)
            SELECT CASE WHEN (SELECT COUNT(*) FROM newest WHERE words @@ CAST(term AS tsquery)) >= ? THEN ?
            ELSE (SELECT COUNT(*) FROM
                (SELECT 1 FROM recall_lines WHERE words @@ CAST(term AS tsquery) LIMIT ?) AS few) END
            FROM unnest(CAST(? AS text[])) WITH ORDINALITY AS terms (term, place) ORDER BY place""",
            (_NEWEST if most < _NEWEST else 0, most, most, most, queries),
        )
        return {word: count for word, (count,) in zip(words, found, strict=True)}

    def said_later(self, scope: Scope, word: str, line: RankedLine) -> list[int]:
        """Return the lines of the same person that hold a word, and that are newer than this one."""
        found = self.tables.db.execute(
            f"""WITH lines AS MATERIALIZED (SELECT * FROM recall_lines WHERE words @@ CAST(? AS tsquery))
            SELECT row FROM lines WHERE who = ? AND at > ? AND {scope.condition} ORDER BY row LIMIT {DEPTH}""",
            (self._query_of([word]), line.who, line.at),
        )
        return [row for (row,) in found]

    def by_words(self, scope: Scope, terms: Sequence[str], since: int = 0) -> tuple[list[int], list[int]]:
        """Return the lines that hold a term, and those that do so together with the lines before them.

        `terms` and `since` are as `choose_terms` gives them.
        """
        words = write_queries(self.tables.number, terms, self.language)
        if not words:
            return [], []
        either = " | ".join(f"({word})" for word in words)
        beside = self._match_passages(scope, either, words, since)
        return self._match_lines(scope, either, words, since), list(dict.fromkeys(beside))[:DEPTH]

    def by_people(self, scope: Scope, terms: Sequence[str], named: Mapping[str, frozenset[str]]) -> list[int]:
        """Return the lines that hold a term, and that are by or about one of the `named`, or hold that name."""
        number = self.tables.number
        words = write_queries(number, terms, self.language)
        if not words:
            return []
        ids = sorted({who for some in named.values() for who in some})
        people = [write_phrase(number, [person_token(who)]) for who in ids]
        people += write_queries(number, list(named), self.language)
        both = " & ".join("(" + " | ".join(f"({one})" for one in some) + ")" for some in (people, words))
        return self._match_lines(scope, both, list(dict.fromkeys([*people, *words])), 0)

    def near_signs(self, scope: Scope, vector: Vector) -> list[int]:
        """Return the rows nearest to a vector by the signs of its numbers, best first."""
        size = len(vector.numbers)
        heard = "" if scope.audiences is None else f"AND audience IN ({','.join(map(str, scope.audiences))})"
        found = self.tables.db.execute(
            f"""SELECT row FROM {self.tables.vectors} AS v WHERE model = ? AND length(signs) = {size} {heard}
            ORDER BY CASE WHEN length(signs) = {size} THEN {self.ones.format("signs # CAST(? AS varbit)")} END, row
            LIMIT {COMPARED}""",
            (vector.model, f"{vector.signs:0{size}b}"),
        )
        return [row for (row,) in found]

    def _query_of(self, words: Sequence[str]) -> str:
        pieces = write_queries(self.tables.number, words, self.language)
        return " | ".join(f"({piece})" for piece in pieces)

    def _match_lines(self, scope: Scope, query: str, terms: Sequence[str], since: int) -> list[int]:
        return self._match(
            f"""SELECT row AS key, size, words FROM recall_lines
            WHERE words @@ CAST(? AS tsquery) AND row > {since}""",
            "recall_lines", "lines, words", "found.key", DEPTH,
            (query, list(terms)), scope,
        )  # fmt: skip

    def _match_passages(self, scope: Scope, query: str, terms: Sequence[str], since: int) -> list[int]:
        return self._match(
            f"""SELECT passage AS key, size, words FROM recall_passages
            WHERE words @@ CAST(? AS tsquery) AND passage >= {since + 1 << PASSAGE_BITS}""",
            "recall_passages", "passages, passage_words", f"found.key >> {PASSAGE_BITS}", 2 * DEPTH,
            (query, list(terms)), scope,
        )  # fmt: skip

    def _match(  # noqa: PLR0917  (the parts of one statement)
        self, matching: str, table: str, counted: str, row: str, most: int, values: tuple[str, list[str]], scope: Scope
    ) -> list[int]:
        total, words = counted.split(", ")
        found = self.tables.db.execute(
            f"""WITH matching AS MATERIALIZED ({matching}),
            stats AS MATERIALIZED (
                SELECT {total} AS total, CAST(greatest({words}, 1) AS float) / greatest({total}, 1) AS usual
                FROM recall_assistants WHERE number = {self.tables.number}),
            held AS MATERIALIZED (
                SELECT CAST(each.term AS tsquery) AS term,
                    (SELECT COUNT(*) FROM {table} WHERE {table}.words @@ CAST(each.term AS tsquery)) AS lines
                FROM unnest(CAST(? AS text[])) AS each (term)),
            terms AS MATERIALIZED (
                SELECT term,
                    greatest(ln(greatest(CAST(total - lines + 0.5 AS float) / (lines + 0.5), 1)), 0.000001) AS weight
                FROM held, stats WHERE lines > 0),
            found AS MATERIALIZED (
                SELECT matching.key, {_WORTH} AS worth FROM stats, matching, terms
                WHERE matching.words @@ terms.term GROUP BY matching.key)
            SELECT lines.row FROM found JOIN {self.tables.lines} AS lines ON lines.row = {row}
            WHERE {scope.condition} ORDER BY found.worth DESC, found.key LIMIT {most}""",
            values,
        )
        return [each for (each,) in found]
