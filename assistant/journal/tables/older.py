"""Finds who may be told of the entries of a journal of version 2, which did not store it. Pure.

A line that was whispered, paged or said on a channel is known by its form. What was made of such a line, in a summary
or a thought, is not. So an entry that may hold private words is kept for the one person it came from, or for nobody
when there were more. Everybody may be told of what was said aloud, seen or looked up in the room.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from assistant.journal.entries import StreamEntry
from llm.messages import Role, ToolCall
from tools.trust import Audience

#: The beginnings of stream lines that were not said aloud in the room. A player can imitate such a line in an emote; it
#: is then kept private without need.
_PRIVATE = re.compile(r'^(?P<who>.+?) (?:(?P<how>whispers to|pages) you|says on (?P<channel>.+?)): "', re.MULTILINE)
#: The beginning of a summary (`compaction.py`).
_SUMMARY = "[What happened before, in short:"
#: Calls whose words and results everybody in the room could see.
_OPEN_CALLS = frozenset({"say", "emote", "look", "inspect", "who", "move"})


def with_audiences(entries: Iterable[StreamEntry], old: Collection[int]) -> tuple[StreamEntry, ...]:
    """Return the entries; those whose number is in `old` get the audience that may be told of them."""
    return tuple(_with_audience(entry) if entry.seq in old else entry for entry in entries)


def _with_audience(entry: StreamEntry) -> StreamEntry:
    masked = _mask(entry)
    if masked is None:
        return entry
    people = frozenset(entry.sources)
    audience: Audience = people if len(people) == 1 else frozenset()
    return replace(entry, audience=audience, others_see=masked)


def _mask(entry: StreamEntry) -> str | None:
    """Return what others see of an entry that may hold private words, None when everybody may be told of it."""
    if any(message.role is not Role.USER for message in entry.messages):
        calls = [call.name for message in entry.messages for call in message.tool_calls]
        thought = any(
            message.raw is not None or not isinstance(block, ToolCall)
            for message in entry.messages
            if message.role is Role.ASSISTANT
            for block in message.blocks
        )
        return None if calls and not thought and _OPEN_CALLS.issuperset(calls) else ""
    text = "\n".join(message.text for message in entry.messages)
    if text.startswith(_SUMMARY):
        return ""
    found = dict.fromkeys(_line(match) for match in _PRIVATE.finditer(text))
    return "\n".join(found) if found else None


def _line(match: re.Match[str]) -> str:
    if match["channel"]:
        return f"{match['who']} said something on {match['channel']}."
    return f"{match['who']} whispered something to you." if match["how"] != "pages" else f"{match['who']} paged you."
