"""What of a model's answer is kept, said and sent back: never a key, and never more than was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from llm import LLMResponse
from llm.messages import (
    JSON,
    Block,
    Citation,
    Message,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)

#: Gives a text back with every key replaced.
Scrub = Callable[[str], str]


def discreet(response: LLMResponse, scrub: Scrub) -> LLMResponse:
    """The answer with every key in it replaced; the same object when it holds none.

    The provider's own form of a turn that held one is dropped: it may be sealed, and is replayed only as it was.
    """
    message = response.message
    blocks = tuple(_scrubbed(block, scrub) for block in message.blocks)
    raw = message.raw
    if raw is not None and _differs(json.dumps(list(raw.blocks), ensure_ascii=False, default=str), scrub):
        raw = None
    if blocks == message.blocks and raw is message.raw:
        return response
    return replace(response, message=Message(message.role, blocks), structured=None)


def bounded(response: LLMResponse, most: int) -> LLMResponse:
    """The answer with every text the model wrote cut to `most` characters; the same object when none is longer.

    A server that heeds no limit must not fill the window for good: the last answers are sent back with every request.
    """

    def cut(text: str) -> str:
        return text[:most]

    message = response.message
    blocks = tuple(
        _scrubbed(block, cut) if isinstance(block, Text | Reasoning | ToolCall) else block for block in message.blocks
    )
    return response if blocks == message.blocks else replace(response, message=Message(message.role, blocks))


def _differs(text: str, scrub: Scrub) -> bool:
    return scrub(text) != text


def _scrubbed(block: Block, scrub: Scrub) -> Block:
    match block:
        case Text(text) | Reasoning(text):
            return replace(block, text=scrub(text))
        case ToolCall():
            arguments = {scrub(name): _plain(value, scrub) for name, value in block.arguments.items()}
            return replace(
                block, name=scrub(block.name), arguments=arguments, problem=scrub(block.problem), id=scrub(block.id)
            )
        case ToolResult() | ServerToolResult():
            return replace(block, text=scrub(block.text))
        case ServerToolCall():
            arguments = {scrub(name): _plain(value, scrub) for name, value in block.arguments.items()}
            return replace(block, arguments=arguments)
        case Citation():
            return replace(block, text=scrub(block.text), url=scrub(block.url), title=scrub(block.title))


def _plain(value: JSON, scrub: Scrub) -> JSON:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrub(name): _plain(inner, scrub) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, scrub) for inner in value]
    return value
