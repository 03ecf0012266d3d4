"""Reads one answer of Anthropic's Messages API, or the error that came instead of it or in mid-stream.

Its events are named, its blocks are known by their index, and it is complete with `message_stop`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from llm.errors import LLMError, ProtocolError, StreamBroken, UnpairedServerTool
from llm.loose_json.repair import UnreadableJSON, parse_value
from llm.messages import RawTurn
from llm.providers.anthropic.blocks import ContentBlock
from llm.providers.provider import LLMProvider
from llm.response import FinishReason, FinishSeen, ModelSeen, RawSeen, StreamEvent, Usage, UsageSeen
from llm.wire.error_bodies import ErrorBody, excerpt, read_error, read_error_body, typed_error
from llm.wire.lines import ServerSentEvent, SSEDecoder, UntilError

_STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_BAD_REQUEST = 400
_SPENT = re.compile(r"specified API usage limits|credit balance is too low", re.IGNORECASE)
_TOO_LONG = re.compile(r"exceeds? (the )?context (limit|window)|prompt is too long", re.IGNORECASE)
_LIMIT = re.compile(r"> ?(\d{3,8})")
_UNPAIRED = re.compile(
    r"srvtoolu_.{0,200}without|server_tool_use.{0,200}without|without a corresponding `?\w+_tool_result", re.IGNORECASE
)
_FINISH: Mapping[str, FinishReason] = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.FILTERED,
    "pause_turn": FinishReason.PAUSED,
}
_EVENTS = {
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "",
}


class AnthropicStream(UntilError):
    """A reader of one answer, streamed or whole."""

    def __init__(self, provider: LLMProvider) -> None:
        super().__init__()
        self._provider = provider
        self._events = SSEDecoder()
        self._blocks: list[ContentBlock] = []
        self._open: dict[int, ContentBlock] = {}
        self._usage: dict[str, Any] = {}
        self._has_reason = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events that `data` completes, up to an error. An error completes the stream too."""
        return self.events(self._events.feed(data), self._take_event)

    def end(self) -> list[StreamEvent]:
        """Return the events of a last record without an end.

        Raises the error the stream carried, or StreamBroken when there was no `message_stop`.
        """
        events = self.last_events(self._events.feed(b"", final=True), self._take_event)
        if not self.ended:
            raise StreamBroken("the answer ended before it was done", self._provider.name, self._provider.model)
        return events

    def whole(self, data: object) -> list[StreamEvent]:
        """Return the events of an answer in one document. Raises the error it is, or ProtocolError if it is neither."""
        if not isinstance(data, Mapping):
            raise self._not_an_answer(str(data))
        if data.get("type") == "error" or "error" in data:
            raise error_in_stream(data, self._provider.name, self._provider.model)
        content = data.get("content")
        if not isinstance(content, list):
            raise self._not_an_answer(str(data))
        events = self._start_message(data)
        for index, block in enumerate(content):
            if isinstance(block, Mapping):
                events += [*self._open_block(index, block), *self._close_block(index)]
        return events + self._change_message({"delta": data, "usage": data.get("usage")}) + self._stop_message()

    def _take_event(self, sent: ServerSentEvent, events: list[StreamEvent]) -> None:
        data = _loads(sent.data)
        if not isinstance(data, Mapping):
            if sent.event in _EVENTS:
                raise self._not_an_answer(sent.data)
            return
        if sent.event == "error" or sent.field == "error" or data.get("type") == "error":
            raise error_in_stream(data, self._provider.name, self._provider.model)
        events += self._take(str(data.get("type") or sent.event), data)

    def _take(self, kind: str, data: Mapping[str, Any]) -> list[StreamEvent]:
        """Return the events of one record. `ping` and unknown records have none."""
        index = data.get("index")
        match kind:
            case "message_start":
                return self._start_message(_mapping(data.get("message")))
            case "content_block_start" if isinstance(index, int):
                return self._close_block(index) + self._open_block(index, _mapping(data.get("content_block")))
            case "content_block_delta" if isinstance(index, int) and index in self._open:
                return self._open[index].take(_mapping(data.get("delta")))
            case "content_block_stop" if isinstance(index, int):
                return self._close_block(index)
            case "message_delta":
                return self._change_message(data)
            case "message_stop":
                return self._stop_message()
            case _:
                return []

    def _start_message(self, message: Mapping[str, Any]) -> list[StreamEvent]:
        model = message.get("model")
        events: list[StreamEvent] = [ModelSeen(model)] if isinstance(model, str) and model else []
        return events + self._count_usage(message.get("usage"))

    def _open_block(self, index: int, start: Mapping[str, Any]) -> list[StreamEvent]:
        block = self._open[index] = ContentBlock(index, start)
        self._blocks.append(block)
        return block.open_events()

    def _close_block(self, index: int) -> list[StreamEvent]:
        block = self._open.pop(index, None)
        return [] if block is None else block.close_events()

    def _change_message(self, data: Mapping[str, Any]) -> list[StreamEvent]:
        """Return the usage before the finish, so that a listener knows the usage when it hears the finish."""
        events = self._count_usage(data.get("usage"))
        reason = _mapping(data.get("delta")).get("stop_reason")
        if isinstance(reason, str) and reason:
            self._has_reason = True
            events.append(FinishSeen(_FINISH.get(reason, FinishReason.STOP)))
        return events

    def _stop_message(self) -> list[StreamEvent]:
        """Return the last events. A block that a lenient server never closed ends here.

        Raises ProtocolError when there was neither a block nor a reason to stop.
        """
        if not (self._blocks or self._has_reason):
            raise ProtocolError("a stream without an answer", self._provider.name, self._provider.model)
        events = [event for index in list(self._open) for event in self._close_block(index)]
        self.ended = True
        raw = tuple(replay for block in self._blocks if (replay := block.replay()) is not None)
        return [*events, RawSeen(RawTurn(self._provider.name, raw))]

    def _count_usage(self, usage: object) -> list[StreamEvent]:
        """Return the usage so far. Each value in a record replaces the earlier one of its key."""
        if not isinstance(usage, Mapping):
            return []
        self._usage.update({key: value for key, value in usage.items() if value is not None})
        return [UsageSeen(_usage(self._usage))]

    def _not_an_answer(self, said: str) -> ProtocolError:
        return ProtocolError(f"not an answer: {excerpt(said.encode())}", self._provider.name, self._provider.model)


