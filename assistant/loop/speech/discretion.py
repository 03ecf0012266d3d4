"""Decides what of a model's answer is recorded, said and sent back: never a key, and never more than was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from assistant.keys.disguises import KeyPieces
from llm import LLMResponse
from llm.messages import (
    JSON,
    Block,
    Citation,
    Message,
    RawTurn,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)

#: Returns a text with every key replaced.
Scrub = Callable[[str], str]


def make_discreet(response: LLMResponse, scrub: Scrub, most: int, pieces: KeyPieces) -> LLMResponse:
    """Replace every key in the answer, and cut every text the model wrote to `most` characters.

    Returns the same object when there was nothing to do. `pieces` knows what was said before, and learns what is said
    now. The cut is needed because the last answers are sent back with every request: a server that ignores the limit
    would fill the window for good. The provider's own form of a turn that held a key is dropped: it may be sealed, and
    can only be replayed unchanged.
    """
    message = response.message
    texts = _texts_of(message.blocks)
    shown = [scrub(text) for text in texts]
    if shown != texts or (message.raw is not None and _holds_key(message.raw, scrub)):
        blocks = tuple(_changed(block, scrub) for block in message.blocks)
        response = replace(response, message=Message(message.role, blocks), structured=None)
    if pieces.values:
        response = _without_pieces(response, pieces)
    if max(map(len, shown), default=0) > most:
        response = _cut(response, most)
    return response


def _without_pieces(response: LLMResponse, pieces: KeyPieces) -> LLMResponse:
    """Remove pieces of keys from what the model thinks, says and asks tools for, in the order of the answer."""
    blocks = tuple(_without_pieces_in(block, pieces) for block in response.message.blocks)
    if blocks == response.message.blocks:
        return response
    return replace(response, message=Message(response.message.role, blocks), structured=None)


def _without_pieces_in(block: Block, pieces: KeyPieces) -> Block:
    match block:
        case Text(text):
            shown = pieces.scrub(text)
            return block if shown == text else replace(block, text=shown)
        case Reasoning(text):
            shown = pieces.scrub(text, "thought")
            return block if shown == text else replace(block, text=shown)
        case ToolCall():
            texts = dict(block.arguments)
            for name, value in texts.items():
                spoken = "text" if name == "text" else "argument"
                texts[name] = scrub_json(value, partial(pieces.scrub, kind=spoken))
            return replace(block, arguments=texts) if _told(texts) != _told(block.arguments) else block
        case _:
            return block


def _told(value: JSON) -> list[str]:
    texts: list[str] = []
    _gather(value, texts)
    return texts


def _holds_key(raw: RawTurn, scrub: Scrub) -> bool:
    text = json.dumps(list(raw.blocks), ensure_ascii=False, default=str)
    return scrub(text) != text


def _cut(response: LLMResponse, most: int) -> LLMResponse:
    def cut(text: str) -> str:
        return text[:most]

    message = response.message
    blocks = tuple(
        _changed(block, cut) if isinstance(block, Text | Reasoning | ToolCall) else block for block in message.blocks
    )
    return response if blocks == message.blocks else replace(response, message=Message(message.role, blocks))


def _texts_of(blocks: Sequence[Block]) -> list[str]:
    """Return every text in the blocks."""
    texts: list[str] = []
    for block in blocks:
        match block:
            case Text() | Reasoning() | ToolResult() | ServerToolResult():
                texts.append(block.text)
            case ToolCall():
                texts += (block.id, block.name, block.problem)
                _gather(block.arguments, texts)
            case ServerToolCall():
                _gather(block.arguments, texts)
            case Citation():
                texts += (block.text, block.url, block.title)
    return texts


def _gather(value: JSON, texts: list[str]) -> None:
    """Append every text in the value to `texts`, names of fields included."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            texts.append(name)
            _gather(inner, texts)
    elif isinstance(value, list | tuple):
        for inner in value:
            _gather(inner, texts)


def _changed(block: Block, scrub: Scrub) -> Block:
    match block:
        case Text(text) | Reasoning(text):
            return replace(block, text=scrub(text))
        case ToolCall():
            arguments = {scrub(name): scrub_json(value, scrub) for name, value in block.arguments.items()}
            return replace(
                block, name=scrub(block.name), arguments=arguments, problem=scrub(block.problem), id=scrub(block.id)
            )
        case ToolResult() | ServerToolResult():
            return replace(block, text=scrub(block.text))
        case ServerToolCall():
            arguments = {scrub(name): scrub_json(value, scrub) for name, value in block.arguments.items()}
            return replace(block, arguments=arguments)
        case Citation():
            return replace(block, text=scrub(block.text), url=scrub(block.url), title=scrub(block.title))


def scrub_json(value: JSON, scrub: Scrub) -> JSON:
    """Replace every key in the value, also in the names of fields."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {scrub(name): scrub_json(inner, scrub) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [scrub_json(inner, scrub) for inner in value]
    return value
