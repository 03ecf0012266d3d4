"""Turns what reaches a character of Evennia into events. The speaker is taken from the game, never from the words.

Every message waits one turn of the reactor and is then handed over in order. Only then is it known whether an
announced move was an arrival or a departure: the announcement itself does not say so in every language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.assistant.events.classify import is_about_all, is_named
from mud_assistant.assistant.events.events import Arrived, Emoted, Event, Gave, Left, Noticed, Said, Whispered
from mud_assistant.assistant.worlds.evennia.body.border import MAX_RAW, after_name, bare_speech, visible
from mud_assistant.assistant.worlds.evennia.body.identity import (
    Ladder,
    Writers,
    is_assistant,
    is_played,
    principal_of,
    seen_name,
)
from mud_assistant.assistant.worlds.evennia.body.scenery import people
from mud_assistant.tools.trust import Kind, Principal

_log = Logger()

#: Makes an event with the given id and clock seconds.
MakeEvent = Callable[[str, float], Event]

_SPEECH = {"say", "whisper", "pose", "emote"}
_LOOK = "look"
#: The types that announcements of moves have. Logins and logouts have no type; a game may have more types.
_MOVES = {"move", "teleport", "traverse"}


class EventSink(Protocol):
    """A listener that is told what a character perceives. Called on the reactor, must not wait."""

    def hear(self, make: MakeEvent) -> None:
        """Take in an event: `make(id, at)` makes it."""
        ...


@dataclass(slots=True)
class _Heard:
    """One message, and the state of the game when it came."""

    kind: str
    text: str
    speaker: Any
    who: Principal
    room: Any
    came: bool = False
    alone: bool = False
    #: Whether the words name another character who is there.
    to_other: bool = False
    #: Whether the speaker was in the room when the message came.
    present: bool = False
    #: The things that the speaker gave to the character; such an entry has no text.
    given: list[Any] = field(default_factory=list)


class EventSource:
    """The events of one character. Attach it with `AssistantCharacter.attach`, and `close` it at the end."""

    def __init__(self, character: Any, sink: EventSink, clock: IReactorTime) -> None:
        self._me = character
        self._sink = sink
        self._clock = clock
        self._ladder = Ladder.of_game()
        self._waiting: list[_Heard] = []
        self._turn: IDelayedCall | None = None
        self._room = character.location
        self._present = _ids(character.location)

    def receive(self, text: Any, from_obj: Any, kwargs: dict[str, Any]) -> None:
        """Take in one message of the game as `at_msg_receive` gets it; anything but text is ignored."""
        line, kind = _line_and_kind(text)
        speaker = _first(from_obj)
        self._notice_room(speaker)
        mine = speaker is self._me
        if not line or (kind == _LOOK and (mine or speaker is None)) or (mine and kind in _SPEECH):
            return
        heard = _Heard(
            kind=kind,
            text=line[:MAX_RAW],
            speaker=None if mine else speaker,
            who=principal_of(None if mine else speaker, self._me, self._ladder),
            room=self._me.location,
        )
        if self._tells_of_gift(heard):
            return
        self._note_presence(heard)
        self._wait(heard)

    def _wait(self, heard: _Heard) -> None:
        """Keep a message for the next turn of the reactor."""
        self._waiting.append(heard)
        if self._turn is None:
            self._turn = self._clock.callLater(0, self._hand_over)

    def receive_gift(self, thing: Any, giver: Any) -> None:
        """Take in a gift to the character; things given in a row by the same giver are one gift."""
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.given and last.speaker is giver:
            last.given.append(thing)
            return
        who = principal_of(giver, self._me, self._ladder)
        self._wait(_Heard("", "", giver, who, self._me.location, given=[thing]))

    def close(self) -> None:
        """Hear nothing more, and drop what was not handed over yet."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        self._waiting.clear()

    def _tells_of_gift(self, heard: _Heard) -> bool:
        """Tell whether the message only announces a gift that has just been taken in."""
        last = self._waiting[-1] if self._waiting else None
        is_of_giver = last is not None and (heard.speaker is None or heard.speaker is last.speaker)
        if last is None or not last.given or heard.kind or not is_of_giver:
            return False
        line = visible(heard.text).casefold()
        things = (self._gift(last.given), seen_name(last.given[-1], self._me))
        return last.who.name.casefold() in line and any(thing.casefold() in line for thing in things)

    def _gift(self, things: list[Any]) -> str:
        """Return the name of what was given: `map`, `three coins`, or `map, lamp`."""
        names = [seen_name(thing, self._me) for thing in things]
        if len(names) > 1 and len(set(names)) == 1:
            return visible(things[0].get_numbered_name(len(names), self._me)[1])
        return ", ".join(names)

    def _notice_room(self, speaker: Any) -> None:
        """Note who is in the new room when the character itself has moved, so that they do not seem to arrive."""
        if self._me.location is not self._room:
            self._room = self._me.location
            self._present = _ids(self._room) - {getattr(speaker, "pk", None)}

    def _note_presence(self, heard: _Heard) -> None:
        """Note whether the speaker is in the room, whether they just came, and whether others could be meant."""
        speaker = heard.speaker
        heard.present = speaker is not None and heard.room is not None and _location(speaker) is heard.room
        if not heard.present:
            return
        heard.came = speaker.pk not in self._present
        self._present.add(speaker.pk)
        if heard.kind in _SPEECH and heard.who.kind is not Kind.WORLD:
            others = (other for other in heard.room.contents if other is not speaker and other is not self._me)
            heard.alone = not any(map(_takes_part, others))
            if not heard.alone:
                self._note_named(heard)

    def _note_named(self, heard: _Heard) -> None:
        """Note whether the spoken words are to a character who is there, or ask about all who are there."""
        others = [other for other in people(self._me) if other is not heard.speaker]
        text = visible(heard.text)
        words = bare_speech(text, heard.who.name) if heard.kind == "say" else after_name(text, heard.who.name) or text
        names = [seen_name(other, self._me) for other in others]
        heard.to_other = is_named(words, names, anywhere=heard.kind != "say")
        heard.alone = heard.kind == "say" and is_about_all(words, names)

    def _hand_over(self) -> None:
        """Hand all waiting messages to the sink, in order."""
        self._turn = None
        waiting, self._waiting = self._waiting, []
        last = {id(heard.speaker): heard for heard in waiting}
        for heard in waiting:
            try:
                for make in self._events(heard, is_last=last[id(heard.speaker)] is heard):
                    self._sink.hear(make)
            except CancelledError:
                raise
            except Exception:  # noqa: BLE001 - one message that fails must not cost the others
                _log.failure("{who} could not take in a message", who=self._me.key)
        self._present = _ids(self._room)

    def _events(self, heard: _Heard, *, is_last: bool) -> list[MakeEvent]:
        """Return the event of a message, now that its turn is over; two events when it may tell of more than a move."""
        if heard.given:
            return [self._gift_event(heard)]
        told = _speech_event(heard)
        if heard.kind in _SPEECH or not heard.present:
            return [told]
        only_a_move = heard.kind in _MOVES or (not heard.kind and heard.who.kind is not Kind.WORLD)
        if is_last and _location(heard.speaker) is not heard.room:
            left = _departure_event(heard.who, self._way(heard.room, _location(heard.speaker)))
            return [left] if only_a_move else [told, left]
        if heard.came:
            arrived = _arrival_event(heard.who, "")
            return [arrived] if only_a_move else [arrived, told]
        return [told]

    def _gift_event(self, heard: _Heard) -> MakeEvent:
        """Make the event of a gift, with the level of the least trusted person who named a part of it."""
        thing, level, who = self._gift(heard.given), Writers().min_level(heard.given, self._me), heard.who
        return lambda id, at: Gave(id=id, at=at, who=who, thing=thing, authority=level)  # noqa: A006

    def _way(self, start: Any, end: Any) -> str:
        """Return the name of the exit from `start` to `end` if the character sees it, else an empty text."""
        if end is None or start is not self._me.location:
            return ""
        ways = [way for way in start.exits if way.destination is end]
        seen = start.filter_visible(ways, self._me)
        return seen_name(seen[0], self._me) if seen else ""


