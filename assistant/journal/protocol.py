"""The interface of the journal: what the loop writes down and when, and the values it gives and gets back. Pure.

The loop knows nothing else of the journal. The order is the promise. An event is accepted when `accept` returns. A
response and an intent are safe before the effect, and the result is written after it. The events of a run are
acknowledged with its outcome. What an interrupted run left comes back as its steps, each as far as it came.
"""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct
from twisted.internet.defer import Deferred

from mud_assistant.assistant.events.classify import Attention
from mud_assistant.assistant.events.events import Event
from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.llm.messages import Message, ToolCall
from mud_assistant.llm.response import LLMResponse
from mud_assistant.tools.result import Executed
from mud_assistant.tools.trust import Audience


class Accepted(Struct, frozen=True):
    """An event in the inbox, with the attention it got."""

    event: Event
    attention: Attention


class Parked(Struct, frozen=True):
    """An event that is no longer tried, and why. `accepted` is None when it cannot be read."""

    event_id: str
    accepted: Accepted | None
    crashes: int
    reason: str


class StreamEntry(Struct, frozen=True):
    """Something perceived, or one whole step, with the ids of the events in it. `seq` is 0 until it is written.

    `authority` is the lowest of what the entry holds. `sources` are the ids of the principals whose words are in it.
    `audience` says who may be told of it. `others_see` replaces the entry where others would hear the answer; when it
    is empty, the entry is left out there.
    """

    messages: tuple[Message, ...]
    importance: int
    event_ids: tuple[str, ...] = ()
    authority: int = 0
    sources: tuple[str, ...] = ()
    seq: int = 0
    audience: Audience = None
    others_see: str = ""


class StreamChange(Struct, frozen=True):
    """A change of the stream: entries to append, in this order, and the numbers of those trimmed since the last one."""

    new: tuple[StreamEntry, ...] = ()
    forget: tuple[int, ...] = ()


#: The change that leaves the stream as it is.
NO_CHANGE = StreamChange()


class Forgotten(Struct, frozen=True):
    """How much was removed of a player, and how many of their events are `waiting` and must be dealt with first.

    `erased` is True when no byte of the removed data is left in the file and its log. Otherwise the next start erases
    the rest.
    """

    events: int
    runs: int
    memories: int
    entries: int
    waiting: int = 0
    erased: bool = False


class Cleared(Struct, frozen=True):
    """How much of a mind was removed. `erased` as in `Forgotten`."""

    entries: int
    memories: int
    erased: bool = False


#: Step, counted from 1, and index of the call in it, from 0.
At = tuple[int, int]


class InterruptedCall(Struct, frozen=True):
    """One call of a step. When it was `intended` but has no `executed`, its outcome is unknown.

    `call` is None only when damage destroyed both the answer and the intent.
    """

    index: int
    call: ToolCall | None
    intended: bool
    executed: Executed | None


class InterruptedStep(Struct, frozen=True):
    """One step: the model's answer (None when damage destroyed it) and its calls in order."""

    number: int
    response: LLMResponse | None
    calls: tuple[InterruptedCall, ...]


class InterruptedRun(Struct, frozen=True):
    """An open run that is not in progress: its process died, or could not write its end.

    `opened_at` is in seconds since 1970, 0 in memory. `poisoned` is True when any of its events is parked by now.
    """

    id: str
    opened_at: float
    events: tuple[Accepted, ...]
    steps: tuple[InterruptedStep, ...]
    poisoned: bool = False


class UnknownEffect(Struct, frozen=True):
    """An effect that was begun and has no result, in a run that is over. `at` is in seconds since 1970."""

    run_id: str
    step: int
    index: int
    call: ToolCall | None
    at: float


#: A write that is begun. It ends when what it wrote is safe.
Write = Deferred[None] | Coroutine[Deferred[Any], Any, None]


