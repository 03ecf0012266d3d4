"""Reads answers of the Chat Completions dialect: chunks and whole documents into events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from llm.errors import LLMError, ProtocolError, StreamBroken
from llm.messages import RawTurn
from llm.providers.chat_usage import read_usage
from llm.providers.reasoning_details import REASONING_NAMES, ReasoningKept
from llm.providers.until_error import UntilError
from llm.response import FinishReason
from llm.stream import CallDelta, FinishSeen, ModelSeen, RawSeen, ReasoningDelta, StreamEvent, TextDelta, UsageSeen
from llm.wire.error_bodies import excerpt, read_error, typed_error
from llm.wire.lines import ServerSentEvent, SSEDecoder

_FINISH = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.FILTERED,
}


class ChatStream(UntilError):
    """A reader of one streamed answer: SSE chunks, complete with `[DONE]` or a finish reason."""

    def __init__(self, provider: str, model: str) -> None:
        super().__init__()
        self._provider = provider
        self._model = model
        self._events = SSEDecoder()
        self._finished = False
        self._has_choice = False
        self._refused = False
        self._has_deltas = False
        self._kept = ReasoningKept()
        self._named = ""

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events of the chunks that `data` completes, up to an error. An error completes the stream too."""
        return self.events(self._events.feed(data), self._take_event)

    def end(self) -> list[StreamEvent]:
        """Return the events of a last chunk without an end.

        Raises the error the stream carried; StreamBroken when there was neither a finish reason nor `[DONE]`;
        ProtocolError when the stream ended without an answer.
        """
        events = self.last_events(self._events.feed(b"", final=True), self._take_event)
        if not self._finished:
            raise StreamBroken("the answer ended before it was done", self._provider, self._model)
        if not self._has_choice:
            raise ProtocolError("a stream without an answer", self._provider, self._model)
        return events + self._raw()

    def whole(self, body: bytes) -> list[StreamEvent]:
        """Return the events of an answer in one document. It needs no finish reason to be complete."""
        events: list[StreamEvent] = []
        self._take(body.decode("utf-8", "replace"), events, whole=True)
        if not self._finished:
            raise ProtocolError(f"an answer without a choice: {excerpt(body)}", self._provider, self._model)
        return events + self._raw()

    def _take(self, data: str, events: list[StreamEvent], *, whole: bool = False) -> None:
        """Add the events of one chunk or document. Raises the error it carries, or ProtocolError if it is neither."""
        chunk = _loads(data)
        if isinstance(chunk, dict) and "choices" not in chunk:
            chunk = _unwrap(chunk)
        if not isinstance(chunk, dict):
            raise ProtocolError(f"not an answer: {excerpt(data.encode())}", self._provider, self._model)
        if chunk.get("error") or chunk.get("object") == "error":
            raise self._error(chunk)
        if isinstance(model := chunk.get("model"), str) and model and model != self._named:
            self._named = model
            events.append(ModelSeen(model))
        if (chunk.get("usage") is not None or "x_groq" in chunk) and (usage := read_usage(chunk)) is not None:
            events.append(UsageSeen(usage))
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._choice(choice, events, whole=whole)

    def _take_event(self, sent: ServerSentEvent, events: list[StreamEvent]) -> None:
        if sent.data.strip() == "[DONE]":
            self.ended = self._finished = True
        elif sent.field == "error" or sent.event == "error":
            raise self._error(_loads(sent.data))
        else:
            self._take(sent.data, events)

    def _choice(self, choice: Mapping[str, Any], events: list[StreamEvent], *, whole: bool) -> None:
        reason = choice.get("finish_reason")
        if reason == "error" or choice.get("error"):
            raise self._error(choice)
        piece = choice.get("message" if whole else "delta")
        if not whole:
            if isinstance(piece, dict):
                self._has_deltas = True
            elif not self._has_deltas:  # a whole message in a stream repeats its deltas
                piece = choice.get("message")
        if isinstance(piece, dict):
            self._has_choice = self._has_choice or bool(piece)
            self._piece(piece, events)
        if isinstance(reason, str) and reason:
            self._finished = self._has_choice = True
            finish = FinishReason.FILTERED if self._refused else _FINISH.get(reason, FinishReason.STOP)
            events.append(FinishSeen(finish))
        elif whole and isinstance(piece, dict):
            self._finished = True

    def _piece(self, piece: Mapping[str, Any], events: list[StreamEvent]) -> None:
        if not REASONING_NAMES.isdisjoint(piece) and (thought := self._kept.take(piece)):
            events.append(ReasoningDelta(thought))
        content = piece.get("content")
        if isinstance(content, str):
            if content:
                events.append(TextDelta(content))
        elif isinstance(content, list):
            events.extend(_part_event(part) for part in content if isinstance(part, dict))
        if isinstance(refusal := piece.get("refusal"), str) and refusal:
            self._refused = True
            events.append(TextDelta(refusal))
        if isinstance(calls := piece.get("tool_calls"), list):
            events.extend(_call(call) for call in calls if isinstance(call, dict))
        if isinstance(old := piece.get("function_call"), dict):
            events.append(_call({"index": 0, "function": old}, is_legacy=True))

    def _raw(self) -> list[StreamEvent]:
        """Return the turn's own reasoning, to be sent back as it came."""
        fields = self._kept.fields()
        return [RawSeen(RawTurn(self._provider, (fields,)))] if fields else []

    def _error(self, data: object) -> LLMError:
        body = read_error(data)
        return typed_error(body.implied_status, body, provider=self._provider, model=self._model)


def _unwrap(chunk: dict[str, Any]) -> dict[str, Any]:
    """Return the completion that some gateways nest under `provider`."""
    inner = chunk.get("provider")
    return inner if isinstance(inner, dict) and "choices" in inner else chunk


def _loads(data: str) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return data


def _part_event(part: Mapping[str, Any]) -> StreamEvent:
    """Return the event of a content part. Mistral sends `thinking` and `text` parts in one list."""
    if part.get("type") == "thinking":
        inner = part.get("thinking")
        pieces = inner if isinstance(inner, list) else [{"text": inner}]
        return ReasoningDelta("".join(str(piece.get("text") or "") for piece in pieces if isinstance(piece, dict)))
    return TextDelta(str(part.get("text") or ""))


def _call(call: Mapping[str, Any], *, is_legacy: bool = False) -> CallDelta:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    index, call_id, name, arguments = (
        call.get("index"),
        call.get("id"),
        function.get("name"),
        function.get("arguments"),
    )
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    return CallDelta(
        index if isinstance(index, int) else None,
        call_id if isinstance(call_id, str) else None,
        name if isinstance(name, str) else None,
        arguments if isinstance(arguments, str | dict) else None,
        is_legacy,
    )
