"""The interface of the journal: what the loop writes down, and when. The loop knows nothing else of the journal.

The order is the promise. An event is accepted when `accept` returns. A response is written before any of its calls
runs, an intent before its effect, and the result after it. The events of a run are acknowledged with its outcome.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from assistant.events.classify import Attention
from assistant.events.events import Event
from assistant.events.outcome import Outcome
from assistant.journal.entries import NO_CHANGE, Accepted, Forgotten, Parked, StreamChange
from assistant.journal.interrupted import InterruptedRun, UnknownEffect
from llm.messages import ToolCall
from llm.response import LLMResponse
from tools.result import Executed


class Journal(Protocol):
    """The written memory of one assistant. Every method returns when what it wrote is safe."""

    def accept(self, event: Event, attention: Attention) -> Awaitable[None]:
        """Take an event into the inbox. When it raises InboxFullError, the event was not taken."""
        ...

    def pending(self) -> Awaitable[Sequence[Accepted]]:
        """Return the events that are accepted and not yet acknowledged, oldest first."""
        ...

    def open_run(self, events: Sequence[Accepted]) -> Awaitable[str]:
        """Open a run over these events; return its id."""
        ...

    def record_response(self, run_id: str, step: int, response: LLMResponse) -> Awaitable[None]:
        """Record a model's answer; `step` counts from 1."""
        ...

    def record_intent(self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool) -> Awaitable[None]:
        """Record that a call is about to run; `index` counts from 0 within the step. A read is not an `effect`."""
        ...

    def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> Awaitable[None]:
        """Record the result of a call."""
        ...

    def close_run(self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE) -> Awaitable[tuple[int, ...]]:
        """Record how the run ended and what it changed in the stream, together; return the numbers of the new entries.

        The run's events are acknowledged in the same write when the outcome settles them.
        """
        ...

    def suspend_run(self, run_id: str) -> Awaitable[None]:
        """Leave the run open: it was stopped on purpose, and is taken up again where it stopped."""
        ...

    def forget_player(self, principal_id: str) -> Awaitable[Forgotten]:
        """Remove what is kept of a player; return how much was removed."""
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
        """Return the oldest open run, None when there is none. Call it only while no run is in progress."""
        ...
