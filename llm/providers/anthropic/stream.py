"""Reads one answer of Anthropic's Messages API.

Its events are named, its blocks are known by their index, and it is complete with `message_stop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from mud_assistant.llm.errors import ProtocolError, StreamBroken
from mud_assistant.llm.loose_json.repair import UnreadableJSON, parse_value
from mud_assistant.llm.messages import RawTurn
from mud_assistant.llm.providers.anthropic.blocks import ContentBlock
from mud_assistant.llm.providers.anthropic.errors import error_in_stream
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.response import FinishReason, Usage
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.error_bodies import excerpt
from mud_assistant.llm.wire.lines import ServerSentEvent
from mud_assistant.llm.wire.parser import SSEParser

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


class AnthropicStream(SSEParser):
    """A reader of one answer, streamed or whole."""

    def __init__(self, provider: LLMProvider, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._provider = provider
        self._blocks: list[ContentBlock] = []
        self._open: dict[int, ContentBlock] = {}
        self._usage: dict[str, Any] = {}
        self._has_reason = False

    def whole(self, data: object) -> None:
        """Read an answer in one document. Raises the error it is, or ProtocolError if it is neither."""
        if not isinstance(data, Mapping):
            raise self._not_an_answer(str(data))
        if data.get("type") == "error" or "error" in data:
            raise error_in_stream(data, self._provider.name, self._provider.model)
        content = data.get("content")
        if not isinstance(content, list):
            raise self._not_an_answer(str(data))
        self._start_message(data)
        for index, block in enumerate(content):
            if isinstance(block, Mapping):
                self._open_block(index, block)
                self._close_block(index)
        self._change_message({"delta": data, "usage": data.get("usage")})
        self._stop_message()

    def _split(self, data: bytes) -> list[bytes] | None:
        """Return the events as they came: a line with the name and one with the data."""
        if not data.startswith(b"event: ") or b"\r" in data:
            return None
        records = data[:-2].split(b"\n\n")
        named, lines = data.count(b"\n\nevent: ") + 1, data.count(b"\n")
        is_usual = named == data.count(b"\ndata: ") == len(records) and lines == 3 * named
        return records if is_usual else None

    def _read(self, records: list[bytes]) -> None:
        for record in records:
            name, _, said = record.partition(b"\ndata: ")
            try:
                data = orjson.loads(said)
            except orjson.JSONDecodeError:
                data = None
            if type(data) is dict and data.get("type") == "content_block_delta" and name != b"event: error":
                self._take_piece(data)
            elif said:
                event = name[7:].decode("utf-8", "replace")
                self._take(ServerSentEvent(event, said.decode("utf-8", "replace")))
            if self.complete:
                return

    def _take(self, part: ServerSentEvent) -> None:
        data = _loads(part.data)
        if not isinstance(data, Mapping):
            if part.event in _EVENTS:
                raise self._not_an_answer(part.data)
            return
        if part.event == "error" or part.field == "error" or data.get("type") == "error":
            raise error_in_stream(data, self._provider.name, self._provider.model)
        self._record(str(data.get("type") or part.event), data)

    def _record(self, kind: str, data: Mapping[str, Any]) -> None:
        """Read one record. Nothing is read from `ping` and unknown records."""
        index = data.get("index")
        match kind:
            case "message_start":
                self._start_message(_mapping(data.get("message")))
            case "content_block_start" if isinstance(index, int):
                self._close_block(index)
                self._open_block(index, _mapping(data.get("content_block")))
            case "content_block_delta":
                self._take_piece(data)
            case "content_block_stop" if isinstance(index, int):
                self._close_block(index)
            case "message_delta":
                self._change_message(data)
            case "message_stop":
                self._stop_message()

    def _take_piece(self, data: Mapping[str, Any]) -> None:
        """Read a piece of an open block."""
        index, delta = data.get("index"), data.get("delta")
        block = self._open.get(index) if isinstance(index, int) else None
        if block is not None and isinstance(delta, dict) and block.take(delta, self._answer):
            self._has_grown = True

    def _start_message(self, message: Mapping[str, Any]) -> None:
        model = message.get("model")
        if isinstance(model, str) and model:
            self._has_grown = True
            self._answer.set_model(model)
        self._count_usage(message.get("usage"))

    def _open_block(self, index: int, start: Mapping[str, Any]) -> None:
        block = self._open[index] = ContentBlock(index, start)
        self._blocks.append(block)
        self._has_grown = True
        block.open(self._answer)

    def _close_block(self, index: int) -> None:
        block = self._open.pop(index, None)
        if block is not None:
            self._has_grown = True
            block.close(self._answer)

    def _change_message(self, data: Mapping[str, Any]) -> None:
        """Set the usage before the finish, so that a listener knows the usage when it hears the finish."""
        self._count_usage(data.get("usage"))
        reason = _mapping(data.get("delta")).get("stop_reason")
        if isinstance(reason, str) and reason:
            self._has_reason = self._has_grown = True
            self._answer.set_finish(_FINISH.get(reason, FinishReason.STOP))

    def _stop_message(self) -> None:
        """Add what is last. A block that a lenient server never closed ends here.

        Raises ProtocolError when there was neither a block nor a reason to stop.
        """
        if not (self._blocks or self._has_reason):
            raise ProtocolError("a stream without an answer", self._provider.name, self._provider.model)
        for index in list(self._open):
            self._close_block(index)
        self.complete = self._has_grown = True
        raw = tuple(replay for block in self._blocks if (replay := block.replay()) is not None)
        self._answer.set_raw(RawTurn(self._provider.name, raw))

    def _finish(self) -> None:
        """Raise StreamBroken when there was no `message_stop`."""
        if not self.complete:
            raise StreamBroken("the answer ended before it was done", self._provider.name, self._provider.model)

    def _count_usage(self, usage: object) -> None:
        """Set the usage so far. Each value in a record replaces the earlier one of its key."""
        if isinstance(usage, Mapping):
            self._usage.update({key: value for key, value in usage.items() if value is not None})
            self._has_grown = True
            self._answer.set_usage(_usage(self._usage))

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
