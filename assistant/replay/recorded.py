"""What a journal holds of a run, as values. What damage took is None."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.journal import Accepted
from assistant.outcome import Outcome
from llm import LLMResponse, ToolCall
from tools import Executed


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a step: begun without being executed means that nobody knows whether it happened.

    Neither begun nor executed is a call that was refused, or whose arguments did not fit.
    """

    index: int
    call: ToolCall | None
    begun: bool
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One step: the model's answer, and its calls in order."""

    number: int
    response: LLMResponse | None
    calls: tuple[RecordedCall, ...]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One run. Times are seconds since 1970; one without `closed_at` goes on now, or its process died."""

    id: str
    assistant: str
    opened_at: float
    closed_at: float | None
    outcome: Outcome | None
    events: tuple[Accepted, ...]
    steps: tuple[RecordedStep, ...]
    #: Records of it that cannot be read.
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class ParkedEvent:
    """An event that is not tried any more, and why."""

    assistant: str
    event_id: str
    accepted: Accepted | None
    crashes: int
    reason: str


@dataclass(frozen=True, slots=True)
class UnknownCall:
    """A call that was begun and never came to a result, in a run that is over; `at` is seconds since 1970."""

    assistant: str
    run_id: str
    step: int
    index: int
    call: ToolCall | None
    at: float
