"""Reads runs, parked events and unknown calls from an open journal of any version, as values. SQL only.

What damage destroyed is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from msgspec import Struct, structs

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.journal.codec import Codec
from mud_assistant.assistant.journal.database import Database, is_sqlite
from mud_assistant.assistant.journal.records import CALL, EVENT, EXECUTED, OUTCOME, RESPONSE
from mud_assistant.assistant.journal.schema import columns_of
from mud_assistant.assistant.journal.tables.lease import NAME_OF
from mud_assistant.assistant.loop.recovery import MAYBE_HEARD, begun_call, whole_text, words_of
from mud_assistant.llm import LLMResponse, ToolCall
from mud_assistant.tools import Executed

T = TypeVar("T")
_PREFIX = "run-"
#: More rows than there are, as a limit.
_ALL = 2**63 - 1
_Row = tuple[int, str, float, float | None, bytes | None]
_COLUMNS = "seq, assistant, opened_at, closed_at, outcome"


class RecordedCall(Struct, frozen=True):
    """One call of a step. When it was `begun` but has no `executed`, it is unknown whether it happened.

    When it has neither, it was refused, or its arguments did not fit. `at` is when it was begun, in seconds since 1970.
    """

    index: int
    call: ToolCall | None
    begun: bool
    executed: Executed | None
    at: float | None = None


class RecordedStep(Struct, frozen=True):
    """One step: the model's answer, and its calls in order."""

    number: int
    response: LLMResponse | None
    calls: tuple[RecordedCall, ...]

    @property
    def is_beginning(self) -> bool:
        """Whether this step is the first sentence of the next answer, spoken before the rest had arrived."""
        return self.response is not None and self.response.is_beginning


class RecordedRun(Struct, frozen=True):
    """One run. Times are seconds since 1970. A run without `closed_at` is in progress, or its process died."""

    id: str
    assistant: str
    opened_at: float
    closed_at: float | None
    outcome: Outcome | None
    events: tuple[Accepted, ...]
    steps: tuple[RecordedStep, ...]
    #: How many of its records cannot be read.
    unreadable: int = 0
    #: The character's name.
    name: str = ""
    #: How many of its later steps were not read.
    steps_left_out: int = 0


class ParkedEvent(Struct, frozen=True):
    """An event that is no longer tried, and why."""

    assistant: str
    event_id: str
    accepted: Accepted | None
    crashes: int
    reason: str
    name: str = ""


class UnknownCall(Struct, frozen=True):
    """A call that was begun and has no result, in a run that is over. `at` is seconds since 1970."""

    assistant: str
    run_id: str
    step: int
    index: int
    call: ToolCall | None
    at: float
    name: str = ""


def assistants(db: Database) -> list[str]:
    """Return the ids of all assistants with a run or an event in the journal, sorted."""
    return sorted(name for (name,) in db.execute("SELECT assistant FROM runs UNION SELECT assistant FROM events"))


