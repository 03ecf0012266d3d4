"""What the loop writes down, and when. The loop knows only this interface (design.md section 8).

The order is the promise: an event is accepted when `accept` returns; a response is written before any of its calls
runs; an intent before its effect and the result after it; the events of a run are acknowledged with its outcome.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from assistant.classify import Attention
from assistant.events import Event
from assistant.journal.entries import NO_CHANGE, StreamChange
from assistant.journal.interrupted import InterruptedRun, UnknownEffect
from assistant.outcome import Outcome
from llm.messages import ToolCall
from llm.response import LLMResponse
from tools.result import Executed

if TYPE_CHECKING:
    from assistant.journal.erasure import Forgotten
    from assistant.journal.inbox import Parked


class InboxFullError(Exception):
    """The inbox takes no more: said before an event is accepted, never after."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An event in the inbox, with the attention it got."""

    event: Event
    attention: Attention


class Journal(Protocol):
    """The written memory of one assistant. Every method returns when what it wrote is safe."""

    def accept(self, event: Event, attention: Attention) -> Awaitable[None]:
        """Take an event into the inbox. Raises InboxFullError, and then has not taken it."""
        ...

    def pending(self) -> Awaitable[Sequence[Accepted]]:
        """The events accepted and not yet acknowledged, oldest first."""
        ...

    def open_run(self, events: Sequence[Accepted]) -> Awaitable[str]:
        """The id of a new run over these events."""
        ...

    def record_response(self, run_id: str, step: int, response: LLMResponse) -> Awaitable[None]:
        """Keep a model's answer; `step` counts from 1."""
        ...

    def record_intent(self, run_id: str, step: int, index: int, call: ToolCall, *, effect: bool) -> Awaitable[None]:
        """Keep that a call is about to run; `index` counts from 0 within the step. A read is no `effect`."""
        ...

    def record_result(self, run_id: str, step: int, index: int, executed: Executed) -> Awaitable[None]:
        """Keep what a call came to."""
        ...

    def close_run(self, run_id: str, outcome: Outcome, change: StreamChange = NO_CHANGE) -> Awaitable[tuple[int, ...]]:
        """Keep how the run ended and what it changed in the stream, together; the numbers of the new entries.

        When the outcome settles them, its events are acknowledged with it.
        """
        ...

    def suspend_run(self, run_id: str) -> Awaitable[None]:
        """Leave the run open: it was stopped on purpose, and is taken up again where it stands."""
        ...

    def forget_player(self, principal_id: str) -> Awaitable[Forgotten]:
        """What was removed of a player."""
        ...

    def parked(self) -> Awaitable[Sequence[Parked]]:
        """The events that are not tried any more."""
        ...

    def unpark(self, event_id: str) -> Awaitable[bool]:
        """Try a parked event again, in its old place; False when it is not parked."""
        ...

    def discard(self, event_id: str) -> Awaitable[bool]:
        """Mark a parked event as dealt with; False when it is not parked."""
        ...

    def unknown_effects(self) -> Awaitable[Sequence[UnknownEffect]]:
        """The effects of finished runs of which nobody knows whether they happened."""
        ...

    def interrupted(self) -> Awaitable[InterruptedRun | None]:
        """The oldest run that is open, None when none is. Only for one who has no run in progress."""
        ...
