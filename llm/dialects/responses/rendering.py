"""Renders an answer as OpenAI's Responses API: items in order, one open at a time, and one event that ends it.

A call stays open until its arguments are whole JSON, for its pieces may take turns with those of another. Items that
begin meanwhile wait.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count

import orjson

from mud_assistant.llm.dialects.chat.errors import error_of
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.dialects.responses.offered import custom_names
from mud_assistant.llm.dialects.responses.output import (
    CallItem,
    CustomCallItem,
    Event,
    MessageItem,
    ReasoningItem,
    RenderedItem,
)
from mud_assistant.llm.dialects.responses.resource import ResponseResource
from mud_assistant.llm.messages import (
    JSON,
    Citation,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from mud_assistant.llm.response import FinishReason, LLMResponse

#: The events before the first item.
_OPENING = ("created", "in_progress")
#: The number of an event, and the most bytes in which one is looked for.
_NUMBER, _LONGEST_NUMBER = re.compile(rb'"sequence_number"\s{0,4}:\s{0,4}(\d{1,9})[\s,}]'), 40
#: Why an answer is cut off, in this dialect's words.
_INCOMPLETE = {FinishReason.LENGTH: "max_output_tokens", FinishReason.FILTERED: "content_filter"}


class ResponsesRenderer(AnswerRenderer):
    """The bytes of one answer."""

    def __init__(self, asked: AskedCall, head: AnswerHead) -> None:
        numbers = count()
        super().__init__([tool.name for tool in asked.tools], lambda: f"call_{head.id}_{next(numbers)}")
        self._resource = ResponseResource(asked, head)
        self._head = head
        self._namespaces = asked.namespaces
        self._custom = custom_names(asked.body)
        #: The number of the next event. Those of `begin` are the first, although it may be called later: it is sent
        #: only when there is something to send after it.
        self._number = len(_OPENING)
        self._passed = b""

    def _restart(self) -> None:
        super()._restart()
        self._items: list[RenderedItem] = []
        #: How many items are closed; the next one is open, those after it wait.
        self._closed = 0
        self._call_items: list[CallItem] = []
        self._blanks = ""

    def begin(self) -> bytes:
        """Return the two events before the first item."""
        value: JSON = self._resource.value("in_progress")  # type: ignore[assignment]  # its tools are encoded already
        events: list[Event] = [{"type": f"response.{name}", "response": value} for name in _OPENING]
        return b"".join([_encoded(event, number) for number, event in enumerate(events)])

    def ping(self) -> bytes:
        """Return a comment: this dialect has no event for it."""
        return b": waiting\n\n"

    def passed(self, piece: bytes) -> None:
        """Count the events that were handed on, by the numbers they have. A number may be cut in two."""
        said = self._passed + piece
        for found in _NUMBER.finditer(said):
            self._number = int(found[1]) + 1
        self._passed = said[-_LONGEST_NUMBER:]

    def fail(self, failure: Failure) -> bytes:
        """Return the one event that ends a stream that failed. An item that is open stays so: it must not be run."""
        said = error_of(failure)["error"]
        code = said.get("code") if isinstance(said, Mapping) else None
        error: JSON = {"code": code or "server_error", "message": failure.message}
        output = [item.value() for item in self._items[: self._closed]]
        return self._terminal("failed", self._resource.value("failed", output, self.usage, error=error))

    def whole(self, response: LLMResponse) -> bytes:
        """Return the response object."""
        self._restart()
        for block in response.message.blocks:
            match block:
                case Text(text):
                    self._text(text)
                case Reasoning(text, signature):
                    self._reasoning(text, signature)
                case ToolCall():
                    self._finished_call(block.id, block.name, dict(block.arguments))
                case Citation() | ServerToolCall() | ServerToolResult():
                    self._block(block)
                case ToolResult():
                    pass
        self._close_all(response)
        return orjson.dumps(self._result(response))

    def _text(self, text: str) -> bytes:
        last = self._items[-1] if self._items else None
        if isinstance(last, MessageItem):
            return self._grow(last, text)
        self._blanks += text
        if not text.strip():
            return b""
        text, self._blanks = self._blanks, ""
        return self._add(MessageItem(self._head.id, len(self._items)), text)

    def _reasoning(self, text: str, signature: str) -> bytes:
        last = self._items[-1] if self._items else None
        if isinstance(last, ReasoningItem) and not last.is_sealed:
            last.is_sealed = bool(signature)
            return self._grow(last, text)
        if not text:
            return b""
        item = ReasoningItem(self._head.id, len(self._items))
        item.is_sealed = bool(signature)
        return self._add(item, text)

    def _call(self, number: int, call_id: str, name: str) -> bytes:
        namespace, known = self._namespaces.get(name, ("", name))
        kind = CustomCallItem if name in self._custom and not namespace else CallItem
        item = kind(self._head.id, len(self._items), call_id, known, namespace)
        self._call_items.append(item)
        return self._add(item)

    def _arguments(self, number: int, piece: str) -> bytes:
        rendered = self._grow(self._call_items[number], piece)
        return rendered + self._advance() if "}" in piece else rendered

    def _block(self, block: ServerToolCall | ServerToolResult | Citation) -> bytes:
        """Render a source at its text. Other steps of a provider's own tools are no items of this dialect."""
        last = self._items[-1] if self._items else None
        if not isinstance(block, Citation) or not isinstance(last, MessageItem):
            return b""
        return self._shown(last, last.cite(block))

    def _end(self, response: LLMResponse) -> bytes:
        rest = self._close_all(response)
        kind = "incomplete" if response.finish_reason in _INCOMPLETE else "completed"
        return rest + self._terminal(kind, self._result(response))

    def _result(self, response: LLMResponse) -> dict[str, object]:
        incomplete = _INCOMPLETE.get(response.finish_reason, "")
        return self._resource.value(
            "incomplete" if incomplete else "completed",
            [item.value() for item in self._items],
            response.usage,
            completed_at=None if incomplete else self._head.created,
            incomplete=incomplete,
        )

    # Items: one is open, those after it wait.

    def _add(self, item: RenderedItem, text: str = "") -> bytes:
        self._items.append(item)
        if text:
            item.pieces.append(text)
        if len(self._items) - 1 == self._closed:
            return self._open(item)
        return self._advance()

    def _grow(self, item: RenderedItem, piece: str) -> bytes:
        """Add to an item, and render that if it is open. What comes after the end of a call is not of it."""
        if not piece or item.status != "in_progress":
            return b""
        item.pieces.append(piece)
        return self._shown(item, item.growing(piece))

    def _shown(self, item: RenderedItem, events: list[Event]) -> bytes:
        """Encode the events if the item is open: one that waits is told later as a whole."""
        return self._encoded(events) if self._items[self._closed] is item else b""

    def _advance(self) -> bytes:
        """Close items that are whole and open the next ones, as long as there are any."""
        rendered = b""
        while self._closed + 1 < len(self._items) and self._items[self._closed].is_whole:
            rendered += self._close("completed") + self._open(self._items[self._closed])
        return rendered

    def _open(self, item: RenderedItem) -> bytes:
        said, item.pieces = item.pieces, []
        opened = item.opening()
        item.pieces = said
        return self._encoded(opened + (item.growing(item.joined) if said else []))

    def _close(self, status: str) -> bytes:
        item = self._items[self._closed]
        item.status = status
        self._closed += 1
        return self._encoded(item.closing())

    def _close_all(self, response: LLMResponse) -> bytes:
        """Close the open item, and tell those that wait. The last one is incomplete when the answer is cut off."""
        rendered = b""
        while self._closed < len(self._items):
            is_cut = response.finish_reason in _INCOMPLETE and self._closed + 1 == len(self._items)
            rendered += self._close("incomplete" if is_cut else "completed")
            if self._closed < len(self._items):
                rendered += self._open(self._items[self._closed])
        return rendered

    def _terminal(self, kind: str, value: dict[str, object]) -> bytes:
        return self._encoded([{"type": f"response.{kind}", "response": value}])  # type: ignore[dict-item]  # as above

    def _encoded(self, events: Sequence[Event]) -> bytes:
        encoded = b"".join([_encoded(event, number) for number, event in enumerate(events, self._number)])
        self._number += len(events)
        return encoded


def _encoded(event: Event, number: int) -> bytes:
    """Return one event of a stream. `number` counts them from 0."""
    numbered = {"type": event["type"], "sequence_number": number, **event}
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), orjson.dumps(numbered))
