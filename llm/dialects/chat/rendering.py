"""Renders an answer in the form of OpenAI's Chat Completions API."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from types import MappingProxyType

import orjson

from mud_assistant.llm.dialects.chat.errors import error_of
from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.messages import (
    JSON,
    Citation,
    JSONObject,
    Message,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from mud_assistant.llm.response import FinishReason, LLMResponse, Usage

FINISHES: Mapping[FinishReason, str] = MappingProxyType(
    {
        FinishReason.STOP: "stop",
        FinishReason.TOOL_CALLS: "tool_calls",
        FinishReason.LENGTH: "length",
        FinishReason.FILTERED: "content_filter",
        FinishReason.PAUSED: "stop",
    }
)
DONE = b"data: [DONE]\n\n"


class CitedText:
    """How much text there is, and where in it the sources belong. Positions are in characters."""

    def __init__(self) -> None:
        self.annotations: list[JSON] = []
        self._start = self._end = self._length = 0

    def add(self, text: str) -> None:
        """Count text."""
        self._length += len(text)

    def cite(self, source: Citation) -> None:
        """Note the source of the text since the one before, or of the same text. One without an address is left out."""
        if self._length > self._end:
            self._start, self._end = self._end, self._length
        if source.url:
            place: JSONObject = {
                "url": source.url,
                "title": source.title,
                "start_index": self._start,
                "end_index": self._end,
            }
            self.annotations.append({"type": "url_citation", "url_citation": place})


class ChatRenderer(AnswerRenderer):
    """The chunks of one answer, or its one document. Steps of a provider's own tools have no place here."""

    def __init__(self, asked: AskedCall, head: AnswerHead) -> None:
        numbers = count()
        super().__init__([tool.name for tool in asked.tools], lambda: f"call_{head.id}_{next(numbers)}")
        self._counts_usage = asked.counts_usage
        self._about: JSONObject = {
            "id": f"chatcmpl-{head.id}",
            "object": "chat.completion.chunk",
            "created": head.created,
            "model": asked.model,
        }
        usage = b',"usage":null' if asked.counts_usage else b""
        self._before = b"data: " + orjson.dumps(self._about)[:-1] + b',"choices":[{"index":0,"delta":'
        self._after = b',"finish_reason":null}]' + usage + b"}\n\n"

    def _restart(self) -> None:
        super()._restart()
        self._cited = CitedText()

    def begin(self) -> bytes:
        """Return the chunk that says whose turn it is."""
        return self._delta({"role": "assistant", "content": ""})

    def ping(self) -> bytes:
        """Return a chunk that adds nothing: for clients a comment is no sign of life."""
        return self._delta({})

    def fail(self, failure: Failure) -> bytes:
        """Return the error that ends a stream, without the mark of a good end."""
        return b"data: " + orjson.dumps(error_of(failure)) + b"\n\n"

    def whole(self, response: LLMResponse) -> bytes:
        """Return the answer as one JSON document."""
        choice: JSONObject = {
            "index": 0,
            "message": _message(response),
            "logprobs": None,
            "finish_reason": FINISHES[response.finish_reason],
        }
        about = {**self._about, "object": "chat.completion"}
        return orjson.dumps({**about, "choices": [choice], "usage": usage_of(response.usage)})

    def _text(self, text: str) -> bytes:
        self._cited.add(text)
        return self._delta({"content": text})

    def _reasoning(self, text: str, signature: str) -> bytes:
        return self._delta({"reasoning_content": text}) if text else b""

    def _call(self, number: int, call_id: str, name: str) -> bytes:
        function: JSONObject = {"name": name, "arguments": ""}
        return self._delta({"tool_calls": [{"index": number, "id": call_id, "type": "function", "function": function}]})

    def _arguments(self, number: int, piece: str) -> bytes:
        return self._delta({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})

    def _block(self, block: ServerToolCall | ServerToolResult | Citation) -> bytes:
        """Keep a source for the end: clients that add up chunks take annotations from one chunk only."""
        if isinstance(block, Citation):
            self._cited.cite(block)
        return b""

    def _end(self, response: LLMResponse) -> bytes:
        cited = self._delta({"annotations": self._cited.annotations}) if self._cited.annotations else b""
        choice: JSONObject = {"index": 0, "delta": {}, "finish_reason": FINISHES[response.finish_reason]}
        if not self._counts_usage:
            return cited + self._chunk({"choices": [choice]}) + DONE
        counted = self._chunk({"choices": [], "usage": usage_of(response.usage)})
        return cited + self._chunk({"choices": [choice], "usage": None}) + counted + DONE

    def _delta(self, delta: JSONObject) -> bytes:
        return self._before + orjson.dumps(delta) + self._after

    def _chunk(self, fields: JSONObject) -> bytes:
        return b"data: " + orjson.dumps({**self._about, **fields}) + b"\n\n"


def usage_of(usage: Usage) -> JSONObject:
    """Return the use of tokens. `prompt_tokens` is the whole prompt. What is not known is 0."""
    into: dict[str, JSON] = {"cached_tokens": usage.cached_tokens or 0}
    if usage.cache_write_tokens is not None:
        into["cache_write_tokens"] = usage.cache_write_tokens
    return {
        "prompt_tokens": usage.input_tokens or 0,
        "completion_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total_tokens or 0,
        "prompt_tokens_details": into,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
    }


def _message(response: LLMResponse) -> JSONObject:
    said: dict[str, JSON] = {"role": "assistant", "content": response.content or None, "refusal": None}
    if response.reasoning:
        said["reasoning_content"] = response.reasoning
    if response.tool_calls:
        said["tool_calls"] = [_called(call) for call in response.tool_calls]
    if annotations := _annotations(response.message):
        said["annotations"] = annotations
    return said


def _called(call: ToolCall) -> JSONObject:
    arguments = orjson.dumps(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _annotations(message: Message) -> list[JSON]:
    cited = CitedText()
    for block in message.blocks:
        if isinstance(block, Text):
            cited.add(block.text)
        elif isinstance(block, Citation):
            cited.cite(block)
    return cited.annotations
