"""Renders our messages as the input items of the Responses API.

A turn that this API wrote goes back as it came, without the ids of its items: with `store: false` the server has kept
none of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import orjson

from mud_assistant.llm.messages import JSON, Image, JSONObject, Message, Role, Text, ToolCall, ToolResult
from mud_assistant.llm.providers.provider import NAMELESS

#: What is not sent back of an item: what names it at the server, or its place in a stream.
_NAMES = frozenset({"id", "item_id", "output_index", "sequence_number"})
#: Items that the API wants answered by its client. Without their answer the whole request would be refused.
_FOR_THE_CLIENT = frozenset(
    {
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "mcp_approval_request",
    }
)
#: How long the id of a call may be.
_MAX_ID_CHARS = 64


def items_of(message: Message, provider: str) -> list[JSONObject]:
    """Return the items of a message, at least one: replayed if this provider made it, else built anew."""
    if message.role is Role.TOOL:
        return [result_item(result) for result in message.tool_results]
    if items := replay_items(message.raw_of(provider)):
        return items
    if any(isinstance(block, Image) for block in message.blocks):
        return [{"role": message.role.value, "content": _parts(message)}]
    items, said = [], ""
    for block in message.blocks:
        if isinstance(block, Text):
            said += block.text
        elif isinstance(block, ToolCall):
            items += [*_text(message.role, said), _call(block)]
            said = ""
    items += _text(message.role, said)
    return items or [{"role": message.role.value, "content": ""}]


def replay_items(raw: Sequence[JSONObject]) -> list[JSONObject]:
    """Return the raw items that may be sent back, without their ids.

    Reasoning goes only if it holds something its server can read, and only in front of the item that it led to.
    """
    answered = {item.get("call_id") for item in raw if str(item.get("type")).endswith("_output")}
    kept: list[JSONObject] = []
    is_followed = False
    for item in reversed(raw):
        if item.get("type") == "reasoning":
            goes = is_followed and _is_readable(item)
        else:
            goes = is_followed = not _waits_for_client(item) or item.get("call_id") in answered
        if goes:
            kept.append({key: value for key, value in item.items() if key not in _NAMES})
    return kept[::-1]


def result_item(result: ToolResult) -> JSONObject:
    """Return the item that answers one call."""
    return {"type": "function_call_output", "call_id": portable_id(result.call_id), "output": result.text}


def portable_id(call_id: str) -> str:
    """Return the id in at most 64 characters. Different ids stay different."""
    if 0 < len(call_id) <= _MAX_ID_CHARS:
        return call_id
    return f"{call_id[:40] or 'call'}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"


def _is_readable(item: JSONObject) -> bool:
    """Tell whether its server can read this reasoning: it is sealed, or in plain words by a server without seals."""
    sealed = item.get("encrypted_content", "")
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    return bool(sealed) or (sealed == "" and any(isinstance(part, Mapping) and part.get("text") for part in parts))


def _waits_for_client(item: JSONObject) -> bool:
    return item.get("type") in _FOR_THE_CLIENT or item.get("execution") == "client"


def _text(role: Role, said: str) -> list[JSONObject]:
    return [{"role": role.value, "content": said}] if said else []


def _parts(message: Message) -> list[JSON]:
    """Return texts and images as parts of one item."""
    parts: list[JSON] = []
    for block in message.blocks:
        if isinstance(block, Image):
            parts.append({"type": "input_image", "image_url": block.data_url, "detail": "auto"})
        elif isinstance(block, Text) and block.text:
            parts.append({"type": "input_text", "text": block.text})
    return parts


def _call(call: ToolCall) -> JSONObject:
    written: JSON = orjson.dumps(call.arguments).decode()
    name = call.name or NAMELESS
    return {"type": "function_call", "call_id": portable_id(call.id), "name": name, "arguments": written}
