"""Renders our messages as a request to Anthropic: content blocks, turns, and the marks of what may be cached."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence

import orjson
from msgspec import Struct

from mud_assistant.llm.messages import JSON, Image, JSONObject, Message, Role, Text, ToolCall, ToolResult, ToolSpec
from mud_assistant.llm.providers.anthropic.blocks import is_server_call, is_server_result
from mud_assistant.llm.providers.provider import NAMELESS

#: The placeholder where the API wants content and there is none.
NOTHING = "(nothing)"
_THOUGHTS = {"thinking", "redacted_thinking"}
#: Tools that run through the provider's code execution leave blocks of that, too.
_CODE = re.compile(r"code_execution")
_DATED = re.compile(r"_\d{8}$")
#: A prefix of an MCP server's name, so that a server with the name of a tool is not confused with it.
_MCP = "mcp_server/"
#: What an id must not hold.
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
#: How many cache marks one request may have.
_MAX_MARKS = 4
_OPEN = {role: b'{"role":"%b","content":[' % role.encode() for role in ("user", "assistant")}


class WireTurn(Struct, frozen=True):
    """Neighbouring messages of one wire role, as the blocks of one wire message, encoded and joined by commas."""

    role: str
    content: bytes


def join_request(head: dict[str, JSON], encoded: Sequence[tuple[Role, bytes]], *, may_cache: bool) -> bytes:
    """Return the body: system text at the top level, neighbours of one role in one turn, and cache marks.

    Marks in `head` count among those that one request may have. Without `may_cache` none is added.
    """
    fixed = next((at for at, (role, _) in enumerate(encoded) if role is not Role.SYSTEM), len(encoded))
    marks = _Marks(orjson.dumps(head).count(b'"cache_control":') if may_cache else _MAX_MARKS)
    front = _front(head, b",".join(content for _, content in encoded[:fixed] if content), marks)
    return front + b',"messages":[' + b",".join(_wire_messages(join_turns(encoded[fixed:]), marks)) + b"]}"


def content_of(message: Message, provider: str, server_tools: Collection[str]) -> list[JSONObject]:
    """Return the content blocks of a message: replayed as they came if this provider made it, else built anew.

    Blocks of server tools are included only for tools that are offered again.
    """
    if raw := message.raw_of(provider):
        return replay_blocks(raw, server_tools)
    if message.role is Role.TOOL:
        return [result_block(result) for result in message.tool_results]
    blocks: list[JSONObject] = []
    said = ""
    for block in message.blocks:
        if isinstance(block, Text):
            said += block.text
        elif isinstance(block, ToolCall | Image):
            blocks += [*_text(said), _call(block) if isinstance(block, ToolCall) else _image(block)]
            said = ""
    blocks += _text(said.rstrip() if message.role is Role.ASSISTANT else said)
    return blocks if blocks or message.role is not Role.USER else [{"type": "text", "text": NOTHING}]


def replay_blocks(raw: Sequence[JSONObject], server_tools: Collection[str]) -> list[JSONObject]:
    """Return the raw blocks that may be sent back, unchanged.

    Trailing reasoning is left out, as the API requires.
    """
    calls = {str(block.get("id")): block for block in raw if is_server_call(str(block.get("type")))}

    def goes(block: JSONObject) -> bool:
        kind = str(block.get("type"))
        if not (is_server_call(kind) or is_server_result(kind)):
            return True
        call = calls.get(str(block.get("tool_use_id") or block.get("id")))
        if call is None:
            return _any_offered(server_tools, mcp=kind.startswith("mcp_"))
        return _is_offered(call, server_tools)

    kept = [block for block in raw if goes(block)]
    if len(kept) < len(raw) or not _any_offered(server_tools):
        kept = [_without_found_sources(block) for block in kept]
    while kept and kept[-1].get("type") in _THOUGHTS:
        kept.pop()
    return kept


def join_turns(encoded: Iterable[tuple[Role, bytes]]) -> list[WireTurn]:
    """Return encoded messages as alternating turns, results of calls first. The first turn is the user's."""
    made: list[WireTurn] = []
    results: list[bytes] = []
    others: list[bytes] = []
    before = ""
    for role, content in encoded:
        if not content:
            continue
        wire = "assistant" if role is Role.ASSISTANT else "user"
        if wire != before and before:
            made.append(WireTurn(before, b",".join(results + others)))
            results, others = [], []
        before = wire
        (results if role is Role.TOOL else others).append(content)
    if before:
        made.append(WireTurn(before, b",".join(results + others)))
    if not made or made[0].role != "user":
        made.insert(0, WireTurn("user", b'{"type":"text","text":"(The conversation goes on.)"}'))
    return made


