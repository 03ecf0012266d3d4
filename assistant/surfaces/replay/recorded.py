"""The values that a journal holds of a run. What damage destroyed is None."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

from assistant.events.outcome import Outcome
from assistant.journal import Accepted
from assistant.loop.recovery import MAYBE_HEARD, begun_call, whole_text, words_of
from llm import LLMResponse, ToolCall
from tools import Executed


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a step. When it was `begun` but has no `executed`, it is unknown whether it happened.

    When it has neither, it was refused, or its arguments did not fit.
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

    @property
    def is_beginning(self) -> bool:
        """Whether this step is the first sentence of the next answer, spoken before the rest had arrived."""
        return self.response is not None and self.response.is_beginning


@dataclass(frozen=True, slots=True)
class RecordedRun:
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


@dataclass(frozen=True, slots=True)
class ParkedEvent:
    """An event that is no longer tried, and why."""

    assistant: str
    event_id: str
    accepted: Accepted | None
    crashes: int
    reason: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class UnknownCall:
    """A call that was begun and has no result, in a run that is over. `at` is seconds since 1970."""

    assistant: str
    run_id: str
    step: int
    index: int
    call: ToolCall | None
    at: float
    name: str = ""


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
    return replace(run, steps=tuple(steps))


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
        whole = replace(whole, arguments={"text": sentence}, problem="")
        blocks = tuple(whole if block is meant[index] else block for block in response.message.blocks)
        response = replace(response, message=replace(response.message, blocks=blocks))
    told = (replace(done, call=whole, begun=True) if done.index == index else done for done in step.calls)
    return replace(step, response=response, calls=tuple(told))


def _may_be_heard(said: RecordedCall) -> bool:
    return said.begun if said.executed is None else said.executed.status in MAYBE_HEARD