def _speech_event(heard: _Heard) -> MakeEvent:
    """Make the event of speech, a pose or any other message, with its speaker."""
    text = visible(heard.text)
    who = heard.who
    match heard.kind:
        case "say":
            words = bare_speech(text, who.name)
            return lambda id, at: Said(id=id, at=at, who=who, text=words, alone=heard.alone, to_other=heard.to_other)  # noqa: A006
        case "whisper":
            words = bare_speech(text, who.name)
            return lambda id, at: Whispered(id=id, at=at, who=who, text=words)  # noqa: A006
        case "pose" | "emote" if (act := after_name(text, who.name)) is not None:
            return lambda id, at: Emoted(  # noqa: A006
                id=id, at=at, who=who, text=act, alone=heard.alone, to_other=heard.to_other
            )
        case _:
            words = text if who.kind is Kind.WORLD or after_name(text, who.name) is not None else f"{text} [{who.name}]"
            return lambda id, at: Noticed(id=id, at=at, who=who, text=words)  # noqa: A006


def _arrival_event(who: Principal, origin: str) -> MakeEvent:
    return lambda id, at: Arrived(id=id, at=at, who=who, origin=origin)  # noqa: A006


def _departure_event(who: Principal, direction: str) -> MakeEvent:
    return lambda id, at: Left(id=id, at=at, who=who, direction=direction)  # noqa: A006


def _line_and_kind(text: Any) -> tuple[str, str]:
    """Return the line and its type from the game's message: a string alone, or one with options."""
    options: Any = {}
    if isinstance(text, tuple | list):
        options = text[1] if len(text) > 1 else {}
        text = text[0] if text else ""
    kind = options.get("type") if isinstance(options, dict) else None
    return (text if isinstance(text, str) else ""), (kind if isinstance(kind, str) else "")


def _first(from_obj: Any) -> Any:
    """Return the sender, the first of several."""
    return next(iter(from_obj), None) if isinstance(from_obj, Iterable) else from_obj


def _location(subject: Any) -> Any:
    """Return where an object is; None for an account, which has no place."""
    return getattr(subject, "location", None)


def _ids(room: Any) -> set[Any]:
    """Return the ids of all objects in a room."""
    return {thing.pk for thing in room.contents} if room is not None else set()


def _takes_part(subject: Any) -> bool:
    """Tell whether speech could be meant for it: a connected player, or another assistant."""
    return is_assistant(subject) or (is_played(subject) and bool(subject.sessions.count()))
