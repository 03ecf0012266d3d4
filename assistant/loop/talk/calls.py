"""Makes the answer of a run out of calls: words are said the way the line came."""

from __future__ import annotations

from collections.abc import Sequence

from mud_assistant.assistant.loop.run import Run, RunContext
from mud_assistant.assistant.loop.speech.manner import call_for_text
from mud_assistant.assistant.loop.talk.turns import by_rule
from mud_assistant.llm import FinishReason, LLMResponse, ToolCall, Usage
from mud_assistant.llm import assistant as assistant_message


def speech_call(context: RunContext, run: Run, said: str) -> ToolCall | None:
    """Return the call that says it the way the line came: aloud, whispered, paged, or on its channel.

    Without words, return the call that answers a deed by rule.
    """
    event = run.trigger.event if run.trigger else None
    call_id = f"{run.id}.{run.written + 1}.words"
    if event is not None and not said:
        tool, words = by_rule(event, context.rules.grant)
        return ToolCall(call_id, tool, {"text": words}) if tool in context.rules.grant else None
    call = call_for_text(said, "speak", event, addressed=True, call_id=call_id, grant=context.rules.grant)
    return call if call is not None and call.name in context.rules.grant else None


def response_of(calls: Sequence[ToolCall], usage: Usage | None = None, by: LLMResponse | None = None) -> LLMResponse:
    """Return the calls as an answer. `by` is the model's own, where a model was asked."""
    provider, model = (by.provider, by.model) if by else ("", "")
    return LLMResponse(assistant_message(*calls), FinishReason.TOOL_CALLS, usage or Usage(), provider, model)
