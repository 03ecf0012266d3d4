"""The runs of one assistant as rows: what was answered, intended and done, step by step. SQL only."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from assistant.journal import inbox
from assistant.journal.codec import Codec
from assistant.journal.errors import AlreadyRecorded, BrokenRecord, NewerRecord, UnknownRun
from assistant.journal.interrupted import At, InterruptedRun, InterruptedStep, UnknownEffect, steps_of
from assistant.journal.shapes import CALL, EXECUTED, OUTCOME, RESPONSE
from assistant.outcome import Cancelled, Failed, Outcome, settles

T = TypeVar("T")
#: What a run's number is preceded by in its id.
PREFIX = "run-"


class Place(NamedTuple):
    """Where a record belongs: the call of this index in a step of a run."""

    assistant: str
    run_id: str
    step: int
    call_index: int = 0


def number_of(run_id: str) -> int:
    """The row of a run. UnknownRun when it is not an id of ours."""
    digits = run_id.removeprefix(PREFIX)
    if digits == run_id or not (digits.isascii() and digits.isdigit()):
        raise UnknownRun(run_id)
    return int(digits)


def open_run(db: sqlite3.Connection, assistant: str, token: int, event_ids: Sequence[str], now: float) -> str:
    """The id of a new run over these events."""
    run = db.execute(
        "INSERT INTO runs (assistant, token, opened_at) VALUES (?, ?, ?)", (assistant, token, now)
    ).lastrowid
    db.executemany(
        "INSERT OR IGNORE INTO run_events SELECT ?, assistant, seq FROM events WHERE assistant = ? AND id = ?",
        [(run, assistant, event_id) for event_id in event_ids],
    )
    return f"{PREFIX}{run}"


def still_open(db: sqlite3.Connection, assistant: str, run_id: str) -> int:
    """The row of an open run of this assistant. UnknownRun."""
    run = number_of(run_id)
    known = "SELECT 1 FROM runs WHERE seq = ? AND assistant = ? AND closed_at IS NULL"
    if run > 2**63 - 1 or not db.execute(known, (run, assistant)).fetchone():
        raise UnknownRun(run_id)
    return run


def record_response(db: sqlite3.Connection, place: Place, record: bytes) -> None:
    """Keep the answer of a step. UnknownRun, AlreadyRecorded."""
    run = still_open(db, place.assistant, place.run_id)
    try:
        db.execute("INSERT INTO responses VALUES (?, ?, ?, ?)", (run, place.assistant, place.step, record))
    except sqlite3.IntegrityError as error:
        raise AlreadyRecorded(f"step {place.step} of {place.run_id} has an answer") from error


def record_intent(db: sqlite3.Connection, place: Place, record: bytes, now: float, *, effect: bool) -> None:
    """Keep that a call is about to run; a read that is done again after a crash replaces itself. UnknownRun."""
    run = still_open(db, place.assistant, place.run_id)
    values = (run, place.assistant, place.step, place.call_index, now, record, effect)
    db.execute("INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def record_result(db: sqlite3.Connection, place: Place, record: bytes) -> None:
    """Keep what a call came to. UnknownRun."""
    run = still_open(db, place.assistant, place.run_id)
    values = (run, place.assistant, place.step, place.call_index, record)
    db.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", values)


def close_run(db: sqlite3.Connection, assistant: str, run_id: str, outcome: Outcome, now: float) -> None:
    """Keep how the run ended; its events are dealt with, blamed, or left waiting. UnknownRun."""
    run = still_open(db, assistant, run_id)
    db.execute("UPDATE runs SET closed_at = ?, outcome = ? WHERE seq = ?", (now, OUTCOME.encode(outcome), run))
    if settles(outcome):
        inbox.settle(db, run)
    elif isinstance(outcome, Failed) and outcome.bug:
        inbox.blame(db, run, f"of a mistake in the program: {outcome.cause}")


def suspend_run(db: sqlite3.Connection, assistant: str, run_id: str) -> None:
    """Leave the run open for the next process, and nobody to blame for it. UnknownRun."""
    run = still_open(db, assistant, run_id)
    db.execute("UPDATE runs SET outcome = ? WHERE seq = ?", (OUTCOME.encode(Cancelled()), run))


def blame_interrupted(db: sqlite3.Connection, assistant: str, token: int) -> None:
    """Count a crash for the events of every run that an older token left open and did not suspend."""
    left = "assistant = ? AND closed_at IS NULL AND token < ?"
    crashed = db.execute(f"SELECT seq FROM runs WHERE {left} AND outcome IS NULL", (assistant, token))  # noqa: S608
    for (run,) in crashed.fetchall():
        inbox.blame(db, run, "the process was killed")
    # From now on it is ours to finish: the next death counts.
    db.execute(f"UPDATE runs SET outcome = NULL WHERE {left}", (assistant, token))  # noqa: S608


def any_open(db: sqlite3.Connection, assistant: str) -> bool:
    """Whether any run is open."""
    row = db.execute("SELECT 1 FROM runs WHERE assistant = ? AND closed_at IS NULL LIMIT 1", (assistant,)).fetchone()
    return row is not None


def interrupted(db: sqlite3.Connection, assistant: str, token: int) -> InterruptedRun | None:
    """The oldest run that this token or an older one left open."""
    row = db.execute(
        """SELECT seq, opened_at FROM runs WHERE assistant = ? AND closed_at IS NULL AND token <= ?
           ORDER BY seq LIMIT 1""",
        (assistant, token),
    ).fetchone()
    if row is None:
        return None
    run, opened_at = row
    return InterruptedRun(
        f"{PREFIX}{run}",
        opened_at,
        tuple(inbox.of_run(db, run)),
        steps(db, run),
        inbox.is_poisoned(db, run),
    )


def unknown_effects(db: sqlite3.Connection, assistant: str) -> tuple[UnknownEffect, ...]:
    """The effects of closed runs that were begun and never came to a result, oldest first."""
    rows = db.execute(
        """SELECT run, step, idx, payload, at FROM intents JOIN runs ON runs.seq = run
           WHERE runs.assistant = ? AND closed_at IS NOT NULL AND effect AND NOT EXISTS (
               SELECT 1 FROM results
               WHERE results.run = intents.run AND results.step = intents.step AND results.idx = intents.idx)
           ORDER BY run, step, idx""",
        (assistant,),
    )
    return tuple(
        UnknownEffect(f"{PREFIX}{run}", step, index, _readable(CALL, record), at)
        for run, step, index, record, at in rows
    )


def steps(db: sqlite3.Connection, run: int) -> tuple[InterruptedStep, ...]:
    """All that is known of the run's steps."""
    responses = _by_place(db, "SELECT step, 0, payload FROM responses WHERE run = ?", run, RESPONSE)
    intents = _by_place(db, "SELECT step, idx, payload FROM intents WHERE run = ?", run, CALL)
    results = _by_place(db, "SELECT step, idx, payload FROM results WHERE run = ?", run, EXECUTED)
    return steps_of({step: response for (step, _), response in responses.items()}, intents, results)


def _by_place(db: sqlite3.Connection, query: str, run: int, codec: Codec[T]) -> dict[At, T | None]:
    return {(step, index): _readable(codec, record) for step, index, record in db.execute(query, (run,))}


def _readable(codec: Codec[T], record: bytes) -> T | None:
    try:
        return codec.decode(record)
    except (BrokenRecord, NewerRecord):
        return None
