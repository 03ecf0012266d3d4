"""A brain for benches and trials: answers like a sensible model, always in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from llm.testing.script import Call, RecordedRequest, Reply

#: How many characters of the last line are quoted.
QUOTE_LIMIT = 200
_REASONING = "Someone spoke to me, so I answer."


def simple_sage(request: RecordedRequest) -> Reply:
    """Return a reply that quotes the last line a user said.

    With native tools it is a call of `say`, or plain text when `say` is not offered. Without tools it is the JSON form
    of a call. After a tool's result the sage has nothing to add.
    """
    if not request.tools:
        call = {"tool": "say", "parameters": {"text": _last_words(request)}, "reasoning": _REASONING}
        return Reply(orjson.dumps(call).decode())
    if request.messages and _is_result(request.messages[-1]):
        return Reply("Nothing to add.")
    if "say" in map(_tool_name, request.tools):
        return Reply(calls=(Call("say", {"text": _last_words(request)}, f"call_sage_{len(request.messages)}"),))
    return Reply(_last_words(request))


def _last_words(request: RecordedRequest) -> str:
    """Return the quotation, as the sage says it."""
    said = [_text(message) for message in request.messages if message.get("role") == "user"]
    lines = [line.strip() for line in "\n".join(said).splitlines() if line.strip()]
    return f"You asked: {lines[-1][:QUOTE_LIMIT]}" if lines else "You asked nothing."


def _is_result(message: Mapping[str, Any]) -> bool:
    """Tell whether this is the result of a tool. Anthropic sends that as a block of a user's message."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return message.get("role") == "tool" or any(
        isinstance(block, Mapping) and block.get("type") == "tool_result" for block in blocks
    )


def _text(message: Mapping[str, Any]) -> str:
    """Return a message's text. Chat Completions may send it in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return str(content or "")


def _tool_name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    named = function if isinstance(function, Mapping) else tool
    return str(named.get("name") or "")
