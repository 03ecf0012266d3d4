"""Reads messages back from the bytes that the providers here encode them to. Pure.

Bytes say less than a message: reasoning, or why a call cannot be run, may be missing. So each message is read back when
it is packed, and compared; one that comes out different is stored as its record as well (`packed.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from mud_assistant.llm.messages import Block, Message, RawTurn, Reasoning, Role, Text, ToolCall, ToolResult


def reads_back(message: Message, wire: bytes, before: Message | None) -> bool:
    """Tell whether these bytes are enough to read the message back. `before` is the message before it, if any."""
    try:
        return read_message(message.role, wire, before, as_sent=message.raw is not None) == message
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def read_message(role: Role, wire: bytes, before: Message | None, *, as_sent: bool) -> Message:
    """Return the message of these bytes. Errors are unspecified for bytes of which `reads_back` says no.

    `before` names the tools of results whose bytes do not. With `as_sent`, the bytes are the raw turn as well: only
    Anthropic's are replayed verbatim.
    """
    objects = orjson.loads(b"[%b]" % wire)
    if role is Role.TOOL:
        names = {call.id: call.name for call in before.tool_calls} if before else {}
        return Message(role, tuple([_result(found, names) for found in objects]))
    blocks: list[Block] = []
    for found in objects:
        blocks += _turn(found) if "role" in found else _content(found)
    return Message(role, tuple(blocks), RawTurn("anthropic", tuple(objects)) if as_sent else None)


def _turn(found: Mapping[str, Any]) -> list[Block]:
    """Return the blocks of a wire message of Chat Completions or Ollama."""
    blocks: list[Block] = []
    if thought := found.get("thinking"):
        blocks.append(Reasoning(thought))
    if text := found["content"]:
        blocks.append(Text(text))
    for call in found.get("tool_calls", ()):
        function = call["function"]
        arguments = function["arguments"]
        parsed = orjson.loads(arguments) if isinstance(arguments, str) else arguments
        blocks.append(ToolCall(call["id"], function["name"], parsed))
    return blocks


def _content(found: Mapping[str, Any]) -> list[Block]:
    """Return the block for one of Anthropic's content blocks, or none for a kind that has no counterpart here."""
    match found["type"]:
        case "text":
            return [Text(found["text"])]
        case "thinking":
            return [Reasoning(found["thinking"], found.get("signature", ""))]
        case "tool_use":
            return [ToolCall(found["id"], found["name"], found["input"])]
        case _:
            return []


def _result(found: Mapping[str, Any], names: Mapping[str, str]) -> ToolResult:
    call_id = found["tool_use_id"] if "tool_use_id" in found else found["tool_call_id"]
    name = found["tool_name"] if "tool_name" in found else names.get(call_id, "")
    return ToolResult(call_id, name, found["content"], found.get("is_error", False))
