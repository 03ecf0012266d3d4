"""Who may be told of what a journal of version 2 remembers, which did not say. Pure.

A line that was whispered, paged or said on a channel is known by its form. What was made of it is not: so whatever
might hold private words, a summary or a thought, goes to the one person it came from, and to nobody when there were
more. What was said aloud, seen or looked up in the room stays everybody's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from assistant.journal.entries import StreamEntry
from llm.messages import Role, ToolCall
from tools.trust import Audience

#: How lines of the stream began that were not said aloud in the room. Anybody can write such a line as an act of their
#: own: it is then kept private for nothing.
_PRIVATE = re.compile(r'^(?P<who>.+?) (?:(?P<how>whispers to|pages) you|says on (?P<channel>.+?)): "', re.MULTILINE)
#: How a summary begins (`compaction.py`).
_SUMMARY = "[What happened before, in short:"
#: Calls of which the room knew everything: what they said and what came of them.
_OPEN_CALLS = frozenset({"say", "emote", "look", "inspect", "who", "move"})


def with_audiences(entries: Iterable[StreamEntry], old: Collection[int]) -> tuple[StreamEntry, ...]:
    """Return the entries, each of those with a number in `old` with the audience that can be told of it."""
    return tuple(_with_audience(entry) if entry.seq in old else entry for entry in entries)


def _with_audience(entry: StreamEntry) -> StreamEntry:
    masked = _masked(entry)
    if masked is None:
        return entry
    people = frozenset(entry.sources)
    audience: Audience = people if len(people) == 1 else frozenset()
    return replace(entry, audience=audience, others_see=masked)


def _masked(entry: StreamEntry) -> str | None:
    """Return what others see of an entry that may hold private words, None for one that everybody may be told of."""
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
