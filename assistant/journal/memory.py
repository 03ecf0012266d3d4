"""The journal in memory: keeps the same promises as long as the process lives. For trials and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from twisted.internet.defer import succeed

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Outcome, settles
from mud_assistant.assistant.journal.errors import AlreadyRecorded, InboxFullError, UnknownRun
from mud_assistant.assistant.journal.protocol import (
    NO_CHANGE,
    Accepted,
    Cleared,
    Forgotten,
    InterruptedRun,
    Parked,
    StreamChange,
    UnknownEffect,
    Write,
    steps_of,
)
from mud_assistant.assistant.journal.tables.promised_goals import left_of
from mud_assistant.llm.messages import ToolCall
from mud_assistant.llm.response import LLMResponse
from mud_assistant.tools.result import Executed

#: How many finished runs are kept for reading.
KEPT_RUNS = 100
#: How many ids of settled events are kept, so that an event that comes again is not taken twice.
KEPT_IDS = 1000


@dataclass(slots=True)
class RunRecord:
    """What is known of one run: responses by step, intents and results by step and index."""

    id: str
    events: tuple[Accepted, ...]
    responses: dict[int, LLMResponse] = field(default_factory=dict)
    intents: dict[tuple[int, int], ToolCall] = field(default_factory=dict)
    effects: set[tuple[int, int]] = field(default_factory=set)
    results: dict[tuple[int, int], Executed] = field(default_factory=dict)
    outcome: Outcome | None = None


class MemoryJournal:
    """A journal of up to `inbox_limit` pending events and the last runs. It counts no crashes and keeps no stream.

    `remember` is called with each event that is taken, so that what is worth it can be remembered.
    """

    def __init__(self, inbox_limit: int = 500, remember: Callable[[Accepted], object] = lambda _: None) -> None:
        self._inbox_limit = inbox_limit
        self._remember = remember
        self._inbox: dict[str, Accepted] = {}
        self._count = 0
        self._open: dict[str, RunRecord] = {}
        self._settled: dict[str, None] = {}
        self._goals: dict[str, Goal] = {}
        self.finished: list[RunRecord] = []

    async def accept(self, event: Event, attention: Attention) -> None:
        """Take an event, unless it was accepted before. Raises InboxFullError."""
        if event.id in self._inbox or event.id in self._settled:
            return
        if len(self._inbox) >= self._inbox_limit and not (
            attention.verdict is Classification.TRIGGER and self._drop_overheard()
        ):
            raise InboxFullError(f"{len(self._inbox)} events are waiting")
        self._inbox[event.id] = accepted = Accepted(event, attention)
        self._remember(accepted)

    def _drop_overheard(self) -> bool:
        """Drop the oldest event that was only overheard. Return False when none waits outside of a run."""
        busy = {accepted.event.id for run in self._open.values() for accepted in run.events}
        for event_id, accepted in self._inbox.items():
            if accepted.attention.verdict is Classification.CONTEXT and event_id not in busy:
                del self._inbox[event_id]
                self._settled[event_id] = None
                return True
        return False

    async def pending(self) -> Sequence[Accepted]:
        """Return the inbox, oldest first."""
        return tuple(self._inbox.values())

    async def open_run(self, events: Sequence[Accepted]) -> str:
        """Open a run; return its id. Runs are numbered from 1."""
        self._count += 1
        run_id = f"run-{self._count}"
        self._open[run_id] = RunRecord(run_id, tuple(events))
        return run_id

    def record_response(self, run_id: str, step: int, response: LLMResponse) -> Write:
        """Record a model's answer. Raises UnknownRun and AlreadyRecorded."""
        responses = self._run(run_id).responses
        if step in responses:
            raise AlreadyRecorded(f"step {step} of {run_id} has an answer")
        responses[step] = response
        return succeed(None)

    def record_intent(
        self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool, goals: Sequence[Goal] = ()
    ) -> Write:
        """Record that a call is about to run, and the goals that it promises. Raises UnknownRun."""
        run = self._run(run_id)
        run.intents[step, index] = call
        if effect:
            run.effects.add((step, index))
        self._goals = {**{goal.id: goal for goal in goals}, **self._goals}
        return succeed(None)

    def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> Write:
        """Record the result of a call. Raises UnknownRun."""
        self._run(run_id).results[step, index] = executed
        return succeed(None)

    def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> Write:
        """Record a call that only read, with its result. Raises UnknownRun."""
        run = self._run(run_id)
        run.intents[step, index] = executed.call
        run.results[step, index] = executed
        return succeed(None)

    async def close_run(
        self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE, goals: Sequence[Goal] = ()
    ) -> tuple[int, ...]:
        """Record the outcome and take settled events out of the inbox; return a zero for each new stream entry.

        The goals that are still there change. Raises UnknownRun.
        """
        run = self._run(run_id)
        self._goals.update({goal.id: goal for goal in goals if goal.id in self._goals})
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

    async def save_goals(self, goals: Sequence[Goal]) -> None:
        """Write these goals, each in the place of the one with its id, if there is one."""
        self._goals.update({goal.id: goal for goal in goals})

    async def goals(self, *, with_ended: bool = False) -> Sequence[Goal]:
        """Return the goals that are not over, the oldest first, and all others too if told to."""
        kept = (goal for goal in self._goals.values() if with_ended or not goal.is_over)
        return tuple(sorted(kept, key=lambda goal: (goal.made_at, goal.id)))

    async def parked(self) -> Sequence[Parked]:
        """Return nothing: a crash ends the process, and this journal with it."""
        return ()

    async def unpark(self, event_id: str) -> bool:
        """Return False: nothing is parked."""
        return False

    async def discard(self, event_id: str) -> bool:
        """Return False: nothing is parked."""
        return False

    async def unknown_effects(self) -> Sequence[UnknownEffect]:
        """Return the effects of finished runs that were begun and have no result, oldest first."""
        return tuple(
            UnknownEffect(run.id, step, index, run.intents[step, index], 0.0)
            for run in self.finished
            for step, index in sorted(run.effects - run.results.keys())
        )

    async def suspend_run(self, run_id: str) -> None:
        """Leave the run open. Raises UnknownRun."""
        self._run(run_id)

    async def forget_player(self, principal_id: str) -> Forgotten:
        """Remove the finished runs over the player's events, and the goals that are theirs; return how many runs.

        Memories and stream hold the player too, but are not kept here.
        """
        kept = [run for run in self.finished if principal_id not in {heard.event.who.id for heard in run.events}]
        removed = len(self.finished) - len(kept)
        waiting = sum(accepted.event.who.id == principal_id for accepted in self._inbox.values())
        self.finished = kept
        left = (left_of(goal, principal_id) for goal in self._goals.values())
        self._goals = {goal.id: goal for goal in left if goal is not None}
        return Forgotten(0, removed, 0, 0, waiting, erased=True)

    async def forget_event(self, event_id: str, memory_id: str = "") -> int:
        """Remove the finished runs over one event. Return 0: memories are not kept here."""
        self.finished = [run for run in self.finished if event_id not in {heard.event.id for heard in run.events}]
        return 0

    async def clear_mind(self, *, memories: bool) -> Cleared:
        """Remove nothing: neither stream nor memories are kept here."""
        return Cleared(0, 0, erased=True)

    async def interrupted(self) -> InterruptedRun | None:
        """Return the oldest open run, None when there is none."""
        for run in self._open.values():
            return InterruptedRun(run.id, 0.0, run.events, steps_of(run.responses, run.intents, run.results))
        return None

    def _run(self, run_id: str) -> RunRecord:
        """Return the open run of this id. Raises UnknownRun."""
        if run_id not in self._open:
            raise UnknownRun(run_id)
        return self._open[run_id]
