"""The stored form of the perception stream: its entries, and what a run changes in them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from llm.messages import Message
from tools.trust import Audience


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
