"""What each model proved able to do, learned from its answers and shared by every client of the process."""

from __future__ import annotations

from dataclasses import dataclass, field

from llm.modes.call_record import CallRecord, CallStyle, outcome_of, record_answer
from llm.modes.mode import FieldOverride, RequestMode
from llm.request import ChatRequest
from llm.response import FinishReason, LLMResponse


@dataclass(slots=True)
class ModelRecord:
    """What is known of one model at one origin. None means not tried."""

    native_tools: bool | None = None
    schema: bool | None = None
    thinking: bool | None = None
    #: The context length in tokens, as an error named it.
    context_tokens: int | None = None
    #: The fields that a request to this model must leave out, rename or set to another value.
    overrides: tuple[FieldOverride, ...] = ()
    #: Whether its text was always the whole answer when tools were offered. False once it came with calls or reasoning.
    text_alone: bool | None = None
    #: How its recent calls came out, and so how to offer it tools.
    calls: CallRecord = field(default_factory=CallRecord)

    @property
    def as_text(self) -> bool:
        """Whether tools are described and called as text: the model refuses them, or its native calls fail."""
        return self.native_tools is False or self.calls.style is CallStyle.FALLBACK


class Capabilities:
    """Records by (API URL, model)."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ModelRecord] = {}

    def of(self, api_url: str, model: str) -> ModelRecord:
        """Return the record of one model, empty at first."""
        key = (api_url, model)
        if key not in self._records:
            self._records[key] = ModelRecord()
        return self._records[key]


def learn_from_answer(response: LLMResponse, request: ChatRequest, mode: RequestMode, record: ModelRecord) -> None:
    """Record how the calls of an answer came out, and whether its text stood alone, for later answers.

    An answer that was cut off says nothing about what the model can do. Neither does one to a call that gives way to
    others.
    """
    if not request.tools or request.caller.gives_way or response.finish_reason is FinishReason.LENGTH:
        return
    calls = response.tool_calls
    outcome = outcome_of(
        calls=len(calls),
        problems=sum(bool(call.problem) for call in calls),
        repaired=response.repaired or (mode.native and response.from_fallback),
        required=request.tool_choice not in {None, "auto", "none"},
    )
    if response.content.strip() or response.from_fallback:
        is_answer = not calls and not response.reasoning
        record.text_alone = record.text_alone is not False and is_answer
    style = CallStyle.NATIVE if mode.native else CallStyle.FALLBACK
    record.calls = record_answer(record.calls, outcome, style=style)
