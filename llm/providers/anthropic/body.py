"""Joins encoded messages to the body of a request to Anthropic, and marks what may be kept in the prompt cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from llm.messages import JSON, Role
from llm.providers.anthropic.turns import WireTurn, join_turns, mark_for_cache

#: How many cache marks one request may have.
_MAX_MARKS = 4
_OPEN = {role: b'{"role":"%b","content":[' % role.encode() for role in ("user", "assistant")}


def join_request(head: dict[str, JSON], encoded: Sequence[tuple[Role, bytes]], *, may_cache: bool) -> bytes:
    """Return the body: system text at the top level, neighbours of one role in one turn, and cache marks.

    Marks in `head` count among those that one request may have. Without `may_cache` none is added.
    """
    fixed = next((at for at, (role, _) in enumerate(encoded) if role is not Role.SYSTEM), len(encoded))
    marks = _Marks(orjson.dumps(head).count(b'"cache_control":') if may_cache else _MAX_MARKS)
    front = _front(head, b",".join(content for _, content in encoded[:fixed] if content), marks)
    return front + b',"messages":[' + b",".join(_wire_messages(join_turns(encoded[fixed:]), marks)) + b"]}"


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
    last = next(turn for turn in reversed(said) if turn.role == "user")
    if marks.take():
        last.content = mark_for_cache(last.content)
    return [_OPEN[turn.role] + turn.content + b"]}" for turn in said]
