"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import orjson
from twisted.web.http_headers import Headers

from mud_assistant.llm.errors import LLMError, ProtocolError
from mud_assistant.llm.fallback.prompt import as_text
from mud_assistant.llm.messages import JSON, JSONObject, Message, Role, ToolResult, ToolSpec
from mud_assistant.llm.packing.packed import join_bytes, parts_of
from mud_assistant.llm.providers.anthropic.errors import error_of_body
from mud_assistant.llm.providers.anthropic.stream import AnthropicStream
from mud_assistant.llm.providers.anthropic.turns import (
    content_of,
    join_request,
    mcp_server_names,
    result_block,
    server_tool_names,
    tool_of,
)
from mud_assistant.llm.providers.provider import LLMProvider
from mud_assistant.llm.request import CallOptions, ToolChoice, merge
from mud_assistant.llm.wire.building import AnswerBuilder
from mud_assistant.llm.wire.error_bodies import excerpt

DEFAULT_VERSION = "2023-06-01"
#: The first version that refuses sampling fields. Versions are dates, so they compare as text.
_NO_SAMPLING = "2026-10-21"
_SAMPLING = ("temperature", "top_p", "top_k")
#: What no request to this API has: penalties of other servers, and what goes in a header.
_UNKNOWN = ("presence_penalty", "frequency_penalty", "min_p", "betas")
#: The beta features that server tools (by type) and MCP servers still need in a header.
_BETAS = {"web_fetch_20250910": "web-fetch-2025-09-10"}
_MCP_FEATURE = "mcp-client-"
_MCP_BETA = f"{_MCP_FEATURE}2025-11-20"


class AnthropicProvider(LLMProvider):
    """Anthropic's Claude. `max_tokens` bounds an answer when the caller sets no bound, because the API requires one.

    `version` is the API version; `betas` are features to request every time. `thinking_tokens` is what thinking may use
    when it is turned on, besides the answer's own bound. None or 0 lets the model choose (newer models only).
    """

    name = "anthropic"
    dialect = "anthropic"
    usual_url = "https://api.anthropic.com"
    about = "Anthropic's Claude, on the internet, with a key"
    lists_without_key = False
    continues_turns = True
    settings = MappingProxyType(
        {
            "server_tools": "",
            "betas": "betas",
            "api_version": "version",
            "thinking_tokens": "thinking_tokens",
            "token_table": "",
        }
    )
    token_tables = ("cl100k_base", "o200k_base")
    server_tools = MappingProxyType(
        {
            "web_search": {"type": "web_search_20250305", "name": "web_search"},
            "web_fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
        }
    )
    forms = ("schema",)

    def __init__(
        self,
        api_url: str = "",
        model: str = "",
        key: str = "",
        *,
        version: str = DEFAULT_VERSION,
        max_tokens: int = 4096,
        thinking_tokens: int | None = 2048,
        betas: Sequence[str] = (),
    ) -> None:
        base = (api_url or self.usual_url).rstrip("/")
        super().__init__(base.removesuffix("/messages").removesuffix("/v1"), model, key)
        self.version = version
        self._max_tokens = max_tokens
        self._thinking_tokens = thinking_tokens or None
        self._betas = tuple(betas)

    def get_api_url(self) -> str:
        """Return the messages endpoint."""
        return f"{self.api_url}/v1/messages"

    def get_models_url(self) -> str:
        """Return the URL that lists the models."""
        return f"{self.api_url}/v1/models"

    def build_headers(self) -> Headers:
        """Return the request headers. The key goes as `x-api-key`."""
        return self._headers(",".join(_betas(self._betas, CallOptions())))

    def headers_for(self, options: CallOptions) -> Headers:
        """Return the headers of one call. One header names every beta feature that the call or the provider needs."""
        betas = ",".join(_betas(self._betas, options))
        return self._once(lambda: self._headers(betas), f"{self.version} {betas}")

    def _headers(self, betas: str) -> Headers:
        headers = super().build_headers()
        headers.removeHeader("Authorization")
        headers.setRawHeaders("anthropic-version", [self.version])
        if self._key:
            headers.setRawHeaders("x-api-key", [self._key])
        if betas:
            headers.setRawHeaders("anthropic-beta", [betas])
        return headers

    def request_head(
        self, tools: Sequence[ToolSpec], tool_choice: ToolChoice | None, options: CallOptions
    ) -> JSONObject:
        """Return model, options and tools, streamed. What the API does not have (a seed, blank stops) is left out."""
        head: dict[str, JSON] = {
            "model": self.model,
            "max_tokens": options.max_tokens or self._max_tokens,
            "stream": True,
            "temperature": options.temperature,
            "stop_sequences": [stop for stop in options.stop if stop.strip()] or None,
            "output_config": _output_config(options),
            "tools": [*(tool_of(tool) for tool in tools), *options.server_tools] or None,
            "tool_choice": _choice(tool_choice) if tool_choice else None,
        }
        extra = dict(options.extra_params)
        for name in _UNKNOWN:
            extra.pop(name, None)
        parallel = extra.pop("parallel_tool_calls", None)
        head = merge({key: value for key, value in head.items() if value is not None}, extra)
        if parallel is False and head.get("tools"):
            head = merge({"tool_choice": {"type": "auto"}}, head)
            head = merge(head, {"tool_choice": {"disable_parallel_tool_use": True}})
        return self._without_sampling(self._with_thinking(head, options))

    def join_body(
        self, head: JSONObject, messages: Sequence[Message], options: CallOptions, *, tools_as_text: bool
    ) -> bytes:
        """Return the body: system text at the top level, neighbours of one role in one turn, and cache marks."""
        body = dict(head)
        if _answers_without_thought(messages, self.name):
            body.pop("thinking", None)
        offered = server_tool_names(head.get("tools")) | mcp_server_names(head.get("mcp_servers"))
        encoded = self._contents(messages, offered, tools_as_text=tools_as_text)
        return join_request(body, encoded, may_cache=options.prompt_cache)

    def encode_message(self, message: Message) -> list[JSONObject]:
        """Return the one wire message this would be by itself, without blocks of server tools."""
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        return [{"role": role, "content": content_of(message, self.name, ())}]

    def format_tool_result(self, result: ToolResult) -> JSONObject:
        """Return the block that answers one call. All results of a turn go into one user message."""
        return result_block(result)

    def answer_parser(self, answer: AnswerBuilder) -> AnthropicStream:
        """Return a parser for the named events of one answer."""
        return AnthropicStream(self, answer)

    def read_response(self, body: bytes, answer: AnswerBuilder) -> None:
        """Read an answer that came whole."""
        try:
            data = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ProtocolError(f"not an answer: {excerpt(body)}", self.name, self.model) from error
        AnthropicStream(self, answer).whole(data)

    def parse_error_response(self, status: int, headers: Headers, body: bytes) -> LLMError:
        """Read `{"type": "error", "error": {type, message, details}}`, or whatever a proxy in front sends."""
        request_id = headers.getRawHeaders("request-id", [None])[0]
        may_wait = headers.hasHeader("retry-after")
        return error_of_body(status, body, self.name, self.model, request_id, may_wait=may_wait)

    def _contents(
        self, messages: Sequence[Message], server_tools: Collection[str], *, tools_as_text: bool
    ) -> list[tuple[Role, bytes]]:
        """Return the role and the encoded content blocks of each message."""
        key = f"{self.dialect}/text" if tools_as_text else self.dialect

        def encode(message: Message) -> bytes:
            own = key
            if message.raw is not None and message.raw.depends_on_tools:
                own = f"{key}/{','.join(sorted(server_tools))}"
            if own not in message.wire:
                blocks = content_of(as_text(message) if tools_as_text else message, self.name, server_tools)
                message.wire[own] = join_bytes([orjson.dumps(block) for block in blocks])
            return message.wire[own]

        encoded: list[tuple[Role, bytes]] = []
        for part in parts_of(messages):
            if isinstance(part, Message):
                encoded.append((part.role, encode(part)))
            else:
                encoded += part.pieces(key, encode)
        return encoded

    def _all_encoded(self, messages: Sequence[Message], *, tools_as_text: bool) -> list[bytes]:
        return [content for _, content in self._contents(messages, (), tools_as_text=tools_as_text)]

    def _with_thinking(self, head: Mapping[str, JSON], options: CallOptions) -> dict[str, JSON]:
        """Return the head with thinking on or off.

        The API does not allow thinking together with a tool that must be called, nor sampling fields together with
        thinking.
        """
        choice = head.get("tool_choice")
        if options.think is None:
            return dict(head)
        if not options.think:
            return {"thinking": {"type": "disabled"}, **head}
        if isinstance(choice, Mapping) and choice.get("type") in {"any", "tool"}:
            return dict(head)
        told = {key: value for key, value in head.items() if key not in _SAMPLING}
        if self._thinking_tokens is None:
            return {"thinking": {"type": "adaptive"}, **told}
        bound = told.get("max_tokens")
        if isinstance(bound, int):
            told["max_tokens"] = bound + self._thinking_tokens
        return {"thinking": {"type": "enabled", "budget_tokens": self._thinking_tokens}, **told}

    def _without_sampling(self, head: dict[str, JSON]) -> dict[str, JSON]:
        if self.version < _NO_SAMPLING:
            return head
        return {key: value for key, value in head.items() if key not in _SAMPLING}


