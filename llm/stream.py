"""A model's answer while it arrives, in one neutral form for every provider."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from twisted.internet.defer import Deferred

from llm.messages import Citation, JSONObject, RawTurn, ServerToolCall, ServerToolResult
from llm.response import FinishReason, Usage


@dataclass(slots=True)
class TextDelta:
    """A piece of the answer's text.

    Never change a piece, nor the other two kinds. They are not frozen because an answer has hundreds, and frozen ones
    take three times as long to make.
    """

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning. A `signature` seals it; reasoning that follows is a new block."""

    text: str
    signature: str = ""


@dataclass(slots=True)
class CallDelta:
    """A piece of a tool call. `index`, `id` and `name` are what this piece carried, None for what it did not."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JSONObject | None = None
    #: Whether it came in the old `function_call`. Some servers send that beside the same call in `tool_calls`.
    is_legacy: bool = False


@dataclass(frozen=True, slots=True)
class ServerBlockSeen:
    """A whole step of the provider's own tools: a call, its result, or a source of the text before it."""

    block: ServerToolCall | ServerToolResult | Citation


@dataclass(frozen=True, slots=True)
class RawSeen:
    """The turn as the provider sent it, for replay. The last one wins."""

    raw: RawTurn


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """The provider's count so far. The last one wins."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class FinishSeen:
    """The provider's reason for stopping."""

    reason: FinishReason


@dataclass(frozen=True, slots=True)
class ModelSeen:
    """The name by which the provider calls the answering model."""

    model: str


StreamEvent = TextDelta | ReasoningDelta | CallDelta | ServerBlockSeen | RawSeen | UsageSeen | FinishSeen | ModelSeen


class StreamParser(Protocol):
    """A parser of the bytes of one streamed body into events."""

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events these bytes complete. Raises the LLMError that the stream carries."""
        ...

    def end(self) -> list[StreamEvent]:
        """Return the last events. Raises StreamBroken when the stream had no end mark."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the stream's own end mark was seen. Nothing after it counts."""
        ...


#: Called with every event of a stream, in order, as it arrives. If it returns a Deferred, the stream is held back until
#: that fires: nothing more is read from the connection meanwhile.
Listener = Callable[[StreamEvent], Deferred[None] | None]


class ActingListener(ABC):
    """A listener that may act on an answer before it is whole, and says whether it did.

    An answer that was acted upon is not requested again, from any model. Until then a broken stream is retried as if
    there were no listener.
    """

    @property
    @abstractmethod
    def acted(self) -> bool:
        """Whether anything was done that cannot be taken back."""

    def begins(self, *, text_is_answer: bool) -> None:  # noqa: B027  (most need not know)
        """Note that an attempt begins: forget what was heard of the one before.

        `text_is_answer` is True when tools are offered natively and this model's text has always been the whole answer.
        """

    @abstractmethod
    def __call__(self, event: StreamEvent) -> Deferred[None] | None:
        """Take one event, as a `Listener` does."""


class _Plain(ActingListener):
    """A listener made of a plain function. Hearing anything counts as acting."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._heard = False

    @property
    def acted(self) -> bool:
        return self._heard

    def __call__(self, event: StreamEvent) -> Deferred[None] | None:
        self._heard = True
        return self._listener(event)


def acting(listener: Listener | None) -> ActingListener | None:
    """Return the listener as one that says whether it acted, or the same object when it already does."""
    return listener if listener is None or isinstance(listener, ActingListener) else _Plain(listener)
