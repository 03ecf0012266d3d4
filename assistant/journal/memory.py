"""The journal in memory: the same promises for as long as the process lives. For trials and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.classify import Attention, Verdict
from assistant.events import Event
from assistant.journal.entries import NO_CHANGE, StreamChange
from assistant.journal.erasure import Forgotten
from assistant.journal.errors import AlreadyRecorded, UnknownRun
from assistant.journal.inbox import Parked
from assistant.journal.interrupted import InterruptedRun, UnknownEffect, steps_of
from assistant.journal.journal import Accepted, InboxFullError
from assistant.outcome import Outcome, settles
from llm.messages import ToolCall
from llm.response import LLMResponse
from tools.result import Executed

#: Finished runs kept for reading.
KEPT_RUNS = 100
#: Ids of settled events kept, so that one that comes again is not taken twice.
KEPT_IDS = 1000


@dataclass(slots=True)
class RunRecord:
    """All that is known of one run: responses by step, intents and results by step and index."""

    id: str
    events: tuple[Accepted, ...]
    responses: dict[int, LLMResponse] = field(default_factory=dict)
    intents: dict[tuple[int, int], ToolCall] = field(default_factory=dict)
    effects: set[tuple[int, int]] = field(default_factory=set)
    results: dict[tuple[int, int], Executed] = field(default_factory=dict)
    outcome: Outcome | None = None


class MemoryJournal:
    """Keeps up to `inbox_limit` pending events and the last runs. It counts no crashes and keeps no stream."""

    def __init__(self, inbox_limit: int = 500) -> None:
        self._inbox_limit = inbox_limit
        self._inbox: dict[str, Accepted] = {}
        self._count = 0
        self._open: dict[str, RunRecord] = {}
        self._settled: dict[str, None] = {}
        self.finished: list[RunRecord] = []

    async def accept(self, event: Event, attention: Attention) -> None:
        """Take an event; one that was accepted already is not taken twice."""
        if event.id in self._inbox or event.id in self._settled:
            return
        if len(self._inbox) >= self._inbox_limit and not (
            attention.verdict is Verdict.TRIGGER and self._drop_overheard()
        ):
            raise InboxFullError(f"{len(self._inbox)} events are waiting")
        self._inbox[event.id] = Accepted(event, attention)

    def _drop_overheard(self) -> bool:
        """Leave out the oldest event that was only overheard; False when none waits outside of a run."""
        busy = {accepted.event.id for run in self._open.values() for accepted in run.events}
        for event_id, accepted in self._inbox.items():
            if accepted.attention.verdict is Verdict.CONTEXT and event_id not in busy:
                del self._inbox[event_id]
                self._settled[event_id] = None
                return True
        return False

    async def pending(self) -> Sequence[Accepted]:
        """The inbox, oldest first."""
        return tuple(self._inbox.values())

    async def open_run(self, events: Sequence[Accepted]) -> str:
        """A new run, numbered from 1."""
        self._count += 1
        run_id = f"run-{self._count}"
        self._open[run_id] = RunRecord(run_id, tuple(events))
        return run_id

    async def record_response(self, run_id: str, step: int, response: LLMResponse) -> None:
        """Keep a model's answer. UnknownRun, AlreadyRecorded."""
        responses = self._run(run_id).responses
        if step in responses:
            raise AlreadyRecorded(f"step {step} of {run_id} has an answer")
        responses[step] = response

    async def record_intent(self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool) -> None:
        """Keep that a call is about to run."""
        run = self._run(run_id)
        run.intents[step, index] = call
        if effect:
            run.effects.add((step, index))

    async def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> None:
        """Keep what a call came to."""
        self._run(run_id).results[step, index] = executed

    async def close_run(self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE) -> tuple[int, ...]:
        """Keep the outcome; settled events leave the inbox. A zero for each new entry of the stream."""
        run = self._run(run_id)
        del self._open[run_id]
        run.outcome = outcome
        self.finished.append(run)
        del self.finished[:-KEPT_RUNS]
        if settles(outcome):
            for accepted in run.events:
                self._inbox.pop(accepted.event.id, None)
                self._settled[accepted.event.id] = None
            while len(self._settled) > KEPT_IDS:
                del self._settled[next(iter(self._settled))]
        return (0,) * len(change.new)

    async def parked(self) -> Sequence[Parked]:
        """None: nothing crashes a process and lives."""
        return ()

    async def unpark(self, event_id: str) -> bool:
        """Return False: nothing is parked."""
        return False

    async def discard(self, event_id: str) -> bool:
        """Return False: nothing is parked."""
        return False

    async def unknown_effects(self) -> Sequence[UnknownEffect]:
        """The effects of finished runs that were begun and never came to a result, oldest first."""
        return tuple(
            UnknownEffect(run.id, step, index, run.intents[step, index], 0.0)
            for run in self.finished
            for step, index in sorted(run.effects - run.results.keys())
        )

    async def suspend_run(self, run_id: str) -> None:
        """The run stays open."""
        self._run(run_id)

    async def forget_player(self, principal_id: str) -> Forgotten:
        """What was removed: the finished runs over his events. He is also in notes and stream, which are not here."""
        kept = [run for run in self.finished if principal_id not in {heard.event.who.id for heard in run.events}]
        removed = len(self.finished) - len(kept)
        waiting = sum(accepted.event.who.id == principal_id for accepted in self._inbox.values())
        self.finished = kept
        return Forgotten(0, removed, 0, 0, waiting, erased=True)

    async def interrupted(self) -> InterruptedRun | None:
        """The oldest open run."""
        for run in self._open.values():
            return InterruptedRun(run.id, 0.0, run.events, steps_of(run.responses, run.intents, run.results))
        return None

    def _run(self, run_id: str) -> RunRecord:
        """The open run of this id. UnknownRun."""
        if run_id not in self._open:
            raise UnknownRun(run_id)
        return self._open[run_id]
