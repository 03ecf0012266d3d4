"""What the perception stream is kept as: entries, and what a run changes in them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from llm.messages import Message
from tools.trust import Audience


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """Something perceived, or one whole step, with the ids of the events in it. `seq` is 0 until it was written.

    `authority` is the lowest of what it holds, `sources` the ids of the principals whose words are in it, `audience`
    who may be told of it. `others_see` stands for it where others would hear the answer; empty for nothing at all.
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
    """Entries to append, in this order, and the numbers of those that were trimmed since."""

    new: tuple[StreamEntry, ...] = ()
    forget: tuple[int, ...] = ()


#: The stream stays as it is.
NO_CHANGE = StreamChange()
