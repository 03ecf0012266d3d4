"""A model's answer while it arrives: one neutral form for every provider."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from llm.messages import JSONObject
from llm.response import FinishReason, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. `index`, `id` and `name` are what this piece carried; None when it did not."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JSONObject | None = None


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


StreamEvent = TextDelta | ReasoningDelta | CallDelta | UsageSeen | FinishSeen | ModelSeen

#: Told of every event of a stream, in order, as it arrives.
Listener = Callable[[StreamEvent], None]