def mark_for_cache(content: bytes) -> bytes:
    """Return encoded blocks with a cache mark on the last one. The provider may keep everything up to it."""
    return content[:-1] + b',"cache_control":{"type":"ephemeral"}}'


def tool_of(tool: ToolSpec) -> JSONObject:
    """Return a client tool as Anthropic wants it."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def result_block(result: ToolResult) -> JSONObject:
    """Return the block that answers one call. Empty content becomes a placeholder."""
    block: dict[str, JSON] = {
        "type": "tool_result",
        "tool_use_id": portable_id(result.call_id),
        "content": result.text if result.text.strip() else NOTHING,
    }
    return {**block, "is_error": True} if result.failed else block


def portable_id(call_id: str) -> str:
    """Return the id in letters, digits, `_` and `-`.

    A call of another provider, too, keeps the same id as its result, and different ids stay different.
    """
    if call_id and not _FOREIGN.search(call_id):
        return call_id
    return f"{_FOREIGN.sub('_', call_id) or 'call'}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"


def server_tool_names(tools: object) -> frozenset[str]:
    """Return the names that blocks of the offered server tools use, empty when none is offered."""
    offered = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    names = set()
    for tool in offered:
        if "input_schema" not in tool and isinstance(kind := tool.get("type"), str):
            names |= {str(tool.get("name") or tool.get("mcp_server_name") or ""), _DATED.sub("", kind)}
    return frozenset(names)


def mcp_server_names(servers: object) -> frozenset[str]:
    """Return the names that blocks of a request's MCP servers use. They need no entry among its tools."""
    listed = servers if isinstance(servers, list | tuple) else ()
    return frozenset(f"{_MCP}{server['name']}" for server in listed if isinstance(server, Mapping) and "name" in server)


class _Marks:
    """How many cache marks are left."""

    def __init__(self, used: int) -> None:
        self._left = _MAX_MARKS - used

    def take(self) -> bool:
        """Use one mark if any is left. Return whether one was."""
        self._left -= 1
        return self._left >= 0


def _front(body: dict[str, JSON], system: bytes, marks: _Marks) -> bytes:
    """Return the body up to its messages, open at the end.

    The last tool and the last block of system text carry cache marks.
    """
    tools = body.get("tools")
    last = tools[-1] if isinstance(tools, list) and tools else None
    if isinstance(tools, list) and isinstance(last, Mapping) and "cache_control" not in last and marks.take():
        body["tools"] = [*tools[:-1], {**last, "cache_control": {"type": "ephemeral"}}]
    front = orjson.dumps(body)[:-1]
    if not system:
        return front
    return front + b',"system":[' + (mark_for_cache(system) if marks.take() else system) + b"]"


def _wire_messages(said: Sequence[WireTurn], marks: _Marks) -> list[bytes]:
    """Return the turns as wire messages, with a cache mark on the user's last one."""
    last = next(turn for turn in reversed(said) if turn.role == "user") if marks.take() else None
    return [
        _OPEN[turn.role] + (mark_for_cache(turn.content) if turn is last else turn.content) + b"]}" for turn in said
    ]


def _text(said: str) -> list[JSONObject]:
    """Return a text block, or none for blanks, which the API refuses."""
    return [{"type": "text", "text": said}] if said.strip() else []


def _image(image: Image) -> JSONObject:
    source: JSONObject = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _call(call: ToolCall) -> JSONObject:
    return {"type": "tool_use", "id": portable_id(call.id), "name": call.name or NAMELESS, "input": call.arguments}


def _is_offered(call: JSONObject, server_tools: Collection[str]) -> bool:
    name = str(call.get("name"))
    if call.get("type") == "mcp_tool_use":
        server = call.get("server_name")
        return "mcp_toolset" in server_tools or server in server_tools or f"{_MCP}{server}" in server_tools
    return name in server_tools or (_any_offered(server_tools) and bool(_CODE.search(name)))


def _any_offered(server_tools: Collection[str], *, mcp: bool = False) -> bool:
    """Tell whether any server tool is offered. MCP servers that stand for themselves count for MCP blocks only."""
    return any(mcp or not name.startswith(_MCP) for name in server_tools)


def _without_found_sources(block: JSONObject) -> JSONObject:
    """Return the block without sources that point into search results which are not sent along."""
    cited = block.get("citations")
    if not isinstance(cited, list):
        return block
    left = [source for source in cited if not (isinstance(source, Mapping) and "encrypted_index" in source)]
    if len(left) == len(cited):
        return block
    rest = {key: value for key, value in block.items() if key != "citations"}
    return {**rest, "citations": left} if left else rest