def _usage(told: Mapping[str, Any]) -> Usage:
    """Return the usage. Anthropic counts cached input separately; the whole prompt is the sum of the three."""

    def count(source: object, key: str) -> int | None:
        value = _mapping(source).get(key)
        return value if isinstance(value, int) else None

    new, written, cached = (
        count(told, key) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    served = _mapping(told.get("server_tool_use"))
    return Usage(
        None if new is None else new + (written or 0) + (cached or 0),
        count(told, "output_tokens"),
        cached,
        count(told.get("output_tokens_details"), "thinking_tokens"),
        cache_write_tokens=written,
        server_tools={key.removesuffix("_requests"): n for key in served if (n := count(served, key)) is not None}
        or None,
    )


def _loads(text: str) -> object:
    """Return the JSON value, with lone surrogates replaced. None for text that is not JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return parse_value(text, complete=False).value
    except UnreadableJSON:
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def error_in_stream(data: Mapping[str, object], provider: str, model: str) -> LLMError:
    """Return the error for `event: error`, by the status that its type has on a response."""
    inner = data.get("error")
    kind = str(inner.get("type") or "") if isinstance(inner, Mapping) else ""
    request_id = data.get("request_id")
    return error_of(
        _STATUS_OF.get(kind, 500), data, provider, model, request_id if isinstance(request_id, str) else None
    )


def error_of_body(
    status: int, body: bytes, provider: str, model: str, request_id: str | None, *, may_wait: bool
) -> LLMError:
    """Return the error for a response with this status.

    `may_wait`: the response named a time to come back. Credit may then be available again, so the error code of its
    details is not taken into account.
    """
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return typed_error(status, read_error_body(body), provider=provider, model=model, request_id=request_id)
    return error_of(status, data, provider, model, request_id, may_wait=may_wait)


def error_of(
    status: int, data: object, provider: str, model: str, request_id: str | None, *, may_wait: bool = False
) -> LLMError:
    """Return the typed error for a decoded error body."""
    body = read_error(data)
    if status == _BAD_REQUEST and _UNPAIRED.search(body.message):
        return UnpairedServerTool(body.message, provider, model, status, request_id)
    told = _translate(data, body, may_wait=may_wait)
    return typed_error(status, told, provider=provider, model=model, request_id=request_id)


def _translate(data: object, body: ErrorBody, *, may_wait: bool) -> ErrorBody:
    """Return the body with Anthropic's own wording translated into the words that all providers share."""
    words = [body.code]
    if _SPENT.search(body.message):
        words.append("spend_limit")
    if not may_wait:
        words.append(_detail(data))
    limit = body.limit
    if _TOO_LONG.search(body.message):
        words.append("context length")
        found = _LIMIT.search(body.message)
        limit = int(found.group(1)) if found else None
    if body.code.strip() == "not_found_error" and body.message.startswith("model:"):
        words.append("model_not_found")
    return ErrorBody(body.message, " ".join(word for word in words if word), limit)


def _detail(data: object) -> str:
    inner = data.get("error") if isinstance(data, Mapping) else None
    details = inner.get("details") if isinstance(inner, Mapping) else None
    return str(details.get("error_code") or "") if isinstance(details, Mapping) else ""
