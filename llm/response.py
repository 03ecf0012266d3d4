"""What a model call returns: the answer with its tokens and their cost, and the answer's pieces while it arrives.

The pieces are in one neutral form for every provider.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.llm.messages import (
    JSON,
    Citation,
    JSONObject,
    Message,
    RawTurn,
    ServerToolCall,
    ServerToolResult,
    ToolCall,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

#: Prices are per so many tokens.
_PRICED_TOKENS = 1_000_000


class FinishReason(StrEnum):
    """Why the model stopped, in one vocabulary for all providers."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    FILTERED = "filtered"
    PAUSED = "paused"


class Usage(Struct, frozen=True):
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


class Prices(Struct, frozen=True):
    """Prices per million tokens, all in one currency, for a provider that does not report what a call costs.

    Cached input costs the same as other input unless set.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of the usage, or None when its tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.input_tokens - cached - written)
        amounts = (
            (plain, self.input),
            (cached, self.input if self.cached_input is None else self.cached_input),
            (written, self.input if self.cache_write is None else self.cache_write),
            (usage.output_tokens, self.output),
        )
        return sum(tokens * price for tokens, price in amounts) / _PRICED_TOKENS

    def fill(self, usage: Usage) -> Usage:
        """Return the usage with its cost, unless the provider reported one."""
        return usage if usage.cost is not None else replace(usage, cost=self.cost(usage))


class RateLimitInfo(Struct, frozen=True):
    """What the provider's headers said of its limits. Times are clock seconds; None where it said nothing."""

    remaining_requests: int | None = None
    remaining_tokens: int | None = None
    reset_requests_at: float | None = None
    reset_tokens_at: float | None = None
    limit_requests: int | None = None
    limit_tokens: int | None = None


class LLMResponse(Struct, frozen=True):
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
    #: The level of trust below which its prompt held no text; 0 when the prompt held everything (docs/policy.md).
    shown_from: int = 0
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


class TextDelta(Struct, frozen=True):
    """A piece of the answer's text."""

    text: str
    #: Whether it is said on the way to the answer. With a text that is the answer itself, it is no part of that.
    is_commentary: bool = False


class ReasoningDelta(Struct, frozen=True):
    """A piece of the model's reasoning. A `signature` seals it; reasoning that follows is a new block."""

    text: str
    signature: str = ""


class CallDelta(Struct, frozen=True):
    """A piece of a tool call. `index`, `id` and `name` are what this piece carried, None for what it did not."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JSONObject | None = None
    #: Whether it came in the old `function_call`. Some servers send that beside the same call in `tool_calls`.
    is_legacy: bool = False


class ServerBlockSeen(Struct, frozen=True):
    """A whole step of the provider's own tools: a call, its result, or a source of the text before it."""

    block: ServerToolCall | ServerToolResult | Citation


class RawSeen(Struct, frozen=True):
    """The turn as the provider sent it, for replay. The last one wins."""

    raw: RawTurn


class UsageSeen(Struct, frozen=True):
    """The provider's count so far. The last one wins."""

    usage: Usage


class FinishSeen(Struct, frozen=True):
    """The provider's reason for stopping."""

    reason: FinishReason


class ModelSeen(Struct, frozen=True):
    """The name by which the provider calls the answering model."""

    model: str


StreamEvent = TextDelta | ReasoningDelta | CallDelta | ServerBlockSeen | RawSeen | UsageSeen | FinishSeen | ModelSeen


def _sum(one: _Number | None, other: _Number | None) -> _Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _sum_counts(one: Mapping[str, int] | None, other: Mapping[str, int] | None) -> Mapping[str, int] | None:
    if one is None or other is None:
        return other if one is None else one
    return Counter(one) + Counter(other)
