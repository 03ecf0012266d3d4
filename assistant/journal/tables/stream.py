"""Stores the perception stream of one assistant, one row an entry: the cost of appending is that of the new entry.

A journal of version 2 did not store who may be told of an entry; `with_audiences` finds it. A line that was whispered,
paged or said on a channel is known by its form. What was made of such a line, in a summary or a thought, is not. So an
entry that may hold private words is kept for the one person it came from, or for nobody when there were more. Everybody
may be told of what was said aloud, seen or looked up in the room.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.journal.codec import exact_json, parse_json, seal, unseal
from mud_assistant.assistant.journal.database import Database, delete_all, insert_all
from mud_assistant.assistant.journal.errors import BrokenRecord, NewerRecord
from mud_assistant.assistant.journal.protocol import StreamChange, StreamEntry
from mud_assistant.assistant.journal.records import MESSAGES
from mud_assistant.assistant.journal.tables.lease import Lease
from mud_assistant.llm.messages import Role, ToolCall
from mud_assistant.tools.trust import Audience

#: The beginnings of stream lines that were not said aloud in the room. A player can imitate such a line in an emote; it
#: is then kept private without need.
_PRIVATE = re.compile(r'^(?P<who>.+?) (?:(?P<how>whispers to|pages) you|says on (?P<channel>.+?)): "', re.MULTILINE)
#: The beginning of a summary (`compaction.py`).
_SUMMARY = "[What happened before, in short:"
#: Calls whose words and results everybody in the room could see.
_OPEN_CALLS = frozenset({"say", "emote", "look", "inspect", "who", "move"})
_APPEND = """INSERT INTO stream (assistant, importance, event_ids, payload, authority, sources, audience)
             VALUES (?, ?, ?, ?, ?, ?, ?)"""
#: How many records of names are cached for the next entries.
_KEPT_RECORDS = 64
#: The values of a new row: importance, event ids, messages, authority, sources, audience.
Row = tuple[int, bytes, bytes, int, bytes, bytes]
#: The audience record of an entry that everybody may be told of.
_EVERYBODY = seal(b"[]")


class LoadedStream(Struct, frozen=True):
    """The readable entries, oldest first, and how many others could not be read."""

    entries: tuple[StreamEntry, ...]
    unreadable: int


class StoredStream:
    """What an assistant remembers of what it perceived and did."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease

    async def load_stream(self, newest: int = 1000) -> LoadedStream:
        """Return at most the `newest` entries. Raises JournalUnreadable."""

        def work(db: Database) -> LoadedStream:
            rows = db.execute(
                """SELECT seq, importance, event_ids, payload, authority, sources, audience FROM stream
                   WHERE assistant = ? ORDER BY seq DESC LIMIT ?""",
                (self._lease.assistant, newest),
            ).fetchall()
            entries = [_entry(row) for row in reversed(rows)]
            readable = tuple(entry for entry in entries if entry is not None)
            old = frozenset(row[0] for row in rows if not row[-1])
            return LoadedStream(with_audiences(readable, old), len(entries) - len(readable))

        return await self._lease.read(work)


def rows_of(change: StreamChange) -> list[Row]:
    """Return the new entries as rows. Pure, for any thread."""
    return [
        (
            entry.importance,
            _record_of(entry.event_ids),
            MESSAGES.encode(entry.messages),
            entry.authority,
            _record_of(entry.sources),
            _EVERYBODY if entry.audience is None else _audience_record(entry),
        )
        for entry in change.new
    ]


def apply(db: Database, assistant: str, rows: Sequence[Row], forget: Sequence[int]) -> tuple[int, ...]:
    """Remove the rows to `forget` and append the new ones; return the numbers of the new rows."""
    delete_all(db, "stream", assistant, forget)
    return insert_all(db, _APPEND, [(assistant, *row) for row in rows])


@lru_cache(maxsize=_KEPT_RECORDS)
def _record_of(names: tuple[str, ...]) -> bytes:
    """Return the names as a record. Cached, as mostly there are none, or the same people as a moment ago."""
    return seal(exact_json(names))


def names_in(record: bytes) -> tuple[str, ...]:
    """Return the names in a record of `event_ids` or `sources`. Raises BrokenRecord."""
    return tuple(parse_json(unseal(record)))


def _audience_record(entry: StreamEntry) -> bytes:
    return seal(exact_json([sorted(entry.audience or ()), entry.others_see]))


def _entry(row: tuple[int, int, bytes, bytes, int, bytes, bytes]) -> StreamEntry | None:
    """Return the entry of a row, None when it cannot be read.

    An entry of version 2 has no record of its audience; `with_audiences` finds it later.
    """
    seq, importance, event_ids, record, authority, sources, audience = row
    try:
        messages = tuple(MESSAGES.decode(record))
        hearers, others_see = _audience_in(audience)
        names = names_in(event_ids), authority, names_in(sources)
        return StreamEntry(messages, importance, *names, seq, hearers, others_see)
    except (BrokenRecord, NewerRecord, TypeError, ValueError):
        return None


def _audience_in(record: bytes) -> tuple[Audience, str]:
    if not record or record == _EVERYBODY:
        return None, ""
    hearers, others_see = parse_json(unseal(record))
    return frozenset(hearers), str(others_see)


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
