"""Decides whether an event wakes the assistant, is only remembered, or is ignored. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from mud_assistant.assistant.events.events import (
    Arrived,
    ChannelSaid,
    Emoted,
    Event,
    Gave,
    Noticed,
    Paged,
    Said,
    Whispered,
    quoted_in,
    spoken_text,
)
from mud_assistant.tools.trust import PEOPLE, Kind

#: Length of the longest part of a name that is too short to be called by, in characters: "de", "of".
_SHORTEST_PART = 2

_MENTION, _DIRECT, _SPEECH, _GIFT, _POSE, _CHANNEL, _ASSISTANT, _SYSTEM = 10, 9, 8, 7, 6, 5, 4, 3


#: Matches words to all who are there.
_EVERYBODY = re.compile(
    r"\b(?:hello|hi|hiya|hey|hail|greetings|welcome|good (?:morning|day|afternoon|evening)|thanks|thank you)[ ,]+"
    r"(?:to |there,? )?(?:you )?(?:every(?:one|body)|all|folks|people|friends|you all|y'all)\b"
    r"|^\W*(?:every(?:one|body)|all of you|you all|folks|any(?:one|body))\s*[,:!?]"
    r"|\b(?:do|does|did|has|have|can|could|would|will|is|was) (?:any(?:one|body)|any of you|some(?:one|body))\b"
    r"|\bany(?:one|body) (?:here|there|know|knows|seen|around|want|wants)\b"
    r"|\bwho (?:here |of you )?(?:knows|can (?:tell|show|help)|has seen)\b",
    re.IGNORECASE,
)


#: What stands before the name of somebody who is called, and after that of one who is only told of.
_CALLS = r"\b(?i:hello|hi|hey|hail|welcome|morning|day|afternoon|evening|night|bye|goodbye|thanks|thank you|dear|you) "
_IS_TOLD_OF = r"(?:is|was|has|had|does|did|will|would|can|could|and|or|says|said|told|knows|thinks)\b"


class Classification(StrEnum):
    """What to do about an event."""

    TRIGGER = "trigger"  # wake at once
    CONTEXT = "context"  # remember for the next run
    IGNORE = "ignore"


class OpenQuestion(Struct, frozen=True):
    """A question that somebody asked, the ids of all whose words it repeats, and its level of trust."""

    text: str
    sources: frozenset[str]
    authority: int


class Attention(Struct, frozen=True):
    """The verdict on one event, its importance from 1 to 10, and whether it was meant for the assistant.

    `asked` is a question that the event may answer. It counts only while the event is taken in, and is not stored.
    """

    verdict: Classification
    importance: int
    addressed: bool = False
    asked: OpenQuestion | None = None


class Manners(Struct, frozen=True):
    """The identity and the habits of the assistant: the settings that classification needs."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    enabled: bool = True
    min_permission: int = 0
    room_speech: Classification = Classification.CONTEXT
    channel_speech: Classification = Classification.CONTEXT
    to_everybody: bool = True
    #: What wakes it without speech: "pose", "gift", "arrival".
    wake_on: tuple[str, ...] = ("pose", "gift")
    #: Whether the assistant greets players who come in; their arrival then does not wake it.
    greets: bool = False


def classify(event: Event, me: Manners, *, goes_on: bool = False, is_rested: bool = True) -> Attention:
    """Return the attention of the first rule that matches.

    `goes_on` says that the speaker talked with the assistant a moment ago and that nobody else was addressed.
    `is_rested` says that no pose, gift or arrival of theirs woke it lately. How much assistants talk among themselves
    is decided elsewhere (`assistant/life/pairs.py`).
    """
    importance = _importance(event)
    if not me.enabled or event.who.id == me.id:  # the assistant is off, or did this itself
        return Attention(Classification.IGNORE, importance)
    from_bot = event.who.kind is Kind.ASSISTANT
    if event.who.kind is not Kind.WORLD and event.who.permission < me.min_permission:  # below its permission
        return Attention(Classification.IGNORE, importance)
    if is_unspoken(event) or (from_bot and isinstance(event, Emoted)):  # an act without speech, or a bot's pose
        wakes = not from_bot and is_rested and _wakes_unspoken(event, me, goes_on=goes_on)
        importance = _ASSISTANT if from_bot else _MENTION if wakes and mentions(event, me) else importance
        return Attention(Classification.TRIGGER if wakes else Classification.CONTEXT, importance, addressed=wakes)
    if mentions(event, me):  # somebody named it
        return Attention(Classification.TRIGGER, _ASSISTANT if from_bot else _MENTION, addressed=True)
    if isinstance(event, Paged | Whispered):  # somebody spoke to it alone
        return Attention(Classification.TRIGGER, _ASSISTANT if from_bot else _DIRECT, addressed=True)
    if from_bot:  # an assistant that did not name it
        return Attention(Classification.CONTEXT, _ASSISTANT)
    if goes_on and isinstance(event, Said | ChannelSaid | Emoted):  # the conversation with it goes on
        return Attention(Classification.TRIGGER, importance, addressed=True)
    return _overheard(event, me, importance)


