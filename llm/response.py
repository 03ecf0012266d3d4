"""What a model call returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    from llm.messages import JSON, Message, ToolCall


class FinishReason(StrEnum):
    """Why the model stopped, in one vocabulary for all providers."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    FILTERED = "filtered"
    PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them. None means the provider did not say, which is not 0.

    `input_tokens` is the whole prompt; `cached_tokens` were read from a cache and `cache_write_tokens` written to one,
    and both are part of it. `reasoning_tokens` are part of `output_tokens`. `server_tools` counts the calls of the
    provider's own tools by name. `cost` is what the provider charged, else the cost by configured prices.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    server_tools: Mapping[str, int] | None = None
    cost: float | None = None

    @property
    def total_tokens(self) -> int | None:
        """Input and output together, None when both are unknown."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    def __add__(self, other: Usage) -> Usage:
        """Add up the usage of one answer that took several requests. A number that only one of them has is kept."""
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.cached_tokens, other.cached_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
            _sum_counts(self.server_tools, other.server_tools),
            _sum(self.cost, other.cost),
        )


_Number = TypeVar("_Number", int, float)


def _sum(one: _Number | None, other: _Number | None) -> _Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _sum_counts(one: Mapping[str, int] | None, other: Mapping[str, int] | None) -> Mapping[str, int] | None:
    if one is None or other is None:
        return other if one is None else one
    return Counter(one) + Counter(other)


@dataclass(frozen=True, slots=True)
class RateLimitInfo:
    """What the provider's headers said of its limits. Times are clock seconds; None where it said nothing."""

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    reset_requests_at: float | None = None
    reset_tokens_at: float | None = None
    limit_requests: int | None = None
    limit_tokens: int | None = None


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
    #: True when one of those calls was JSON only after a repair.
    repaired: bool = False
    #: True for the first sentence of an answer, acted upon before the rest came. The whole answer is another response.
    is_beginning: bool = False
    #: The value of the answer when a schema was requested and the text matches it, else None. An instance of the
    #: pydantic model when the schema was given as one.
    structured: JSON | BaseModel = None

    @property
    def content(self) -> str:
        """The text of the answer, without reasoning."""
        return self.message.text

    @property
    def reasoning(self) -> str:
        """The model's reasoning, empty when it showed none."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every call of the answer, in order."""
        return self.message.tool_calls

    @property
    def has_tool_calls(self) -> bool:
        """Whether there is at least one call."""
        return bool(self.message.tool_calls)
