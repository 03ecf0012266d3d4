"""Reports the progress of a run: for `/trace`, for `--json`, for an operator who watches."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct, field

from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.llm import CallRecord, LLMResponse
from mud_assistant.tools import Executed


class StepTrace(Struct, frozen=True):
    """One step: what was sent, what came back, and the result of each call. `seconds` is the time of the whole step."""

    run_id: str
    step: int
    messages: int
    prompt_tokens: int
    response: LLMResponse
    executed: tuple[Executed, ...]
    seconds: float
    #: How well this model's last calls could be read.
    record: CallRecord = field(default_factory=CallRecord)
    #: The seconds until the answer was complete, and until its first sentence was said; None when none was said early.
    asked_seconds: float = 0.0
    first_sentence_seconds: float | None = None


class Observer(Protocol):
    """A listener for a run's progress. Its methods must not raise and must not wait."""

    def thinking(self, run_id: str, step: int) -> None:
        """Take note that the model is about to be asked."""
        ...

    def step(self, trace: StepTrace) -> None:
        """Take note that a step is over."""
        ...

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Take note that the run is over."""
        ...


class NobodyWatches:
    """The observer that does nothing."""

    def thinking(self, run_id: str, step: int) -> None:
        """Do nothing."""

    def step(self, trace: StepTrace) -> None:
        """Do nothing."""

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Do nothing."""