def _choice(choice: ToolChoice) -> JSONObject:
    kinds = {"auto": "auto", "none": "none", "required": "any"}
    return {"type": kinds[choice]} if choice in kinds else {"type": "tool", "name": choice}


def _output_config(options: CallOptions) -> JSONObject | None:
    schema = options.json_schema
    return None if schema is None else {"format": {"type": "json_schema", "schema": schema}}


def _betas(always: Sequence[str], options: CallOptions) -> list[str]:
    """Return every beta feature once, in the order in which it is requested."""
    extra = options.extra_params
    named, tools = extra.get("betas"), extra.get("tools")
    asked = [*always, *(str(name) for name in (named if isinstance(named, list | tuple) else ()))]
    for tool in (*options.server_tools, *(tools if isinstance(tools, list | tuple) else ())):
        kind = tool.get("type") if isinstance(tool, Mapping) else None
        asked += [_BETAS[kind]] if isinstance(kind, str) and kind in _BETAS else []
    if extra.get("mcp_servers") and not any(name.startswith(_MCP_FEATURE) for name in asked):
        asked.append(_MCP_BETA)
    return list(dict.fromkeys(asked))


def _answers_without_thought(messages: Sequence[Message], provider: str) -> bool:
    """Tell whether this continues calls made without thinking. The API then refuses thinking in their turn."""
    if not messages or messages[-1].role is not Role.TOOL:
        return False
    asked = next((message for message in reversed(messages) if message.role is Role.ASSISTANT), None)
    raw = asked.raw_of(provider) if asked else ()
    return not any(block.get("type") in {"thinking", "redacted_thinking"} for block in raw)
