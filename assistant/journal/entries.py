"""Defines what a journal takes and gives back: events of the inbox, entries of the stream, counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from assistant.events.classify import Attention
from assistant.events.events import Event
from llm.messages import Message
from tools.trust import Audience


@dataclass(frozen=True, slots=True)
class Accepted:
    """An event in the inbox, with the attention it got."""

    event: Event
    attention: Attention


@dataclass(frozen=True, slots=True)
class Parked:
    """An event that is no longer tried, and why. `accepted` is None when it cannot be read."""

    event_id: str
    accepted: Accepted | None
    crashes: int
    reason: str


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """Something perceived, or one whole step, with the ids of the events in it. `seq` is 0 until it is written.

    `authority` is the lowest of what the entry holds. `sources` are the ids of the principals whose words are in it.
    `audience` says who may be told of it. `others_see` replaces the entry where others would hear the answer; when it
    is empty, the entry is left out there.
    """

    messages: tuple[Message, ...]
    importance: int
    event_ids: tuple[str, ...] = ()
    authority: int = 0
    sources: tuple[str, ...] = ()
    seq: int = 0
    audience: Audience = None
    others_see: str = ""


@dataclass(frozen=True, slots=True)
class StreamChange:
    """A change of the stream: entries to append, in this order, and the numbers of those trimmed since the last one."""

    new: tuple[StreamEntry, ...] = ()
    forget: tuple[int, ...] = ()


#: The change that leaves the stream as it is.
NO_CHANGE = StreamChange()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How much was removed of a player, and how many of their events are `waiting` and must be dealt with first.

    `erased` is True when no byte of the removed data is left in the file and its log. Otherwise the next start erases
    the rest.
    """

    events: int
    runs: int
    notes: int
    entries: int
    waiting: int = 0
    erased: bool = False
