"""A model's answer while it arrives: one neutral form for every provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.defer import Deferred

from llm.messages import Citation, JSONObject, RawTurn, ServerToolCall, ServerToolResult
from llm.response import FinishReason, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks. A `signature` seals the thought; what follows is another one."""

    text: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. `index`, `id` and `name` are what this piece carried; None when it did not."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JSONObject | None = None


@dataclass(frozen=True, slots=True)
class ServerBlockSeen:
    """Something the provider's own tools did, whole: a call of theirs, its result, or a source of the text before."""

    block: ServerToolCall | ServerToolResult | Citation


@dataclass(frozen=True, slots=True)
class RawSeen:
    """The turn as the provider sent it, for replay; the last one wins."""

    raw: RawTurn


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """The provider's count so far; the last one wins (edge case 54)."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class FinishSeen:
    """The provider's reason for stopping."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class ModelSeen:
    """The name the provider gives the model that answers."""

    model: str


StreamEvent = TextDelta | ReasoningDelta | CallDelta | ServerBlockSeen | RawSeen | UsageSeen | FinishSeen | ModelSeen

#: Told of every event of a stream, in order, as it arrives. A Deferred as its answer holds the stream back until it
#: fires: nothing more is read from the connection meanwhile.
Listener = Callable[[StreamEvent], Deferred[None] | None]
