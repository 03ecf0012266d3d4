"""Reads messages back from the bytes that the providers here encode them to. Pure.

Bytes say less than a message: a result's name, reasoning, and why a call cannot be run may be missing. So each message
is read back when it is packed, and compared. The way that restored it is noted, and `KEPT` when none did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from llm.messages import Block, Message, RawTurn, Reasoning, Role, Text, ToolCall, ToolResult

#: KEPT: the bytes do not say everything. PLAIN: they do. NAMED: they do, except for the names of results, which come
#: from the calls of the preceding message. RAW: they are the turn as Anthropic sent it.
KEPT, PLAIN, NAMED, RAW = range(4)

_WAYS_OF = {Role.SYSTEM: (PLAIN,), Role.USER: (PLAIN,), Role.ASSISTANT: (PLAIN, RAW), Role.TOOL: (NAMED, PLAIN)}


def way_back(before: Message | None, message: Message, key: str) -> int:
    """Return the way to read the message back from its bytes under this key. `before` is the preceding message."""
    for way in _WAYS_OF[message.role]:
        if way == NAMED and before is None:
            continue
        try:
            if read(before, message.role, message.wire[key], way) == message:
                return way
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return KEPT


def read(before: Message | None, role: Role, wire: bytes, way: int) -> Message:
    """Return the message. Use it only on bytes that `way_back` was given; for others its errors are unspecified."""
    objects = orjson.loads(b"[%b]" % wire)
    if role is Role.TOOL:
        names = {call.id: call.name for call in before.tool_calls} if before and way == NAMED else {}
        return Message(role, tuple([_result(told, names) for told in objects]))
    blocks: list[Block] = []
    for told in objects:
        blocks += _turn(told) if "role" in told else _content(told)
    return Message(role, tuple(blocks), RawTurn("anthropic", tuple(objects)) if way == RAW else None)


def _turn(told: Mapping[str, Any]) -> list[Block]:
    """Return the blocks of a wire message of Chat Completions or Ollama."""
    blocks: list[Block] = []
    if thought := told.get("thinking"):
        blocks.append(Reasoning(thought))
    if text := told["content"]:
        blocks.append(Text(text))
    for call in told.get("tool_calls", ()):
        function = call["function"]
        arguments = function["arguments"]
        parsed = orjson.loads(arguments) if isinstance(arguments, str) else arguments
        blocks.append(ToolCall(call["id"], function["name"], parsed))
    return blocks


def _content(told: Mapping[str, Any]) -> list[Block]:
    """Return the block for one of Anthropic's content blocks, or none for a kind that has no counterpart here."""
    match told["type"]:
        case "text":
            return [Text(told["text"])]
        case "thinking":
            return [Reasoning(told["thinking"], told.get("signature", ""))]
        case "tool_use":
            return [ToolCall(told["id"], told["name"], told["input"])]
        case _:
            return []


def _result(told: Mapping[str, Any], names: Mapping[str, str]) -> ToolResult:
    call_id = told["tool_use_id"] if "tool_use_id" in told else told["tool_call_id"]
    name = names.get(call_id) or told.get("tool_name", "")
    return ToolResult(call_id, name, told["content"], told.get("is_error", False))
