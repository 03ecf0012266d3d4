"""The runs of one assistant as rows: what was answered, intended and done, step by step. SQL only."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from assistant.journal import inbox
from assistant.journal.codec import Codec
from assistant.journal.errors import AlreadyRecorded, BrokenRecord, NewerRecord, UnknownRun
from assistant.journal.journal import Accepted
from assistant.journal.shapes import CALL, EXECUTED, OUTCOME, RESPONSE
from assistant.outcome import Failed, Outcome, settles
from llm.messages import ToolCall
from llm.response import LLMResponse
from tools.result import Executed

T = TypeVar("T")
_PREFIX = "run-"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record belongs: the call `index` of the step of a run."""

    assistant: str
    run_id: str
    step: int
    index: int = 0


@dataclass(frozen=True, slots=True)
class InterruptedCall:
    """One call of a step: intended without being executed means that its outcome is unknown.

    `call` is None only when damage took both the answer and the intent.
    """

    index: int
    call: ToolCall | None
    intended: bool
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class InterruptedStep:
    """One step: the model's answer, None when damage took it, and its calls in order."""

    number: int
    response: LLMResponse | None
    calls: tuple[InterruptedCall, ...]


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """A run that was open when its process died; `opened_at` in seconds since 1970."""

    id: str
    opened_at: float
    events: tuple[Accepted, ...]
    steps: tuple[InterruptedStep, ...]


@dataclass(frozen=True, slots=True)
class UnknownEffect:
    """A call that was begun and never came to a result, in a run that is over; `at` in seconds since 1970."""

    run_id: str
    step: int
    index: int
    call: ToolCall | None
    at: float


def number_of(run_id: str) -> int:
    """The row of a run. UnknownRun when it is not an id of ours."""
    digits = run_id.removeprefix(_PREFIX)
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
    return f"{_PREFIX}{run}"


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


def record_intent(db: sqlite3.Connection, place: Place, record: bytes, now: float) -> None:
    """Keep that a call is about to run; a read that is done again after a crash replaces itself. UnknownRun."""
    run = still_open(db, place.assistant, place.run_id)
    values = (run, place.assistant, place.step, place.index, now, record)
    db.execute("INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?, ?)", values)


def record_result(db: sqlite3.Connection, place: Place, record: bytes) -> None:
    """Keep what a call came to. UnknownRun."""
    run = still_open(db, place.assistant, place.run_id)
    values = (run, place.assistant, place.step, place.index, record)
    db.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", values)


def close_run(db: sqlite3.Connection, assistant: str, run_id: str, outcome: Outcome, now: float) -> None:
    """Keep how the run ended; its events are dealt with, blamed, or left waiting. UnknownRun."""
    run = still_open(db, assistant, run_id)
    db.execute("UPDATE runs SET closed_at = ?, outcome = ? WHERE seq = ?", (now, OUTCOME.encode(outcome), run))
    if settles(outcome):
        inbox.settle(db, run)
    elif isinstance(outcome, Failed) and outcome.bug:
        inbox.blame(db, run, f"of a mistake in the program: {outcome.cause}")


def blame_interrupted(db: sqlite3.Connection, assistant: str, token: int) -> None:
    """Count a crash for the events of every run that an older token left open."""
    left = db.execute(
        "SELECT seq FROM runs WHERE assistant = ? AND closed_at IS NULL AND token < ?", (assistant, token)
    )
    for (run,) in left.fetchall():
        inbox.blame(db, run, "the process was killed")


def interrupted(db: sqlite3.Connection, assistant: str, token: int) -> InterruptedRun | None:
    """The oldest run that an older token left open."""
    row = db.execute(
        """SELECT seq, opened_at FROM runs WHERE assistant = ? AND closed_at IS NULL AND token < ?
           ORDER BY seq LIMIT 1""",
        (assistant, token),
    ).fetchone()
    if row is None:
        return None
    run, opened_at = row
    return InterruptedRun(f"{_PREFIX}{run}", opened_at, tuple(inbox.of_run(db, run)), _steps(db, run))


def unknown_effects(db: sqlite3.Connection, assistant: str) -> tuple[UnknownEffect, ...]:
    """The calls of closed runs that were begun and never came to a result, oldest first."""
    rows = db.execute(
        """SELECT run, step, idx, payload, at FROM intents JOIN runs ON runs.seq = run
           WHERE runs.assistant = ? AND closed_at IS NOT NULL AND NOT EXISTS (
               SELECT 1 FROM results
               WHERE results.run = intents.run AND results.step = intents.step AND results.idx = intents.idx)
           ORDER BY run, step, idx""",
        (assistant,),
    )
    return tuple(
        UnknownEffect(f"{_PREFIX}{run}", step, index, _readable(CALL, record), at)
        for run, step, index, record, at in rows
    )


def _steps(db: sqlite3.Connection, run: int) -> tuple[InterruptedStep, ...]:
    """All that is known of the run's steps."""
    responses = _by_step(db, "SELECT step, 0, payload FROM responses WHERE run = ?", run, RESPONSE)
    intents = _by_step(db, "SELECT step, idx, payload FROM intents WHERE run = ?", run, CALL)
    results = _by_step(db, "SELECT step, idx, payload FROM results WHERE run = ?", run, EXECUTED)
    numbers = sorted({step for step, _ in [*responses, *intents, *results]})
    steps = []
    for number in numbers:
        response = responses.get((number, 0))
        asked = dict(enumerate(response.tool_calls)) if response else {}
        indices = sorted({*asked, *(index for step, index in [*intents, *results] if step == number)})
        calls = tuple(
            InterruptedCall(
                index,
                intents.get((number, index)) or asked.get(index),
                (number, index) in intents,
                results.get((number, index)),
            )
            for index in indices
        )
        steps.append(InterruptedStep(number, response, calls))
    return tuple(steps)


def _by_step(db: sqlite3.Connection, query: str, run: int, codec: Codec[T]) -> dict[tuple[int, int], T | None]:
    return {(step, index): _readable(codec, record) for step, index, record in db.execute(query, (run,))}


def _readable(codec: Codec[T], record: bytes) -> T | None:
    try:
        return codec.decode(record)
    except (BrokenRecord, NewerRecord):
        return None