def name_of(db: Database, assistant: str) -> str:
    """Return the character's name. A file of an earlier version has none; then the name is guessed from the id."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (NAME_OF + assistant,)).fetchone()
    if row is not None:
        return str(row[0])
    kind, _, told = assistant.partition(":")
    return told.title() if kind == "assistant" and told and not told.isdigit() else assistant


def how_many(db: Database, assistant: str | None) -> int:
    """Return how many runs there are, of this assistant or, for None, of all."""
    count: int = db.execute(
        "SELECT count(*) FROM runs WHERE assistant = coalesce(?, assistant)", (assistant,)
    ).fetchone()[0]
    return count


def last_runs(db: Database, assistant: str | None, most: int) -> list[RecordedRun]:
    """Return the last `most` runs, oldest first; all of them when `most` is negative."""
    rows = db.execute(
        f"""SELECT {_COLUMNS} FROM runs WHERE assistant = coalesce(?, assistant)
           ORDER BY seq DESC LIMIT ?""",  # noqa: S608  (words of ours)
        (assistant, _ALL if most < 0 else most),
    ).fetchall()
    return [_run(db, row) for row in reversed(rows)]


def run_called(db: Database, assistant: str | None, run_id: str, most_steps: int | None = None) -> RecordedRun | None:
    """Return the run of this id with its first `most_steps` steps (None for all), None when there is no such run."""
    number = run_number(run_id)
    row = db.execute(
        f"""SELECT {_COLUMNS} FROM runs
           WHERE seq = ? AND assistant = coalesce(?, assistant)""",  # noqa: S608  (words of ours)
        (number, assistant),
    ).fetchone()
    return _run(db, row, most_steps) if row else None


def run_number(run_id: str) -> int | None:
    """Return the number of a run, None when the id is not one of a run."""
    digits = run_id.removeprefix(_PREFIX)
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= len(str(2**63)) and int(digits) < 2**63
    return int(digits) if is_number else None


def parked_events(db: Database, assistant: str | None) -> list[ParkedEvent]:
    """Return the parked events, oldest first."""
    rows = db.execute(
        f"""SELECT assistant, id, crashes, reason, {_EVENT} FROM events
            WHERE state = 'parked' AND assistant = coalesce(?, assistant) ORDER BY seq""",  # noqa: S608
        (assistant,),
    )
    return [
        ParkedEvent(whose, event_id, _accepted(*rest), crashes, why, name_of(db, whose))
        for whose, event_id, crashes, why, *rest in rows.fetchall()
    ]


def unknown_calls(db: Database, assistant: str | None) -> list[UnknownCall]:
    """Return the calls of closed runs that were begun and have no result, oldest first.

    Calls that only read are left out, except in a file of version 1, which does not tell them apart.
    """
    effects = "TRUE" if is_sqlite(db) and "effect" not in columns_of(db, "intents") else "effect != 0"
    rows = db.execute(
        f"""SELECT intents.assistant, run, step, idx, payload, at FROM intents JOIN runs ON runs.seq = run
           WHERE intents.assistant = coalesce(?, intents.assistant) AND {effects} AND closed_at IS NOT NULL
           AND NOT EXISTS (
               SELECT 1 FROM results
               WHERE results.run = intents.run AND results.step = intents.step AND results.idx = intents.idx)
           ORDER BY run, step, idx""",  # noqa: S608  (a word of ours)
        (assistant,),
    )
    return [
        UnknownCall(whose, f"{_PREFIX}{run}", step, index, CALL.find(record), at, name_of(db, whose))
        for whose, run, step, index, record, at in rows.fetchall()
    ]


_EVENT = "events.payload, events.verdict, events.importance, events.addressed"


def _run(db: Database, row: _Row, most_steps: int | None = None) -> RecordedRun:
    number, name, opened_at, closed_at, record = row
    rows = db.execute(
        f"SELECT {_EVENT} FROM events JOIN run_events ON event = seq WHERE run = ? ORDER BY seq",  # noqa: S608
        (number,),
    )
    events = [_accepted(*values) for values in rows]
    outcome: Outcome | None = None if record is None else OUTCOME.find(record)
    end, left_out = _last_step(db, number, most_steps)
    steps, unreadable = _steps(db, number, end)
    unreadable += events.count(None) + (outcome is None and record is not None)
    readable = tuple(event for event in events if event is not None)
    called = name_of(db, name)
    times = opened_at, closed_at
    return RecordedRun(f"{_PREFIX}{number}", name, *times, outcome, readable, steps, unreadable, called, left_out)


def _last_step(db: Database, run: int, most: int | None) -> tuple[int, int]:
    """Return the number of the last step to read, and how many answers come after it."""
    row = None
    if most is not None:
        after = "SELECT step FROM responses WHERE run = ? ORDER BY step LIMIT 1 OFFSET ?"
        row = db.execute(after, (run, most)).fetchone()
    if row is None:
        return _ALL, 0
    left = db.execute("SELECT count(*) FROM responses WHERE run = ? AND step >= ?", (run, row[0])).fetchone()
    return row[0] - 1, left[0]


def _steps(db: Database, run: int, end: int) -> tuple[tuple[RecordedStep, ...], int]:
    """Return the steps of the run up to number `end`, and how many of their records cannot be read."""
    of_run = "WHERE run = ? AND step <= ?"
    responses = _by_place(db.execute(f"SELECT step, 0, payload FROM responses {of_run}", (run, end)), RESPONSE)  # noqa: S608
    begun = db.execute(f"SELECT step, idx, payload, at FROM intents {of_run}", (run, end)).fetchall()  # noqa: S608
    intents, times = _by_place((row[:3] for row in begun), CALL), {row[:2]: row[3] for row in begun}
    results = _by_place(db.execute(f"SELECT step, idx, payload FROM results {of_run}", (run, end)), EXECUTED)  # noqa: S608
    steps = []
    for number in sorted({step for step, _ in [*responses, *intents, *results]}):
        response = responses.get((number, 0))
        asked = dict(enumerate(response.tool_calls)) if response else {}
        places = sorted({*asked, *(index for step, index in [*intents, *results] if step == number)})
        calls = []
        for index in places:
            place = (number, index)
            executed = results.get(place)
            call = intents.get(place) or asked.get(index) or (executed.call if executed else None)
            calls.append(RecordedCall(index, call, place in intents, executed, times.get(place)))
        steps.append(RecordedStep(number, response, tuple(calls)))
    found: Sequence[object] = [*responses.values(), *intents.values(), *results.values()]
    return tuple(steps), sum(value is None for value in found)


def _by_place(rows: Iterable[tuple[int, int, bytes]], codec: Codec[T]) -> dict[tuple[int, int], T | None]:
    return {(step, index): codec.find(record) for step, index, record in rows}


def _accepted(record: bytes, verdict: str, importance: int, addressed: int) -> Accepted | None:
    event = EVENT.find(record)
    if event is None or verdict not in set(Classification):
        return None
    return Accepted(event, Attention(Classification(verdict), importance, bool(addressed)))


def in_whole_answers(run: RecordedRun) -> RecordedRun:
    """Return the run with each early sentence merged into the whole answer that followed, if one did."""
    steps: list[RecordedStep] = []
    early: RecordedStep | None = None
    for step, after in zip_longest(run.steps, run.steps[1:]):
        if step.is_beginning and after is not None:
            early = step
            continue
        steps.append(_with_beginning(step, early) if early else step)
        early = None
    return structs.replace(run, steps=tuple(steps))


def _with_beginning(step: RecordedStep, early: RecordedStep) -> RecordedStep:
    """Return the step with its call as the model made it, instead of only the rest that was done after `early`."""
    said = early.calls[0] if early.calls else None
    if step.response is None or said is None or said.call is None or not _may_be_heard(said):
        return step
    text = step.response.content
    calls = [done.call for done in step.calls if done.call is not None]
    meant = step.response.tool_calls or tuple(whole_text(call, text) for call in calls)
    sentence = str(said.call.arguments.get("text", ""))
    index = begun_call(meant, sentence, text)
    if index is None:
        return step
    whole, response = meant[index], step.response
    if not words_of(whole).startswith(sentence):  # it was cut off: only the early sentence was said
        whole = structs.replace(whole, arguments={"text": sentence}, problem="")
        blocks = tuple(whole if block is meant[index] else block for block in response.message.blocks)
        response = structs.replace(response, message=replace(response.message, blocks=blocks))
    told = (structs.replace(done, call=whole, begun=True) if done.index == index else done for done in step.calls)
    return structs.replace(step, response=response, calls=tuple(told))


def _may_be_heard(said: RecordedCall) -> bool:
    return said.begun if said.executed is None else said.executed.status in MAYBE_HEARD
