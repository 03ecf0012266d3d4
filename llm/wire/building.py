"""What takes the pieces of an answer while they are read: an answer itself, or the events that a listener hears."""

from __future__ import annotations

from typing import Protocol

from mud_assistant.llm.messages import Citation, JSONObject, RawTurn, ServerToolCall, ServerToolResult
from mud_assistant.llm.response import (
    CallDelta,
    FinishReason,
    FinishSeen,
    ModelSeen,
    RawSeen,
    ReasoningDelta,
    ServerBlockSeen,
    StreamEvent,
    TextDelta,
    Usage,
    UsageSeen,
)


class AnswerBuilder(Protocol):
    """What a parser adds the pieces of an answer to. Each method stands for one kind of StreamEvent."""

    def add_text(self, text: str, *, is_commentary: bool = False) -> None:
        """Add a piece of the text, or of what is said on the way to it."""
        ...

    def add_reasoning(self, text: str, signature: str = "") -> None:
        """Add a piece of the reasoning. A `signature` seals it."""
        ...

    def add_call(
        self,
        index: int | None,
        call_id: str | None,
        name: str | None,
        arguments: str | JSONObject | None,
        *,
        is_legacy: bool = False,
    ) -> None:
        """Add a piece of a tool call, with None for what the piece did not carry."""
        ...

    def add_block(self, block: ServerToolCall | ServerToolResult | Citation) -> None:
        """Add a whole step of the provider's own tools."""
        ...

    def set_raw(self, raw: RawTurn) -> None:
        """Set the turn as the provider sent it. The last one wins."""
        ...

    def set_usage(self, usage: Usage) -> None:
        """Set the provider's count so far. The last one wins."""
        ...

    def set_finish(self, reason: FinishReason) -> None:
        """Set the reason for stopping. The first one wins."""
        ...

    def set_model(self, model: str) -> None:
        """Set the name of the model that answers. The first one wins."""
        ...


class EventRecorder:
    """A builder that keeps each piece as an event, for a listener."""

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []

    def take(self) -> list[StreamEvent]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def add_text(self, text: str, *, is_commentary: bool = False) -> None:
        """Keep a piece of the text, or of what is said on the way to it."""
        self._events.append(TextDelta(text, is_commentary))

    def add_reasoning(self, text: str, signature: str = "") -> None:
        """Keep a piece of the reasoning."""
        self._events.append(ReasoningDelta(text, signature))

    def add_call(
        self,
        index: int | None,
        call_id: str | None,
        name: str | None,
        arguments: str | JSONObject | None,
        *,
        is_legacy: bool = False,
    ) -> None:
        """Keep a piece of a tool call."""
        self._events.append(CallDelta(index, call_id, name, arguments, is_legacy))

    def add_block(self, block: ServerToolCall | ServerToolResult | Citation) -> None:
        """Keep a step of the provider's own tools."""
        self._events.append(ServerBlockSeen(block))

    def set_raw(self, raw: RawTurn) -> None:
        """Keep the provider's own form of the turn."""
        self._events.append(RawSeen(raw))

    def set_usage(self, usage: Usage) -> None:
        """Keep the count so far."""
        self._events.append(UsageSeen(usage))

    def set_finish(self, reason: FinishReason) -> None:
        """Keep the reason for stopping."""
        self._events.append(FinishSeen(reason))

    def set_model(self, model: str) -> None:
        """Keep the name of the model."""
        self._events.append(ModelSeen(model))


class AnswerParser(Protocol):
    """A parser of the bytes of one streamed body, which adds to an answer what it reads."""

    def feed(self, data: bytes) -> bool:
        """Read what these bytes complete, up to an error. Return whether any of the answer was in it."""
        ...

    def end(self) -> None:
        """Read what is left. Raises the LLMError that the stream carried, or StreamBroken when it had no end mark."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the stream's own end mark, or an error, was seen. Nothing after it counts."""
        ...
