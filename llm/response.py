"""What a model call comes back with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.messages import Message, ToolCall


class FinishReason(StrEnum):
    """Why the model stopped, in one vocabulary for all providers (llm-wire 1.7)."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    FILTERED = "filtered"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them. None means the provider did not say, which is not 0 (edge case 56)."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def total_tokens(self) -> int | None:
        """Input and output together, None when both are unknown."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)


@dataclass(frozen=True, slots=True)
class RateLimitInfo:
    """What the provider's headers said of its limits; times are clock seconds, None where it said nothing."""

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    reset_requests_at: float | None = None
    reset_tokens_at: float | None = None


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """One complete answer. `content` and `tool_calls` are views of the message's blocks."""

    message: Message
    finish_reason: FinishReason
    usage: Usage
    provider: str
    model: str
    rate_limit_info: RateLimitInfo | None = None
    #: True when the tool calls were read from text by the JSON fallback.
    from_fallback: bool = False

    @property
    def content(self) -> str:
        """The text of the answer, without reasoning."""
        return self.message.text

    @property
    def reasoning(self) -> str:
        """What the model thought, empty when it showed nothing."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every call of the answer, in order."""
        return self.message.tool_calls

    @property
    def has_tool_calls(self) -> bool:
        """Whether there is at least one call."""
        return bool(self.message.tool_calls)
