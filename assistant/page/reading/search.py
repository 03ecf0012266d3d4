"""Searches the runs of the journal, newest first, page by page. SQL only.

What one request looks at is bounded, however large the journal is. The assistant, the times and the outcome are
compared in SQL, over WINDOW numbers of runs. A tool, a text, or a player who spoke very often are looked up run by run,
in at most LOOKED_AT runs and READ_BYTES of their records. When such a bound ends the search, the page says so, and
`next` goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from mud_assistant.assistant.events.events import format_event, spoken_text
from mud_assistant.assistant.journal.database import Database, holds, listed
from mud_assistant.assistant.journal.records import CALL, EVENT, RESPONSE
from mud_assistant.assistant.loop.recovery import words_of
from mud_assistant.assistant.page.ports import InvalidInput
from mud_assistant.assistant.page.reading.principals import FoundPlayers, find_players
from mud_assistant.assistant.page.reading.recorded import run_called, run_number
from mud_assistant.assistant.page.reading.summary import OUTCOME_KINDS, SUMMED_STEPS, is_speaking, summary_of
from mud_assistant.assistant.page.values.runs import RunPage, RunQuery

#: The most runs on one page, and the bounds of what one search looks at.
MOST, WINDOW, LOOKED_AT, READ_BYTES = 100, 100_000, 6000, 24 * 1024 * 1024
#: How many runs are looked up by one statement.
CHUNK = 250
#: Up to this many events of the players found, and this many pairs, their runs are taken from the index.
PLAYER_EVENTS, PLAYER_PAIRS = 5000, 500
#: How many bytes of an outcome's record hold its kind.
_KIND_BYTES = 40
_OPEN = "open"

#: Narrows some numbers of runs to those that fit.
_Test = Callable[[frozenset[int]], frozenset[int]]


def search_runs(db: Database, query: RunQuery) -> RunPage:
    """Return the runs that the query finds. Raises InvalidInput, and what the database does when it cannot be read."""
    return _Search(db, query).page()


class _Search:
    """One search."""

    def __init__(self, db: Database, query: RunQuery) -> None:
        self._db = db
        self._query = query
        self._limit = max(1, min(query.limit, MOST))
        self._read_bytes = 0
        self._conditions, self._values = _conditions(db, query)
        #: SQL: the numbers in a parameter.
        self._numbers = listed(db)
        self._players = find_players(db, query.player, query.assistant) if query.player else FoundPlayers(frozenset())

    def page(self) -> RunPage:
        """Return the page."""
        top, floor = self._ends()
        numbers = self._of_players() if self._players.pairs else None
        if self._query.player and not self._players.pairs:
            return RunPage(runs=(), is_partial=self._players.is_partial)
        bottom = floor if numbers is not None else max(floor, top - WINDOW)
        candidates, tests = self._candidates(top, bottom, numbers), self._tests(is_indexed=numbers is not None)
        found, looked_at = self._matching(candidates, tests)
        runs = [run_called(self._db, None, f"run-{number}", SUMMED_STEPS) for number in found[: self._limit]]
        page = tuple(summary_of(run) for run in runs if run is not None)
        if len(found) > self._limit:
            return RunPage(runs=page, next=f"run-{found[self._limit - 1]}", is_partial=self._players.is_partial)
        if looked_at < len(candidates):
            return RunPage(runs=page, next=f"run-{candidates[looked_at - 1]}", is_partial=True)
        if bottom > floor:
            return RunPage(runs=page, next=f"run-{bottom}", is_partial=True)
        return RunPage(runs=page, is_partial=self._players.is_partial)

    def _ends(self) -> tuple[int, int]:
        """Return the number below which runs are looked for, and the lowest number of a run."""
        first = self._db.execute("SELECT min(seq) FROM runs").fetchone()[0] or 0
        last = self._db.execute("SELECT max(seq) FROM runs").fetchone()[0] or 0
        if not self._query.before:
            return last + 1, first
        before = run_number(self._query.before)
        if before is None:
            raise InvalidInput("before is the id of a run, such as run-12")
        return min(before, last + 1), first

    def _of_players(self) -> list[int] | None:
        """Return the runs over events of the players found, None when these are too many to gather."""
        numbers: set[int] = set()
        left = PLAYER_EVENTS
        if len(self._players.pairs) > PLAYER_PAIRS:
            return None
        for pair in self._players.pairs:
            rows = self._db.execute(
                """SELECT run FROM events JOIN run_events ON event = events.seq
                   WHERE events.assistant = ? AND who = ? LIMIT ?""",
                (*pair, left + 1),
            ).fetchall()
            left -= len(rows)
            if left < 0:
                return None
            numbers.update(row[0] for row in rows)
        return list(numbers)

    def _candidates(self, top: int, bottom: int, numbers: Sequence[int] | None) -> list[int]:
        """Return the numbers of the runs that pass the comparisons in SQL, the newest first."""
        conditions = ["seq < :top", "seq >= :bottom", *self._conditions]
        values = {**self._values, "top": top, "bottom": bottom, "most": LOOKED_AT + 1}
        if numbers is not None:
            conditions.append(f"seq IN {listed(self._db, ':numbers')}")
            values["numbers"] = _as_json(numbers)
        chosen = f"SELECT seq FROM runs WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT :most"  # noqa: S608
        return [row[0] for row in self._db.execute(chosen, values)]

    def _tests(self, *, is_indexed: bool) -> list[_Test]:
        """Return what narrows some numbers of runs by their records, the cheapest first."""
        tests: list[_Test] = []
        if self._players.pairs and not is_indexed:
            tests.append(self._with_player)
        if self._query.tool:
            tests.append(self._with_tool)
        if self._query.text:
            tests.append(self._with_text)
        return tests

    def _matching(self, candidates: Sequence[int], tests: Sequence[_Test]) -> tuple[list[int], int]:
        """Return the runs that pass, one more than the page holds, and how many were looked at."""
        if not tests:
            return list(candidates[: self._limit + 1]), len(candidates)
        found: list[int] = []
        looked_at = 0
        while looked_at < min(len(candidates), LOOKED_AT) and self._read_bytes <= READ_BYTES:
            numbers = candidates[looked_at : min(looked_at + CHUNK, LOOKED_AT)]
            looked_at += len(numbers)
            passing = frozenset(numbers)
            for test in tests:
                passing = test(passing) if passing else passing
            found += [number for number in numbers if number in passing]
            if len(found) > self._limit:
                return found[: self._limit + 1], looked_at
        return found, looked_at

    def _with_player(self, numbers: frozenset[int]) -> frozenset[int]:
        """Return the runs over events of the players that were found."""
        rows = self._db.execute(
            f"""SELECT run, events.assistant, who FROM run_events JOIN events ON event = events.seq
                WHERE run IN {self._numbers}""",  # noqa: S608  (words of ours)
            (_as_json(numbers),),
        )
        return frozenset(run for run, *pair in rows if tuple(pair) in self._players.pairs)

    def _with_tool(self, numbers: frozenset[int]) -> frozenset[int]:
        """Return the runs in which a call of the tool was begun, or asked for."""
        tool = self._query.tool
        called: set[int] = set()
        for run, record in self._naming_tool("intents", numbers):
            call = CALL.find(record)
            if call is not None and call.name == tool:
                called.add(run)
        for run, record in self._naming_tool("responses", numbers.difference(called)):
            response = RESPONSE.find(record)
            if response is not None and any(call.name == tool for call in response.tool_calls):
                called.add(run)
        return frozenset(called)

    def _naming_tool(self, table: str, numbers: frozenset[int]) -> list[tuple[int, bytes]]:
        """Return the records of the runs in which something has the tool's name."""
        rows = self._db.execute(
            f"""SELECT run, length(payload), CASE WHEN {holds(self._db, "payload")} THEN payload END
                FROM {table} WHERE run IN {self._numbers}""",  # noqa: S608  (words of ours)
            (b'"name":' + json.dumps(self._query.tool, ensure_ascii=False).encode(), _as_json(numbers)),
        ).fetchall()
        self._read_bytes += sum(row[1] for row in rows)
        return [(run, record) for run, _, record in rows if record is not None]

    def _with_text(self, numbers: frozenset[int]) -> frozenset[int]:
        """Return the runs in which the text was heard or said, in capitals or not."""
        text = self._query.text.casefold()
        told: set[int] = set()
        for run, record in self._holding("run_events JOIN events ON event = seq", numbers):
            event = None if run in told else EVENT.find(record)
            if event is not None and text in f"{spoken_text(event)} {format_event(event)}".casefold():
                told.add(run)
        for run, record in self._holding("intents", numbers.difference(told)):
            call = CALL.find(record)
            if call is not None and is_speaking(call.name) and text in words_of(call).casefold():
                told.add(run)
        return frozenset(told)

    def _holding(self, table: str, numbers: frozenset[int]) -> list[tuple[int, bytes]]:
        """Return the records of the runs that may hold the text: in most, the words stand as they are."""
        part = json.dumps(self._query.text.casefold(), ensure_ascii=False)[1:-1]
        rows = self._db.execute(
            f"SELECT run, payload FROM {table} WHERE run IN {self._numbers}",  # noqa: S608  (words of ours)
            (_as_json(numbers),),
        ).fetchall()
        self._read_bytes += sum(len(record) for _, record in rows)
        return [
            row
            for row in rows
            if row[1].startswith(b" ") or part in row[1].decode("utf-8", errors="replace").casefold()
        ]


def _as_json(numbers: Iterable[int]) -> str:
    """Return numbers as the parameter of `listed`."""
    return json.dumps(list(numbers))


def _conditions(db: Database, query: RunQuery) -> tuple[list[str], dict[str, object]]:
    """Return the comparisons in SQL and their values. Raises InvalidInput for an outcome that there is not."""
    conditions: list[str] = []
    values: dict[str, object] = {}
    if query.assistant:
        conditions.append("assistant = :assistant")
        values["assistant"] = query.assistant
    if query.since is not None:
        conditions.append("opened_at >= :since")
        values["since"] = query.since
    if query.until is not None:
        conditions.append("opened_at < :until")
        values["until"] = query.until
    if query.outcome == _OPEN:
        conditions.append("closed_at IS NULL")
    elif query.outcome:
        if query.outcome not in OUTCOME_KINDS.values():
            raise InvalidInput(f"outcome is {', '.join(OUTCOME_KINDS.values())} or {_OPEN}")
        conditions.append(f"closed_at IS NOT NULL AND {holds(db, f'substr(outcome, 1, {_KIND_BYTES})', ':outcome')}")
        values["outcome"] = f'"k":"{query.outcome}"'.encode()
    return conditions, values
