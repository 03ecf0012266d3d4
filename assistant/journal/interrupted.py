"""What is known of an interrupted run: its events, and each step as far as it came. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assistant.journal.entries import Accepted
from llm.messages import ToolCall
from llm.response import LLMResponse
from tools.result import Executed

#: Step, counted from 1, and index of the call in it, from 0.
At = tuple[int, int]


@dataclass(frozen=True, slots=True)
class InterruptedCall:
    """One call of a step. When it was `intended` but has no `executed`, its outcome is unknown.

    `call` is None only when damage destroyed both the answer and the intent.
    """

    index: int
    call: ToolCall | None
    intended: bool
    executed: Executed | None


@dataclass(frozen=True, slots=True)
class InterruptedStep:
    """One step: the model's answer (None when damage destroyed it) and its calls in order."""

    number: int
    response: LLMResponse | None
    calls: tuple[InterruptedCall, ...]


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """An open run that is not in progress: its process died, or could not write its end.

    `opened_at` is in seconds since 1970, 0 in memory. `poisoned` is True when any of its events is parked by now.
    """

    id: str
    opened_at: float
    events: tuple[Accepted, ...]
    steps: tuple[InterruptedStep, ...]
    poisoned: bool = False


@dataclass(frozen=True, slots=True)
class UnknownEffect:
    """An effect that was begun and has no result, in a run that is over. `at` is in seconds since 1970."""

    run_id: str
    step: int
    index: int
    call: ToolCall | None
    at: float


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
