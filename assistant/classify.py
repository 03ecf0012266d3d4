"""Whether an event wakes the assistant, is only remembered, or is nothing to it. Pure: design.md section 4.1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from assistant.events import ChannelSaid, Emoted, Event, Noticed, Paged, Said, Whispered, spoken_text
from tools.context import Kind

#: How often assistants may answer each other until a human speaks (RFC 3834 in spirit).
MAX_BOT_EXCHANGES = 4

_MENTION, _DIRECT, _SPEECH, _POSE, _CHANNEL, _ASSISTANT, _SYSTEM = 10, 9, 8, 6, 5, 4, 3


class Verdict(StrEnum):
    """What to do about an event."""

    TRIGGER = "trigger"  # wake at once
    CONTEXT = "context"  # remember for the next run
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Attention:
    """The verdict on one event, its importance from 1 to 10, and whether it was meant for the assistant."""

    verdict: Verdict
    importance: int
    addressed: bool = False


@dataclass(frozen=True, slots=True)
class Manners:
    """Who the assistant is and what it minds: the settings classification needs."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    enabled: bool = True
    min_permission: int = 0
    room_speech: Verdict = Verdict.CONTEXT
    channel_speech: Verdict = Verdict.CONTEXT


def classify(event: Event, me: Manners, bot_exchanges: int = 0) -> Attention:
    """The first of the rules 0 to 8 that matches; `bot_exchanges` counts triggers by assistants since a human spoke."""
    importance = _importance(event)
    if not me.enabled or event.who.id == me.id:  # rules 0 and 1
        return Attention(Verdict.IGNORE, importance)
    from_bot = event.who.kind is Kind.ASSISTANT
    answerable = Verdict.CONTEXT if from_bot and bot_exchanges >= MAX_BOT_EXCHANGES else Verdict.TRIGGER
    if mentions(event, me):  # rule 2
        return Attention(answerable, _ASSISTANT if from_bot else _MENTION, addressed=True)
    if isinstance(event, Paged | Whispered):  # rule 3
        return Attention(answerable, _ASSISTANT if from_bot else _DIRECT, addressed=True)
    if from_bot:  # rule 4
        return Attention(Verdict.CONTEXT, _ASSISTANT)
    if event.who.kind is not Kind.WORLD and event.who.permission < me.min_permission:  # rule 5
        return Attention(Verdict.IGNORE, importance)
    if isinstance(event, ChannelSaid):  # rule 6
        return Attention(me.channel_speech, importance)
    if isinstance(event, Said):  # rule 7
        return Attention(Verdict.TRIGGER if event.alone else me.room_speech, importance, addressed=event.alone)
    return Attention(Verdict.CONTEXT, importance)  # rule 8


def mentions(event: Event, me: Manners) -> bool:
    """Whether the event's words name the assistant, with or without an @, as a word of their own."""
    if isinstance(event, Said) and event.to_me:
        return True
    text = spoken_text(event)
    return bool(text) and _mention_pattern((me.name, *me.aliases)).search(text) is not None


@lru_cache(maxsize=1024)
def _mention_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    joined = "|".join(re.escape(name) for name in names if name)
    return re.compile(rf"(?<![\w])@?(?:{joined})(?![\w])", re.IGNORECASE)


def _importance(event: Event) -> int:
    match event:
        case Paged() | Whispered():
            return _DIRECT
        case Said():
            return _SPEECH
        case Emoted():
            return _POSE
        case ChannelSaid():
            return _CHANNEL
        case Noticed():
            return _SYSTEM
        case _:
            return _SYSTEM