def _overheard(event: Event, me: Manners, importance: int) -> Attention:
    """Return the attention for an event that names nobody: speech on a channel or in the room, or anything else."""
    match event:
        case ChannelSaid():  # its settings decide about channels
            return Attention(me.channel_speech, importance)
        case Said():  # its settings decide about speech that is not meant for it
            is_meant = event.alone or is_for_everybody(event, me)
            return Attention(Classification.TRIGGER if is_meant else me.room_speech, importance, addressed=is_meant)
        case Emoted(alone=True):  # there is speech in the pose
            return Attention(Classification.TRIGGER, importance, addressed=True)
        case _:  # anything else is only remembered
            return Attention(Classification.CONTEXT, importance)


def is_unspoken(event: Event) -> bool:
    """Tell whether the event is a pose, a gift or an arrival. A pose with quoted speech in it counts as speech."""
    return isinstance(event, Gave | Arrived) or (isinstance(event, Emoted) and not quoted_in(event.text))


def _wakes_unspoken(event: Event, me: Manners, *, goes_on: bool) -> bool:
    """Tell whether an act without speech is meant for the assistant, and its owner wants it to wake from that."""
    is_person = event.who.kind in PEOPLE
    match event:
        case Emoted():
            return "pose" in me.wake_on and (mentions(event, me) or (is_person and (event.alone or goes_on)))
        case Gave():
            return "gift" in me.wake_on
        case _:
            return "arrival" in me.wake_on and is_person and not me.greets


def is_for_everybody(event: Event, me: Manners) -> bool:
    """Tell whether the line is for all who are there, the assistant included."""
    if not isinstance(event, Said) or event.alone or event.to_other or mentions(event, me):
        return False
    if not me.to_everybody or event.who.kind not in PEOPLE:
        return False
    return me.room_speech is not Classification.IGNORE and _EVERYBODY.search(event.text) is not None


def is_named(text: str, names: Iterable[str], *, anywhere: bool = False) -> bool:
    """Tell whether a line calls one of these people: at its beginning or end, or after a greeting.

    A line that only speaks of somebody, as "What do you think of Bea?" does, is not said to them. With `anywhere` it
    counts as well, as in a pose. A name in the middle counts only in its exact spelling: many names are words.
    """
    return any(_names_one(text, name, anywhere=anywhere) for name in names)


def is_about_all(text: str, names: Collection[str]) -> bool:
    """Tell whether a line asks about all of these people and is said to none of them: "What did Mat say of me?"."""
    asks = text.rstrip().endswith("?") and bool(names) and not is_named(text, names)
    return asks and all(is_named(text, [name], anywhere=True) for name in names)


def _names_one(text: str, name: str, *, anywhere: bool) -> bool:
    parts = [name, *(part for part in name.split() if len(part) > _SHORTEST_PART)]
    called = "|".join(map(re.escape, parts))
    whole = re.escape(name)
    if re.search(rf"^\W*(?:(?:{called})\s*[,:;!?.]|{whole}\b(?!['\u2019]|\s+{_IS_TOLD_OF}))", text, re.IGNORECASE):
        return True
    if re.search(rf"[,;]\s*(?:{called})\W*$", text, re.IGNORECASE):
        return True
    return re.search(rf"{'' if anywhere else _CALLS}(?<!\w){whole}(?!\w)", text) is not None


def mentions(event: Event, me: Manners) -> bool:
    """Tell whether the event's words name the assistant, with or without an @, as a word of their own."""
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
        case Gave():
            return _GIFT
        case Emoted():
            return _POSE
        case ChannelSaid():
            return _CHANNEL
        case Noticed():
            return _SYSTEM
        case _:
            return _SYSTEM
