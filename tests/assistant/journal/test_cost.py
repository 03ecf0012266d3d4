"""What one turn of an assistant costs SQLite does not grow with what was settled. Counted in its steps, not in time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.events.outcome import Answered, Failed
from mud_assistant.assistant.journal.protocol import Accepted, StreamChange, StreamEntry
from mud_assistant.assistant.journal.records import CALL, EVENT, EXECUTED, RESPONSE
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.sqlite.opening import open_file
from mud_assistant.assistant.journal.tables import inbox, runs, stream
from mud_assistant.assistant.journal.tables.runs import RunPlace
from mud_assistant.llm import user
from tests.assistant.journal.keeping import NOON, SAY, TRIGGER, event, executed, response

#: How much more a turn may cost with a thousand times as many settled events.
ROOM = 1.5
FEW, MANY = 100, 100_000
_NUMBERS = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?)"

Work = Callable[[sqlite3.Connection], Any]


def settle(db: sqlite3.Connection, count: int) -> None:
    """As many settled events as that, each with its run, an answer, an intent, a result and an entry of the stream."""
    db.execute("BEGIN")
    for statement in (
        """INSERT INTO events (assistant, id, payload, verdict, importance, addressed, accepted_at, state, who)
           SELECT 'sage', 'old-' || i, X'00', 'trigger', 5, 1, i, 'done', '7' FROM n""",
        """INSERT INTO runs (assistant, token, opened_at, closed_at) SELECT 'sage', 1, i, i FROM n""",
        "INSERT INTO run_events SELECT i, 'sage', i FROM n",
        "INSERT INTO responses SELECT i, 'sage', 1, X'00' FROM n",
        "INSERT INTO intents SELECT i, 'sage', 1, 0, i, X'00', 1 FROM n",
        "INSERT INTO results SELECT i, 'sage', 1, 0, X'00' FROM n",
        "INSERT INTO stream (assistant, importance, event_ids, payload) SELECT 'sage', 3, X'00', X'00' FROM n",
    ):
        head, select = statement.split("SELECT", 1)
        db.execute(f"{head} {_NUMBERS} SELECT {select}", (count,))
    db.execute("COMMIT")


def turn(db: sqlite3.Connection) -> None:
    """All that one turn of an assistant asks, a crash and a parking among it."""
    accepted = Accepted(event(1), TRIGGER)
    inbox.take(db, "sage", accepted, EVENT.encode(accepted.event), limit=500, now=NOON)
    assert len(inbox.pending(db, "sage")[0]) == 1
    run = runs.open_run(db, "sage", 1, ["event-1"], NOON)
    place = RunPlace("sage", run, 1)
    runs.record_response(db, place, RESPONSE.encode(response(SAY)))
    runs.record_intent(db, place, CALL.encode(SAY), NOON, effect=True)
    runs.record_result(db, place, EXECUTED.encode(executed(SAY)))
    assert runs.interrupted(db, "sage", 1) is not None
    runs.blame_interrupted(db, "sage", 2)
    runs.close_run(db, "sage", run, Failed("x", bug=True), NOON)
    run = runs.open_run(db, "sage", 2, ["event-1"], NOON)
    change = StreamChange((StreamEntry((user("Hello?"),), 3, ("event-1",), 1, ("7",)),))
    runs.close_run(db, "sage", run, Failed("x", bug=True), NOON)
    assert len(inbox.parked(db, "sage")) == 1
    assert inbox.unpark(db, "sage", "event-1")
    inbox.park(db, "sage", [("event-1", "it cannot be read")])
    inbox.unpark(db, "sage", "event-1")
    run = runs.open_run(db, "sage", 2, ["event-1"], NOON)
    runs.close_run(db, "sage", run, Answered(("say",)), NOON)
    stream.apply(db, "sage", stream.rows_of(change), [1])
    assert not runs.any_open(db, "sage")


def steps(db: sqlite3.Connection, work: Work) -> int:
    """How many steps SQLite's machine made for it, those of cascades included; nothing of it remains."""
    count = 0

    def counted() -> int:
        nonlocal count
        count += 1
        return 0

    db.execute("BEGIN")
    db.set_progress_handler(counted, 1)
    try:
        work(db)
    finally:
        db.set_progress_handler(None, 0)
        db.execute("ROLLBACK")
    return count


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[sqlite3.Connection, sqlite3.Connection]]:
    """A journal with few settled events, and one with many."""
    folder, found = tmp_path_factory.mktemp("sizes"), []
    for count in (FEW, MANY):
        db, _ = open_file(folder / str(count), SCHEMA, NOON)
        assert db is not None
        settle(db, count)
        found.append(db)
    yield found[0], found[1]
    for db in found:
        db.close()


def test_a_turn_costs_the_same_with_a_thousand_times_as_many_settled_events(
    sizes: tuple[sqlite3.Connection, sqlite3.Connection],
) -> None:
    few, many = (steps(db, turn) for db in sizes)
    assert few > 500
    assert many < ROOM * few


def test_the_count_notices_a_scan(sizes: tuple[sqlite3.Connection, sqlite3.Connection]) -> None:
    few, many = (steps(db, lambda db: db.execute("SELECT max(importance) FROM events").fetchall()) for db in sizes)
    assert many > 100 * few


def test_no_statement_of_a_turn_scans_a_table(tmp_path: Path) -> None:
    asked: list[str] = []
    db, _ = open_file(tmp_path / "j", SCHEMA, NOON)
    assert db is not None
    with closing(db):
        settle(db, FEW)
        db.set_trace_callback(asked.append)
        steps(db, turn)
        db.set_trace_callback(None)
        asked = [statement for statement in asked if statement.split()[0] in {"SELECT", "INSERT", "UPDATE", "DELETE"}]
        assert len(asked) > 20
        plans = {statement: str(db.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()) for statement in asked}
    assert not [statement for statement, plan in plans.items() if "SCAN" in plan]
