"""The Chat Completions dialect, shared by every provider that speaks it.

What a server's 400 teaches about the request's fields:

"max_tokens is not supported ... use max_completion_tokens", or the reverse    renamed
"temperature does not support 0.5 with this model", top_p, seed and friends    left out
"function tools with reasoning_effort are not supported"                       reasoning_effort "none" with tools
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast
from urllib.parse import urlsplit

import orjson
from msgspec.structs import replace
from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError, Rejected, WrongEndpoint
from mud_assistant.llm.messages import JSON, Block, Image, JSONObject, Message, Role, Text, ToolResult, ToolSpec
from mud_assistant.llm.modes.mode import FieldOverride, RequestMode
from mud_assistant.llm.providers.chat_stream import ChatStream
from mud_assistant.llm.providers.provider import NAMELESS, LLMProvider
from mud_assistant.llm.providers.responses.provider import ResponsesProvider
from mud_assistant.llm.request import CallOptions, ToolChoice, merge
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.error_bodies import ErrorBody, read_error_body, typed_error

_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
#: Fields a request can do without.
_OPTIONAL = (
    "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs",
    "top_logprobs", "seed", "stop", "stream_options", "reasoning_effort", "reasoning", "verbosity", "tool_choice",
    "parallel_tool_calls",
)  # fmt: skip
_FIELD = re.compile(rf"(?<![\w-])({'|'.join(sorted((*_LIMITS, *_OPTIONAL), key=len, reverse=True))})(?![\w-])")
_REFUSED = re.compile(
    r"unsupported|not support|unrecognized|unknown|unexpected|extra inputs|extra_forbidden|not permitted|deprecated"
    r"|not allowed|only .{0,40}(allowed|supported)|is not valid",
    re.IGNORECASE,
)
#: The key under which a tool keeps its encoded bytes.
_FUNCTION = "function"
#: The tools that were offered together, encoded, by their identities, which are theirs as long as they are kept here.
_TOOL_SETS: dict[tuple[int, ...], tuple[tuple[ToolSpec, ...], JSON]] = {}
_MOST_TOOL_SETS = 64
_TOOLS = re.compile(r"\b(tools?|functions?)\b", re.IGNORECASE)
#: The server names the API that it serves this model with. The words of a refused field may leave a choice.
ELSEWHERE = re.compile(r"(only supported in|please use|, use) `?/?v1/responses", re.IGNORECASE)
_NO_EFFORT = FieldOverride("reasoning_effort", value="none", with_tools=True)


class ChatProvider(LLMProvider):
    """Any server with `chat/completions` under its base URL."""

    dialect = "chat"
    #: The field that bounds the answer. Most servers know only this older one.
    limit_field = "max_tokens"
    #: Additional headers by name; empty values are left out.
    more_headers: Mapping[str, str] = MappingProxyType({})

    def build_headers(self) -> Headers:
        """Return the headers of every provider, and this one's own."""
        headers = super().build_headers()
        for name, value in self.more_headers.items():
            if value:
                headers.setRawHeaders(name, [value])
        return headers

    def get_api_url(self) -> str:
        """Return the chat endpoint under the base URL."""
        return f"{self.api_url}/chat/completions"

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Return model, options and tools, streamed, with usage in the last chunk."""
        head: dict[str, JSON] = {"model": self.model, "stream": True, "stream_options": {"include_usage": True}}
        if options.temperature is not None:
            head["temperature"] = options.temperature
        if options.max_tokens is not None:
            head[self.limit_field] = options.max_tokens
        if options.seed is not None:
            head["seed"] = options.seed
        if options.stop:
            head["stop"] = list(options.stop)
        if (schema := options.json_schema) is not None:
            form: JSONObject = {"name": "answer", "schema": schema, "strict": self.is_strict(schema)}
            head["response_format"] = {"type": "json_schema", "json_schema": form}
        elif options.json_object:
            head["response_format"] = {"type": "json_object"}
        if tools:
            added = "tools" in options.extra_params  # to a list
            head["tools"] = [encoded_tool(tool) for tool in tools] if added else _encoded_tools(tools)
            if tool_choice is not None:
                head["tool_choice"] = _choice(tool_choice)
        return merge(head, options.extra_params) if options.extra_params else head

    def is_strict(self, schema: JSONObject) -> bool:
        """Tell whether to request strict mode for this schema. Most servers accept any schema strictly."""
        return True

    def adapt(self, error: Rejected, mode: RequestMode) -> RequestMode | None:
        """Return the mode without the field that was refused, or with its other name."""
        return adapt_fields(error, mode)

    def encode_message(self, message: Message) -> list[JSONObject]:
        """Return one wire message, or one per tool result."""
        if message.role is Role.TOOL:
            return [self.format_tool_result(result) for result in message.tool_results]
        kept = self._returned_reasoning(message)
        if Image in map(type, message.blocks):
            parts = [part for block in message.blocks if (part := _part(block)) is not None]
            return [{"role": message.role.value, "content": parts}]
        if not message.tool_calls:
            return [{"role": message.role.value, "content": message.text, **kept}]
        calls: list[JSON] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name or NAMELESS, "arguments": orjson.dumps(call.arguments).decode()},
            }
            for call in message.tool_calls
        ]
        return [{"role": "assistant", "content": message.text or None, "tool_calls": calls, **kept}]

    def format_tool_result(self, result: ToolResult) -> JSONObject:
        """Return one message per call, which goes directly after the assistant message."""
        return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}

    def answer_parser(self, answer: AnswerBuilder) -> ChatStream:
        """Return a parser for server-sent events."""
        return ChatStream(self.name, self.model, answer)

    def read_response(self, body: bytes, answer: AnswerBuilder) -> None:
        """Read an answer to `stream: false`."""
        ChatStream(self.name, self.model, answer).whole(body)

    def alternative(self, error: LLMError | None) -> LLMProvider | None:
        """Return a provider for the Responses API of the same server, if it says to use that."""
        if error is not None and not isinstance(error, WrongEndpoint):
            return None
        return ResponsesProvider.standing_in_for(self, self._key, self.more_headers)

    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """Read `{"error": {message, type, param, code}}` and its many relatives."""
        request_id = headers.getRawHeaders("x-request-id", [None])[0]
        said = read_error_body(body)
        if self._is_elsewhere(said):
            return WrongEndpoint(said.message, self.name, self.model, status, request_id, parameter=said.parameter)
        return typed_error(status, said, provider=self.name, model=self.model, request_id=request_id)

    def _is_elsewhere(self, said: ErrorBody) -> bool:
        """Tell whether a refusal names the Responses API. One of a field does so as well, and leaves a choice."""
        return bool(ELSEWHERE.search(said.message)) and not _FIELD.search(f"{said.parameter} {said.message}")

    def _returned_reasoning(self, message: Message) -> JSONObject:
        """Return the reasoning this provider wrote in this turn, in the form it wants back.

        Plain reasoning goes back only together with calls: DeepSeek requires it there and refuses it elsewhere.
        """
        if message.raw is None or message.raw.provider != self.name:
            return {}
        fields = {key: value for block in message.raw.blocks for key, value in block.items()}
        if not message.tool_calls:
            fields.pop("reasoning_content", None)
        return fields


class LocalProvider(ChatProvider):
    """Any OpenAI-compatible server: llama.cpp, LM Studio, vLLM, and the embedded model."""

    name = "local"
    about = "any OpenAI-compatible server of yours: llama.cpp, LM Studio, vLLM"
    hosted = False
    #: Such a server queues any more requests, and in its queue a player cannot go first.
    in_flight = 4
    #: DRY and min-p, as llama.cpp and its relatives have them. Other servers ignore what they do not know.
    variety = MappingProxyType(
        {"min_p": 0.08, "dry_multiplier": 0.9, "dry_base": 1.75, "dry_allowed_length": 3, "cache_prompt": True}
    )

    def __init__(self, api_url: str, model: str = "", key: str = "") -> None:
        bare = bool(api_url) and urlsplit(api_url).path in {"", "/"}
        super().__init__(f"{api_url.rstrip('/')}/v1" if bare else api_url, model, key)


def _choice(choice: ToolChoice) -> JSON:
    if choice in {"auto", "none", "required"}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def function_tool(tool: ToolSpec) -> JSONObject:
    """Return a tool as Ollama and Chat Completions want it."""
    described: JSONObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": described}


def encoded_tool(tool: ToolSpec) -> JSON:
    """Return `function_tool` as orjson takes it up without encoding it again. Its bytes are made once and kept."""
    encoded = tool.wire.get(_FUNCTION)
    if encoded is None:
        encoded = tool.wire[_FUNCTION] = orjson.dumps(function_tool(tool))
    return cast("JSON", orjson.Fragment(encoded))


def _encoded_tools(tools: Sequence[ToolSpec]) -> JSON:
    """Return all the tools of a request as `encoded_tool` does each. Most requests of a process offer the same ones."""
    key = tuple(map(id, tools))
    known = _TOOL_SETS.get(key)
    if known is None:
        if len(_TOOL_SETS) >= _MOST_TOOL_SETS:
            _TOOL_SETS.clear()
        encoded = orjson.Fragment(orjson.dumps([encoded_tool(tool) for tool in tools]))
        known = _TOOL_SETS[key] = (tuple(tools), cast("JSON", encoded))
    return known[1]


def adapt_fields(error: Rejected, mode: RequestMode) -> RequestMode | None:
    """Return the mode without what was refused, or None when no field was refused or that was tried already."""
    override = _override_for(error, mode)
    if override is None or override in mode.overrides:
        return None
    back = any(earlier.rename == override.field for earlier in mode.overrides)
    return None if back else replace(mode, overrides=(*mode.overrides, override))


def _override_for(error: Rejected, mode: RequestMode) -> FieldOverride | None:
    named = _FIELD.search(error.parameter) or _FIELD.search(error.message)
    if named is None or not _REFUSED.search(error.message):
        return None
    field = named.group(1)
    if field == "reasoning_effort" and mode.native and _TOOLS.search(error.message):
        return _NO_EFFORT
    return FieldOverride(field, rename=_LIMITS.get(field, ""))


def _part(block: Block) -> JSONObject | None:
    """Return a text or an image as a part of a message, None for what is neither."""
    if isinstance(block, Image):
        return {"type": "image_url", "image_url": {"url": block.data_url}}
    return {"type": "text", "text": block.text} if isinstance(block, Text) and block.text else None
