"""What a run shows of itself while it goes: for `/trace`, for `--json`, for an operator who watches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from assistant.outcome import Outcome
from llm import CallRecord, LLMResponse
from tools import Executed


@dataclass(frozen=True, slots=True)
class StepTrace:
    """One step: what was sent, what came back, what became of each call. `seconds` is the whole step."""

    run_id: str
    step: int
    messages: int
    prompt_tokens: int
    response: LLMResponse
    executed: tuple[Executed, ...]
    seconds: float
    #: How this model's calls came out lately.
    record: CallRecord = field(default_factory=CallRecord)


class Observer(Protocol):
    """Told of a run's progress. Must not raise and must not wait."""

    def thinking(self, run_id: str, step: int) -> None:
        """The model is about to be asked."""
        ...

    def step(self, trace: StepTrace) -> None:
        """A step is over."""
        ...

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """The run is over."""
        ...


class NobodyWatches:
    """The observer that looks away."""

    def thinking(self, run_id: str, step: int) -> None:
        """Nothing is shown."""

    def step(self, trace: StepTrace) -> None:
        """Nothing is shown."""

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Nothing is shown."""
