"""Stores the runs of one assistant: what was answered, intended and done, step by step. SQL only."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from mud_assistant.assistant.events.outcome import Cancelled, Failed, Outcome, settles
from mud_assistant.assistant.journal.codec import Codec
from mud_assistant.assistant.journal.database import Database, DuplicateKey, finds_any, insert, require
from mud_assistant.assistant.journal.errors import AlreadyRecorded, UnknownRun
from mud_assistant.assistant.journal.protocol import At, InterruptedRun, InterruptedStep, UnknownEffect, steps_of
from mud_assistant.assistant.journal.records import CALL, EXECUTED, OUTCOME, RESPONSE
from mud_assistant.assistant.journal.tables import inbox

T = TypeVar("T")
#: The prefix of a run's number in its id.
PREFIX = "run-"
_INTENT_AGAIN = """ON CONFLICT (run, step, idx) DO UPDATE
    SET at = excluded.at, payload = excluded.payload, effect = excluded.effect"""
_RESULT_AGAIN = "ON CONFLICT (run, step, idx) DO UPDATE SET payload = excluded.payload"


class RunPlace(NamedTuple):
    """Where a record belongs: a run, a step of it, and the index of a call in that step."""

    assistant: str
    run_id: str
    step: int
    call_index: int = 0


def number_of(run_id: str) -> int:
    """Return the row of a run. Raises UnknownRun when the id is not one of ours."""
    digits = run_id.removeprefix(PREFIX)
    if digits == run_id or not (digits.isascii() and digits.isdigit()):
        raise UnknownRun(run_id)
    return int(digits)


def open_run(db: Database, assistant: str, token: int, event_ids: Sequence[str], now: float) -> str:
    """Open a run over these events; return its id."""
    run = insert(db, "INSERT INTO runs (assistant, token, opened_at) VALUES (?, ?, ?)", (assistant, token, now))
    db.executemany(
        """INSERT INTO run_events SELECT CAST(? AS BIGINT), assistant, seq FROM events WHERE assistant = ? AND id = ?
           ON CONFLICT DO NOTHING""",
        [(run, assistant, event_id) for event_id in event_ids],
    )
    return f"{PREFIX}{run}"


def _row_of(run_id: str) -> int:
    """Return the row of a run, 0 when SQLite has no row of that number. Raises UnknownRun when the id is not ours."""
    run = number_of(run_id)
    return run if run < 2**63 else 0


def _add(db: Database, place: RunPlace, table: str, values: Sequence[object], otherwise: str = "") -> None:
    """Add a row to what is known of an open run: its number, the assistant, and the values. Raises UnknownRun.

    `otherwise` is the SQL for a row that is there already.
    """
    marks = ", ".join("?" * len(values))
    open_run = "FROM runs WHERE seq = ? AND assistant = ? AND closed_at IS NULL"
    row = (*values, _row_of(place.run_id), place.assistant)
    added = db.execute(f"INSERT INTO {table} SELECT seq, assistant, {marks} {open_run} {otherwise}", row)
    require(db, added, lambda: UnknownRun(place.run_id))


def record_response(db: Database, place: RunPlace, record: bytes) -> None:
    """Record the answer of a step. Raises UnknownRun and AlreadyRecorded."""
    try:
        _add(db, place, "responses", (place.step, record))
    except (sqlite3.IntegrityError, DuplicateKey) as error:
        raise AlreadyRecorded(f"step {place.step} of {place.run_id} has an answer") from error


def record_intent(db: Database, place: RunPlace, record: bytes, now: float, *, effect: bool) -> None:
    """Record that a call is about to run. Raises UnknownRun.

    A read that is done again after a crash replaces its earlier record.
    """
    _add(db, place, "intents", (place.step, place.call_index, now, record, int(effect)), _INTENT_AGAIN)


def record_result(db: Database, place: RunPlace, record: bytes) -> None:
    """Record the result of a call. Raises UnknownRun."""
    _add(db, place, "results", (place.step, place.call_index, record), _RESULT_AGAIN)


def record_read(db: Database, place: RunPlace, call: bytes, result: bytes, began: float) -> None:
    """Record a read that is over: the call, when it `began`, and its result. Raises UnknownRun."""
    record_intent(db, place, call, began, effect=False)
    record_result(db, place, result)


def close_run(db: Database, assistant: str, run_id: str, outcome: Outcome, now: float) -> None:
    """Record how the run ended. Raises UnknownRun.

    Its events are settled, or get a crash counted when a bug ended the run, or stay pending.
    """
    run = _row_of(run_id)
    closed = db.execute(
        "UPDATE runs SET closed_at = ?, outcome = ? WHERE seq = ? AND assistant = ? AND closed_at IS NULL",
        (now, OUTCOME.encode(outcome), run, assistant),
    )
    require(db, closed, lambda: UnknownRun(run_id))
    if settles(outcome):
        inbox.settle(db, run)
    elif isinstance(outcome, Failed) and outcome.bug:
        inbox.blame(db, run, f"of a mistake in the program: {outcome.cause}")


def suspend_run(db: Database, assistant: str, run_id: str) -> None:
    """Leave the run open for the next process, without counting a crash. Raises UnknownRun."""
    suspended = db.execute(
        "UPDATE runs SET outcome = ? WHERE seq = ? AND assistant = ? AND closed_at IS NULL",
        (OUTCOME.encode(Cancelled()), _row_of(run_id), assistant),
    )
    require(db, suspended, lambda: UnknownRun(run_id))


def blame_interrupted(db: Database, assistant: str, token: int) -> None:
    """Count a crash for the events of every run that an older token left open and did not suspend."""
    left = "assistant = ? AND closed_at IS NULL AND token < ?"
    crashed = db.execute(f"SELECT seq FROM runs WHERE {left} AND outcome IS NULL", (assistant, token))
    for (run,) in crashed.fetchall():
        inbox.blame(db, run, "the process was killed")
    # Counted: they are suspended until this process takes them up, which it may be stopped before.
    db.execute(f"UPDATE runs SET outcome = ? WHERE {left}", (OUTCOME.encode(Cancelled()), assistant, token))


def any_open(db: Database, assistant: str) -> bool:
    """Tell whether any run is open."""
    found = db.execute("SELECT 1 FROM runs WHERE assistant = ? AND closed_at IS NULL LIMIT 1", (assistant,))
    return finds_any(db, found)


def interrupted(db: Database, assistant: str, token: int) -> InterruptedRun | None:
    """Take up the oldest run that this token or an older one left open, and return it; None when there is none.

    If the process dies before it ends or suspends the run, that counts as a crash.
    """
    row = db.execute(
        """SELECT seq, opened_at FROM runs WHERE assistant = ? AND closed_at IS NULL AND token <= ?
           ORDER BY seq LIMIT 1""",
        (assistant, token),
    ).fetchone()
    if row is None:
        return None
    run, opened_at = row
    db.execute("UPDATE runs SET outcome = NULL WHERE seq = ?", (run,))
    return InterruptedRun(
        f"{PREFIX}{run}",
        opened_at,
        tuple(inbox.of_run(db, run)),
        steps(db, run),
        inbox.is_poisoned(db, run),
    )


def unknown_effects(db: Database, assistant: str) -> tuple[UnknownEffect, ...]:
    """Return the effects of closed runs that were begun and have no result, oldest first."""
    rows = db.execute(
        """SELECT run, step, idx, payload, at FROM intents JOIN runs ON runs.seq = run
           WHERE runs.assistant = ? AND closed_at IS NOT NULL AND effect != 0 AND NOT EXISTS (
               SELECT 1 FROM results
               WHERE results.run = intents.run AND results.step = intents.step AND results.idx = intents.idx)
           ORDER BY run, step, idx""",
        (assistant,),
    )
    return tuple(
        UnknownEffect(f"{PREFIX}{run}", step, index, CALL.find(record), at) for run, step, index, record, at in rows
    )


def steps(db: Database, run: int) -> tuple[InterruptedStep, ...]:
    """Return all that is known of the run's steps."""
    responses = _by_place(db, "SELECT step, 0, payload FROM responses WHERE run = ?", run, RESPONSE)
    intents = _by_place(db, "SELECT step, idx, payload FROM intents WHERE run = ?", run, CALL)
    results = _by_place(db, "SELECT step, idx, payload FROM results WHERE run = ?", run, EXECUTED)
    return steps_of({step: response for (step, _), response in responses.items()}, intents, results)


def _by_place(db: Database, query: str, run: int, codec: Codec[T]) -> dict[At, T | None]:
    return {(step, index): codec.find(record) for step, index, record in db.execute(query, (run,))}
