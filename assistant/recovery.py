"""What a dead process left of a run: every answer that was paid for is used, and nothing is said or done twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twisted.logger import Logger

from assistant.journal import InterruptedStep
from llm import FinishReason, LLMResponse, ToolCall, Usage
from llm import assistant as assistant_message
from tools import Begun, Executed, Past, Status

_log = Logger()


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to act on: its calls in order, and what an earlier process did of them already."""

    response: LLMResponse
    calls: tuple[ToolCall, ...]
    past: Past


def left_of(step: InterruptedStep) -> Answer:
    """The recorded step as an answer to act on. What damage took of it is missing, and is not asked for again."""
    known = [(call.call, call) for call in step.calls if call.call is not None]
    past = {at: done.executed or Begun() for at, (_, done) in enumerate(known) if done.intended or done.executed}
    if step.response is None:
        message = assistant_message(*(call for call, _ in known))
        return Answer(LLMResponse(message, FinishReason.STOP, Usage(), "", ""), message.tool_calls, past)
    # Calls that plain text stood for are only in the intents.
    return Answer(step.response, step.response.tool_calls or tuple(call for call, _ in known), past)


def warn_of_unknown(name: str, run_id: str, executed: Sequence[Executed]) -> None:
    """Tell the operator of each call of which nobody knows whether it happened."""
    for done in executed:
        if done.status is Status.UNKNOWN:
            _log.warn(
                "{name}: {call} of {run} was under way when the process died: its outcome is unknown",
                log_event="unknown",
                name=name,
                call=done.call.name,
                run=run_id,
            )