class Journal(Protocol):
    """The written memory of one assistant. Every method returns when what it wrote is safe.

    A `Write` need not be waited for: writes are done in the order in which they are begun.
    """

    def accept(self, event: Event, attention: Attention) -> Awaitable[None]:
        """Take an event into the inbox. When it raises InboxFullError, the event was not taken."""
        ...

    def pending(self) -> Awaitable[Sequence[Accepted]]:
        """Return the events that are accepted and not yet acknowledged, oldest first."""
        ...

    def open_run(self, events: Sequence[Accepted]) -> Awaitable[str]:
        """Open a run over these events; return its id."""
        ...

    def record_response(self, run_id: str, step: int, response: LLMResponse) -> Write:
        """Record a model's answer; `step` counts from 1."""
        ...

    def record_intent(
        self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool, goals: Sequence[Goal] = ()
    ) -> Write:
        """Record that a call is about to run; `index` counts from 0 within the step. A read is not an `effect`.

        The `goals` that its words promise are added in the same write. One whose id is there already stays as it is.
        """
        ...

    def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> Write:
        """Record the result of a call."""
        ...

    def record_read(self, run_id: str, step: int, index: int, executed: Executed) -> Write:
        """Record a call that only read, with its result. It needs no intent: after a crash it is made again."""
        ...

    def close_run(
        self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE, goals: Sequence[Goal] = ()
    ) -> Awaitable[tuple[int, ...]]:
        """Record how the run ended and what it changed in the stream, together; return the numbers of the new entries.

        The run's events are acknowledged in the same write when the outcome settles them, and the `goals` that it
        changed are written in it. One that is not there any more was forgotten, and does not come back.
        """
        ...

    def save_goals(self, goals: Sequence[Goal]) -> Awaitable[None]:
        """Write these goals, each in the place of the one with its id, if there is one."""
        ...

    def goals(self, *, with_ended: bool = False) -> Awaitable[Sequence[Goal]]:
        """Return the open goals, the oldest first, and those that have ended too if told to."""
        ...

    def suspend_run(self, run_id: str) -> Awaitable[None]:
        """Leave the run open: it was stopped on purpose, and is taken up again where it stopped."""
        ...

    def forget_player(self, principal_id: str) -> Awaitable[Forgotten]:
        """Remove what is kept of a player, with the goals that they asked for or that are meant for them.

        Return how much was removed.
        """
        ...

    def forget_event(self, event_id: str, memory_id: str = "") -> Awaitable[int]:
        """Remove one event with the finished runs over it and its entries. One that waits, or whose run is open, stays.

        The memory with that id is removed with it, and what was derived from it, where the journal keeps memories.
        Return how many memories were removed.
        """
        ...

    def clear_mind(self, *, memories: bool) -> Awaitable[Cleared]:
        """Remove the stream with its summaries, and all memories if told to, where the journal keeps them.

        Events, the records of runs, goals, mutes and what was spent stay.
        """
        ...

    def parked(self) -> Awaitable[Sequence[Parked]]:
        """Return the parked events: they are no longer tried."""
        ...

    def unpark(self, event_id: str) -> Awaitable[bool]:
        """Make a parked event pending again, in its old place. Return False when it is not parked."""
        ...

    def discard(self, event_id: str) -> Awaitable[bool]:
        """Mark a parked event as dealt with. Return False when it is not parked."""
        ...

    def unknown_effects(self) -> Awaitable[Sequence[UnknownEffect]]:
        """Return the effects of finished runs of which it is unknown whether they happened."""
        ...

    def interrupted(self) -> Awaitable[InterruptedRun | None]:
        """Take up the oldest open run and return it, None for none. Call it only while no run is in progress."""
        ...


def steps_of(
    responses: Mapping[int, LLMResponse | None],
    intents: Mapping[At, ToolCall | None],
    results: Mapping[At, Executed | None],
) -> tuple[InterruptedStep, ...]:
    """Return all that is known of the steps of a run. Takes its records; None stands for one that cannot be read."""
    numbers = sorted({*responses, *(step for step, _ in [*intents, *results])})
    return tuple(_step(number, responses.get(number), intents, results) for number in numbers)


def _step(
    number: int,
    response: LLMResponse | None,
    intents: Mapping[At, ToolCall | None],
    results: Mapping[At, Executed | None],
) -> InterruptedStep:
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
    return InterruptedStep(number, response, calls)
