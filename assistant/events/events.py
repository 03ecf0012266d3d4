"""Defines the events round a character: frozen values, each with who caused it. Strangers wrote the text in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct, field

from mud_assistant.tools.context import Pending
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.trust import Audience, Principal, channel_id

#: How many characters of one person's words, and of a name, reach a prompt.
MAX_HEARD, MAX_NAME = 2000, 120
#: Stands for what a character noticed that others may not be told.
MASKED = "You remembered something."
#: Quotation marks that make words in a pose speech.
_MARKS = '"\u201c\u201d\u201e\u00ab\u00bb'
_QUOTED = re.compile(rf"[{_MARKS}]([^{_MARKS}]*[^{_MARKS}\W][^{_MARKS}]*)[{_MARKS}]")


class ByRule(Struct, frozen=True):
    """A call that follows from an event without asking a model.

    `requester` is the person on whose behalf it is judged. `goal` is the id of the goal that it is made for, empty for
    none, and `why` says in a few words which rule or which line of the owner's file it follows from. `only` holds the
    ids of those who may be told of it; with none, everybody may.
    """

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    requester: Principal | None = None
    goal: str = ""
    why: str = ""
    only: tuple[str, ...] = ()


class Perceived(Struct, frozen=True, kw_only=True):
    """The fields of every event: an id that is never used twice, the time in clock seconds, and who caused it.

    `by_rule` is the call that is made because of it, in a run of its own.
    """

    id: str
    at: float
    who: Principal
    by_rule: ByRule | None = None


class Said(Perceived, frozen=True, kw_only=True):
    """Speech aloud.

    `alone` when nobody else was there to be meant, `to_other` when the line names somebody else who is there.
    """

    text: str
    to_me: bool = False
    alone: bool = False
    to_other: bool = False


class Whispered(Perceived, frozen=True, kw_only=True):
    """A whisper to the assistant."""

    text: str


class Paged(Perceived, frozen=True, kw_only=True):
    """A page to the assistant, from anywhere."""

    text: str


class ChannelSaid(Perceived, frozen=True, kw_only=True):
    """Speech on a channel. `is_open` when everybody in the game may listen to it."""

    channel: str
    text: str
    is_open: bool = False


class Emoted(Perceived, frozen=True, kw_only=True):
    """A visible act; `text` follows the actor's name.

    `alone` when nobody else was there to see it, `to_other` when it names somebody else who is there.
    """

    text: str
    alone: bool = False
    to_other: bool = False


class Gave(Perceived, frozen=True, kw_only=True):
    """The gift of a thing to the assistant.

    `authority` is the level of the person who named the thing, None for a thing that is trusted as much as the giver.
    """

    thing: str
    authority: int | None = None


class Arrived(Perceived, frozen=True, kw_only=True):
    """An arrival; `origin` is where the person came from, empty when unknown."""

    origin: str = ""


class Left(Perceived, frozen=True, kw_only=True):
    """A departure; `direction` is where the person went, empty when unknown."""

    direction: str = ""


class Noticed(Perceived, frozen=True, kw_only=True):
    """Anything else the game told the character.

    `granted` is set when the event tells of an approval. It is the approved call, which is made once, in a run of its
    own. `of_itself`: nobody and nothing asked for it, and the model may do a small thing or nothing.
    """

    text: str
    granted: Pending | None = None
    of_itself: bool = False


Event = Said | Whispered | Paged | ChannelSaid | Emoted | Gave | Arrived | Left | Noticed


def format_event(event: Event) -> str:
    """Return the event as one line of the perception stream.

    Strangers' text is cut, cleaned and kept on its line, so that nobody can write a line that they did not cause.
    """
    who = one_line(event.who.name, max_chars=MAX_NAME)
    match event:
        case Said():
            return f'{who} says{" to you" if event.to_me else ""}: "{_line(event.text)}"'
        case Whispered():
            return f'{who} whispers to you: "{_line(event.text)}"'
        case Paged():
            return f'{who} pages you: "{_line(event.text)}"'
        case ChannelSaid():
            return f'{who} says on {one_line(event.channel, max_chars=MAX_NAME)}: "{_line(event.text)}"'
        case Emoted():
            return f"{who} {_line(event.text)}"
        case Gave():
            return f"{who} gives you the {one_line(event.thing, max_chars=MAX_NAME)}."
        case Arrived():
            return f"{who} arrives{f' from {one_line(event.origin, max_chars=MAX_NAME)}' if event.origin else ''}."
        case Left():
            return f"{who} leaves{f' {one_line(event.direction, max_chars=MAX_NAME)}' if event.direction else ''}."
        case Noticed():
            return _line(event.text)
        case _:
            assert_never(event)


def audience_of(event: Event) -> Audience:
    """Return who knows what was said in the event: the speaker of a whisper or a page, a channel, or everybody."""
    match event:
        case Whispered() | Paged():
            return frozenset({event.who.id})
        case ChannelSaid(is_open=False):
            return frozenset({channel_id(_line(event.channel)), event.who.id})
        case Noticed(by_rule=ByRule(only=(_, *_)) as by_rule):
            return frozenset(by_rule.only)
        case _:
            return None


def hearers_of(event: Event) -> Audience:
    """Return who hears the answer to the event, where it was said; None is everybody."""
    match event:
        case ChannelSaid(is_open=False):
            return frozenset({channel_id(_line(event.channel))})
        case _:
            return audience_of(event)


def mask_event(event: Event) -> str:
    """Return the line that stands for a private event where others would hear the answer."""
    who = _line(event.who.name)
    match event:
        case Whispered():
            return f"{who} whispered something to you."
        case Paged():
            return f"{who} paged you."
        case ChannelSaid():
            return f"{who} said something on {_line(event.channel)}."
        case Noticed():
            return MASKED
        case _:
            return format_event(event)


def spoken_text(event: Event) -> str:
    """Return the words spoken in the event, empty when it holds none."""
    return event.text if isinstance(event, Said | Whispered | Paged | ChannelSaid | Emoted) else ""


def quoted_in(pose: str) -> str:
    """Return the words that a pose quotes, as in `nods and says "Yes."`; empty for a pose without speech."""
    return " ".join(found.strip() for found in _QUOTED.findall(pose))


def _line(text: str) -> str:
    return clean_heard(text, MAX_HEARD)
