"""The Chat Completions dialect (reference/llm-wire.md 1.1 and 1.5), shared by every provider that speaks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import orjson
from twisted.web.http_headers import Headers

from llm.error_bodies import excerpt, read_error, read_error_body, typed_error
from llm.errors import LLMError, ProtocolError, StreamBroken
from llm.lines import ServerSentEvent, SSEDecoder
from llm.messages import JSON, JSONObject, Message, Role, ToolResult, ToolSpec
from llm.options import CallOptions, ToolChoice, merge
from llm.provider import LLMProvider
from llm.providers.ollama import function_tool
from llm.response import FinishReason, Usage
from llm.stream import CallDelta, FinishSeen, ModelSeen, ReasoningDelta, StreamEvent, TextDelta, UsageSeen

_FINISH = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.FILTERED,
}


class ChatProvider(LLMProvider):
    """Any server with `chat/completions` under its base URL."""

    dialect = "chat"

    def get_api_url(self) -> str:
        """The chat endpoint under the base URL."""
        return f"{self.api_url}/chat/completions"

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Model, options and tools, streamed, with usage in the last chunk."""
        settings: dict[str, JSON] = {
            "model": self.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
            "seed": options.seed,
            "stop": list(options.stop) or None,
        }
        head: dict[str, JSON] = {key: value for key, value in settings.items() if value is not None}
        if options.schema is not None:
            head["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": options.schema, "strict": True},
            }
        if tools:
            head["tools"] = [function_tool(tool) for tool in tools]
            if tool_choice is not None:
                head["tool_choice"] = _choice(tool_choice)
        return merge(head, options.extra_params)

    def encode_message(self, message: Message) -> list[JSONObject]:
        """One wire message, or one per tool result."""
        if message.role is Role.TOOL:
            return [self.format_tool_result(result) for result in message.tool_results]
        if not message.tool_calls:
            return [{"role": message.role.value, "content": message.text}]
        calls: list[JSON] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": orjson.dumps(call.arguments).decode()},
            }
            for call in message.tool_calls
        ]
        return [{"role": "assistant", "content": message.text or None, "tool_calls": calls}]

    def format_tool_result(self, result: ToolResult) -> JSONObject:
        """One message per call, directly after the assistant message."""
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}

    def stream_parser(self) -> ChatStream:
        """A parser for server-sent events."""
        return ChatStream(self)

    def parse_response(self, body: bytes) -> list[StreamEvent]:
        """The events of an answer to `stream: false`."""
        parser = ChatStream(self)
        return [*parser.take(body.decode("utf-8", "replace")), *parser.end()]

    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """`{"error": {message, type, param, code}}` and its many relatives."""
        request_id = headers.getRawHeaders("x-request-id", [None])[0]
        return typed_error(status, read_error_body(body), provider=self.name, model=self.model, request_id=request_id)


class LocalProvider(ChatProvider):
    """Any OpenAI-compatible server: llama.cpp, LM Studio, vLLM, and the embedded model."""

    name = "local"

    def __init__(self, api_url: str, model: str = "", key: str = "") -> None:
        bare = bool(api_url) and urlsplit(api_url).path in {"", "/"}
        super().__init__(f"{api_url.rstrip('/')}/v1" if bare else api_url, model, key)


class ChatStream:
    """One streamed answer: SSE chunks, complete with `[DONE]` or a finish reason (edge case 30)."""

    def __init__(self, provider: ChatProvider) -> None:
        self._provider = provider
        self._events = SSEDecoder()
        self._finished = False
        self.complete = False

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events of the chunks that `data` completes."""
        return [event for sent in self._events.feed(data) for event in self._sent(sent)]

    def end(self) -> list[StreamEvent]:
        """The events of an unended last chunk. Raises StreamBroken when there was neither finish nor `[DONE]`."""
        events = [event for sent in self._events.feed(b"", final=True) for event in self._sent(sent)]
        if not self._finished:
            raise StreamBroken("the answer ended before it was done", self._provider.name, self._provider.model)
        return events

    def _sent(self, sent: ServerSentEvent) -> list[StreamEvent]:
        if self.complete:
            return []
        if sent.data.strip() == "[DONE]":
            self.complete = self._finished = True
            return []
        if sent.field == "error" or sent.event == "error":
            raise self._error(_loads(sent.data))
        return self.take(sent.data)

    def take(self, data: str) -> list[StreamEvent]:
        """The events of one chunk or one whole answer. Raises the error it carries, ProtocolError for none."""
        chunk = _loads(data)
        provider = self._provider
        if not isinstance(chunk, Mapping):
            raise ProtocolError(f"not an answer: {excerpt(data.encode())}", provider.name, provider.model)
        if chunk.get("error") or chunk.get("object") == "error":
            raise self._error(chunk)
        events: list[StreamEvent] = []
        if isinstance(model := chunk.get("model"), str) and model:
            events.append(ModelSeen(model))
        if isinstance(usage := chunk.get("usage"), Mapping):
            events.append(UsageSeen(_usage(usage)))
        for choice in chunk.get("choices") or ():
            if isinstance(choice, Mapping) and not choice.get("index"):
                events.extend(self._choice(choice))
        return events

    def _choice(self, choice: Mapping[str, Any]) -> list[StreamEvent]:
        piece = choice.get("delta") or choice.get("message")
        events = _piece_events(piece) if isinstance(piece, Mapping) else []
        reason = choice.get("finish_reason")
        if reason == "error":
            raise self._error(choice)
        if isinstance(reason, str) and reason:
            self._finished = True
            events.append(FinishSeen(_FINISH.get(reason, FinishReason.STOP)))
        return events

    def _error(self, data: object) -> LLMError:
        body = read_error(data)
        code = next((int(word) for word in body.code.split() if word.isdecimal() and len(word) == 3), 500)  # noqa: PLR2004
        return typed_error(code, body, provider=self._provider.name, model=self._provider.model)


def _choice(choice: ToolChoice) -> JSON:
    if choice in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _loads(data: str) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return data


def _piece_events(piece: Mapping[str, Any]) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    for key in ("reasoning_content", "reasoning"):
        if isinstance(thought := piece.get(key), str) and thought:
            events.append(ReasoningDelta(thought))
            break
    content = piece.get("content")
    if isinstance(content, str) and content:
        events.append(TextDelta(content))
    elif isinstance(content, list):
        events.extend(_part_event(part) for part in content if isinstance(part, Mapping))
    events.extend(_call(call) for call in piece.get("tool_calls") or () if isinstance(call, Mapping))
    return events


def _part_event(part: Mapping[str, Any]) -> StreamEvent:
    """A content part (edge case 66): Mistral sends `thinking` and `text` parts in one list."""
    if part.get("type") == "thinking":
        inner = part.get("thinking")
        pieces = inner if isinstance(inner, list) else [{"text": inner}]
        return ReasoningDelta("".join(str(piece.get("text") or "") for piece in pieces if isinstance(piece, Mapping)))
    return TextDelta(str(part.get("text") or ""))


def _call(call: Mapping[str, Any]) -> CallDelta:
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
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
        arguments if isinstance(arguments, str | Mapping) else None,
    )


def _usage(usage: Mapping[str, Any]) -> Usage:
    def count(source: object, key: str) -> int | None:
        value = source.get(key) if isinstance(source, Mapping) else None
        return value if isinstance(value, int) else None

    return Usage(
        count(usage, "prompt_tokens"),
        count(usage, "completion_tokens"),
        count(usage.get("prompt_tokens_details"), "cached_tokens"),
        count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )
