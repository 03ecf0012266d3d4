"""Reads answers of the Chat Completions dialect: chunks and whole documents into events.

The usage is read whatever its server adds to it. A model's reasoning is kept as it came so that it can be sent back.
The same thing has four names: `reasoning_content` (DeepSeek, llama.cpp), `reasoning` (Ollama, vLLM), `thinking`, and
OpenRouter's `reasoning_details`, a list of typed pieces that may be signed or encrypted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson

from llm.errors import LLMError, ProtocolError, StreamBroken
from llm.messages import JSON, JSONObject, RawTurn
from llm.response import (
    CallDelta,
    FinishReason,
    FinishSeen,
    ModelSeen,
    RawSeen,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    Usage,
    UsageSeen,
)
from llm.wire.error_bodies import excerpt, read_error, typed_error
from llm.wire.lines import ServerSentEvent, SSEDecoder, UntilError

_PLAIN = ("reasoning_content", "reasoning", "thinking")
#: Members of a detail that arrive in pieces. Any other arrives once.
_JOINED = ("text", "summary", "data")
#: The fields of a piece that hold reasoning.
REASONING_NAMES = frozenset({*_PLAIN, "reasoning_details"})
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


class ReasoningKept:
    """The reasoning of one answer, collected piece by piece."""

    def __init__(self) -> None:
        self._content: list[str] | None = None
        self._details: list[dict[str, Any]] = []

    def take(self, piece: Mapping[str, Any]) -> str:
        """Return the reasoning in one delta or message, once, however many of the names it has."""
        plain = next((key for key in _PLAIN if isinstance(piece.get(key), str) and piece[key]), "")
        if isinstance(content := piece.get("reasoning_content"), str):
            self._content = self._content or []
            self._content.append(content)
        details = piece.get("reasoning_details")
        pieces = [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
        for detail in pieces:
            self._add(detail)
        if plain:
            return str(piece[plain])
        return "".join(str(detail.get("text") or detail.get("summary") or "") for detail in pieces)

    def fields(self) -> dict[str, JSON]:
        """Return the fields to send back to the server that wrote them. Empty when there are none.

        DeepSeek wants its `reasoning_content` back even when it is empty.
        """
        fields: dict[str, JSON] = {}
        if self._content is not None:
            fields["reasoning_content"] = "".join(self._content)
        if self._details:
            fields["reasoning_details"] = list(self._details)
        return fields

    def _add(self, detail: JSONObject) -> None:
        """Join a piece to the detail it continues: the last one, if of the same type and index and not yet signed."""
        last = self._details[-1] if self._details else None
        same = last is not None and all(last.get(key) == detail.get(key) for key in ("type", "index"))
        if last is None or not same or last.get("signature") or detail.get("id", last.get("id")) != last.get("id"):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in _JOINED and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value


def read_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """Return the usage of a chunk, or None when it has none. A missing or null value is unknown, not 0."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict) and "x_groq" in chunk:
        groq = chunk["x_groq"]
        usage = groq.get("usage") if isinstance(groq, dict) else None
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens")
    return Usage(
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        _count(usage, "prompt_cache_hit_tokens") if cached is None else cached,
        _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
        _count(details, "cache_write_tokens"),
        _server_tools(usage.get("server_tool_use")),
        _cost(usage.get("cost")),
    )


def _count(source: object, key: str) -> int | None:
    value = source.get(key) if isinstance(source, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _server_tools(counts: object) -> Mapping[str, int] | None:
    """Return the calls of the server's own tools by name: `web_search_requests` counts `web_search`."""
    if not isinstance(counts, dict):
        return None
    return {str(key).removesuffix("_requests"): count for key in counts if (count := _count(counts, key)) is not None}


def _cost(cost: object) -> float | None:
    """Return the cost in US dollars. OpenRouter sends a number, Perplexity a table with its sum in `total_cost`."""
    value: object = cost.get("total_cost") if isinstance(cost, dict) else cost
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value) if value >= 0 else None


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
