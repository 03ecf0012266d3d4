"""A model's answer while it arrives: one neutral form for every provider."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from twisted.internet.defer import Deferred

from llm.messages import Citation, JSONObject, RawTurn, ServerToolCall, ServerToolResult
from llm.response import FinishReason, Usage


@dataclass(slots=True)
class TextDelta:
    """A piece of the answer's text.

    Nobody changes it, nor the other two kinds of piece; frozen they would cost thrice as much to make, and an answer
    has hundreds.
    """

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """A piece of what the model thinks. A `signature` seals the thought; what follows is another one."""

    text: str
    signature: str = ""


@dataclass(slots=True)
class CallDelta:
    """A piece of a tool call. `index`, `id` and `name` are what this piece carried; None when it did not."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | JSONObject | None = None
    #: Whether it came in the old `function_call`, which some servers send beside the same call in `tool_calls`.
    is_legacy: bool = False


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


class ActingListener(ABC):
    """A listener that may do something with an answer before it is whole, and says whether it did.

    An answer that was acted upon is not asked for again, of no model. Until then a broken stream is tried again as if
    nobody had listened.
    """

    @property
    @abstractmethod
    def acted(self) -> bool:
        """Whether anything was done that cannot be taken back."""

    def begins(self, *, text_is_answer: bool) -> None:  # noqa: B027  (most need not know)
        """An attempt begins: what was told of the one before is void.

        `text_is_answer` when tools are offered natively, and whenever this model wrote text it was the whole answer.
        """

    @abstractmethod
    def __call__(self, event: StreamEvent) -> Deferred[None] | None:
        """As `Listener`."""


class _Plain(ActingListener):
    """A listener that says nothing of itself: hearing anything counts as acting."""

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
    """The listener as one that says whether it acted; the same when it is one."""
    return listener if listener is None or isinstance(listener, ActingListener) else _Plain(listener)
