"""Renders an answer in the form of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from types import MappingProxyType

import orjson

from mud_assistant.llm.dialects.dialect import AnswerHead, AskedCall
from mud_assistant.llm.dialects.failures import Failure
from mud_assistant.llm.dialects.messages.blocks import (
    BlockStream,
    Calling,
    SaidText,
    Thought,
    citation,
    event,
    is_shown,
    server_result,
)
from mud_assistant.llm.dialects.messages.errors import error_of
from mud_assistant.llm.dialects.rendering import AnswerRenderer
from mud_assistant.llm.messages import (
    JSON,
    Citation,
    Message,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
)
from mud_assistant.llm.response import FinishReason, LLMResponse, Usage

REASONS: Mapping[FinishReason, str] = MappingProxyType(
    {
        FinishReason.STOP: "end_turn",
        FinishReason.TOOL_CALLS: "tool_use",
        FinishReason.LENGTH: "max_tokens",
        FinishReason.FILTERED: "refusal",
        FinishReason.PAUSED: "pause_turn",
    }
)
_PING = b'event: ping\ndata: {"type":"ping"}\n\n'


class MessagesRenderer(AnswerRenderer):
    """The named events of one answer, or its one document. Reasoning is shown only to a client that asked for it."""

    def __init__(self, asked: AskedCall, head: AnswerHead) -> None:
        numbers = count()
        super().__init__([tool.name for tool in asked.tools], lambda: f"toolu_{head.id}_{next(numbers)}")
        self._head = head
        self._model = asked.model
        self._shows_thoughts = asked.options.think is True

    def _restart(self) -> None:
        super()._restart()
        self._blocks = BlockStream()

    def begin(self) -> bytes:
        """Return the start of the message, with the estimated size of the prompt, and a first sign of life."""
        usage: Mapping[str, JSON] = {"input_tokens": self._head.input_tokens, "output_tokens": 0}
        return event({"type": "message_start", "message": self._message([], None, usage)}) + _PING

    def ping(self) -> bytes:
        """Return a sign of life."""
        return _PING

    def fail(self, failure: Failure) -> bytes:
        """Return the error that ends a stream."""
        return event(error_of(failure))

    def whole(self, response: LLMResponse) -> bytes:
        """Return the answer as one JSON document."""
        content = self._content(response.message)
        return orjson.dumps(self._message(content, REASONS[response.finish_reason], usage_of(response.usage)))

    def _text(self, text: str) -> bytes:
        return self._blocks.take(SaidText(text))

    def _reasoning(self, text: str, signature: str) -> bytes:
        return self._blocks.take(Thought(text, signature)) if self._shows_thoughts else b""

    def _call(self, number: int, call_id: str, name: str) -> bytes:
        return self._blocks.take(Calling(number, call_id, name))

    def _arguments(self, number: int, piece: str) -> bytes:
        return self._blocks.arguments(number, piece)

    def _block(self, block: ServerToolCall | ServerToolResult | Citation) -> bytes:
        return self._blocks.take(block) if is_shown(block) else b""

    def _end(self, response: LLMResponse) -> bytes:
        delta: Mapping[str, JSON] = {"stop_reason": REASONS[response.finish_reason], "stop_sequence": None}
        ended = event({"type": "message_delta", "delta": delta, "usage": usage_of(response.usage)})
        return self._blocks.end() + ended + event({"type": "message_stop"})

    def _message(self, content: list[JSON], reason: str | None, usage: Mapping[str, JSON]) -> dict[str, JSON]:
        return {
            "id": f"msg_{self._head.id}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": usage,
        }

    def _content(self, message: Message) -> list[JSON]:
        content: list[dict[str, JSON]] = []
        for block in message.blocks:
            match block:
                case Text(text) if text.strip():
                    content.append({"type": "text", "text": text})
                case Reasoning(text, seal) if self._shows_thoughts:
                    content.append({"type": "thinking", "thinking": text, "signature": seal})
                case ToolCall():
                    content.append({"type": "tool_use", "id": block.id, "name": block.name, "input": block.arguments})
                case ServerToolCall() if is_shown(block):
                    content.append(
                        {"type": "server_tool_use", "id": block.id, "name": block.name, "input": block.arguments}
                    )
                case ServerToolResult() if is_shown(block):
                    content.append(dict(server_result(block)))
                case Citation() if content and content[-1]["type"] == "text":
                    before = content[-1].get("citations")
                    content[-1]["citations"] = [*(before if isinstance(before, list) else ()), citation(block)]
        return list(content)


def usage_of(usage: Usage) -> dict[str, JSON]:
    """Return the use of tokens. `input_tokens` is without what was read from a cache or written to one.

    What is not known is left out.
    """
    told: dict[str, JSON] = {}
    if usage.input_tokens is not None:
        cached = (usage.cached_tokens or 0) + (usage.cache_write_tokens or 0)
        told["input_tokens"] = max(0, usage.input_tokens - cached)
    if usage.cache_write_tokens is not None:
        told["cache_creation_input_tokens"] = usage.cache_write_tokens
    if usage.cached_tokens is not None:
        told["cache_read_input_tokens"] = usage.cached_tokens
    if usage.output_tokens is not None:
        told["output_tokens"] = usage.output_tokens
    if usage.reasoning_tokens is not None:
        told["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    if usage.server_tools:
        told["server_tool_use"] = {f"{name}_requests": number for name, number in usage.server_tools.items()}
    return told
