"""Decides whose turn it is to speak: with whom an assistant talks without being named, and which assistant answers.

It tracks the conversations that go on, the lines left to others, and who woke the assistant lately. The floor is one
for all assistants of a process: pauses between their lines, and one answer to a line to everybody.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.events.classify import Attention, Classification, is_named, is_unspoken
from mud_assistant.assistant.events.events import Arrived, ChannelSaid, Emoted, Event, Gave, Left, Said
from mud_assistant.tools.trust import Audience, Kind, Principal, may_hear

#: How many people, and how many lines to everybody, an assistant keeps track of; the oldest go first.
MAX_KEPT = 200
#: After how many seconds without an answer somebody's next line begins another talk.
VISIT_SECONDS = 900.0
#: The longest part of a turn that is kept, in characters.
MAX_TURN_CHARS = 200
#: The most words a farewell has: a longer line only mentions one.
_MOST_WORDS = 16
_FAREWELL = re.compile(
    r"\b(?:good[ -]?bye|bye(?:[ -]bye)?|farewell|so long|good ?night|take care|cya|ciao|adieu|adi[oó]s|tsch(?:ü|ue)ss"
    r"|au revoir|auf wiedersehen|see (?:you|ya)(?: (?:later|soon|around|tomorrow|then))?|until (?:next time|tomorrow)"
    r"|(?:good|nice|lovely) (?:talking|chatting|speaking) (?:to|with) (?:you|u))"
    r"|^\W*(?:laters?|catch you later)\b[^?]{0,16}$"
    r"|\b(?:have to|must|need to|gotta|got to) (?:go|leave|run|be (?:going|off))(?: now)?\W*$",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"^\W*(?:\w+\W+){0,2}?(?:hello|hi|hiya|hey|hail|greetings|well met|good (?:morning|day|afternoon|evening)|hallo"
    r"|guten (?:morgen|tag|abend)|bonjour|salut|hola|buon(?:giorno|asera))\b",
    re.IGNORECASE,
)
#: The most words of a line that only greets.
_MOST_GREETING = 5
#: How long an assistant waits for its turn at most, in seconds: waiting must not exceed the time limit of its tool.
MAX_WAIT = 6.0
#: How many claims and rooms are kept; the oldest go first.
MAX_CLAIMS = 500


#: What is known of the last turn of somebody who had none.
_NO_TURN: tuple[str, Audience, float] = ("", None, -math.inf)


@dataclass(slots=True)
class _Exchange:
    """The last exchange with somebody: their name, its time in clock seconds, and whether an answer to them is due."""

    name: str
    at: float
    waits: bool = True


class Conversations:
    """The people one assistant talks with, in memory only.

    A conversation lasts `seconds` from its last exchange; with 0 there are none. It ends earlier when the player says
    farewell, leaves, or speaks to somebody else. It also ends when somebody else there may have answered them.
    """

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self._seconds = seconds
        #: By the id of the speaker and the place: the name of a channel, or empty for the room.
        self._last: dict[tuple[str, str], _Exchange] = {}
        #: The ids of lines to everybody: those it may answer in a moment, and those that another assistant answers.
        self.held: dict[str, None] = {}
        #: The id of the person who was answered last: of several who wait, another comes next.
        self.answered_last = ""
        #: By the id of a person: what they asked last and were answered, who may be told of it, and when they were
        #: answered last, in clock seconds.
        self._turns: dict[str, tuple[str, Audience, float]] = {}
        self._left_to_others: dict[str, None] = {}

    @property
    def has_begun(self) -> bool:
        """Whether anybody came or spoke to it since the process began."""
        return bool(self._turns or self._last)

    def is_new(self, who: str) -> bool:
        """Tell whether a talk with this person begins: they were not answered lately, or not since they came."""
        return self._now() - self._turns.get(who, _NO_TURN)[2] > VISIT_SECONDS

    def goes_on(self, event: Event) -> bool:
        """Tell whether the event is the next line of a conversation with the assistant."""
        place = _place(event)
        if place is None or self._seconds <= 0 or (isinstance(event, Said | Emoted) and event.to_other):
            return False
        last = self._last.get((event.who.id, place))
        return last is not None and (last.waits or self._now() - last.at <= self._seconds)

    def heard(self, event: Event, attention: Attention) -> None:
        """Take note of an event that was classified."""
        if isinstance(event, Left):
            self._last.pop((event.who.id, ""), None)
            text, audience, _ = self._turns.get(event.who.id, _NO_TURN)
            if text:
                self._turns[event.who.id] = (text, audience, -math.inf)
        place = _place(event)
        if place is None or (is_unspoken(event) and attention.verdict is not Classification.TRIGGER):
            return
        key = (event.who.id, place)
        is_meant = attention.addressed and event.who.kind is not Kind.ASSISTANT
        last = self._last.pop(key, None)
        if not is_meant:
            self._interrupted(event, place)
        elif attention.verdict is Classification.TRIGGER and not is_farewell(_words(event)):
            self._last[key] = _Exchange(event.who.name, self._now(), waits=True)
            while len(self._last) > MAX_KEPT:
                del self._last[next(iter(self._last))]
        elif last is not None and attention.verdict is not Classification.TRIGGER:
            self._last[key] = last

    def welcomed(self, who: Principal) -> None:
        """Take note that somebody came whom the assistant greets: what they say next is to it."""
        if self._seconds > 0:
            self._last[who.id, ""] = _Exchange(who.name, self._now(), waits=False)

    def ended(self, askers: Collection[Principal], *, is_settled: bool) -> None:
        """Take note that a run for these people is over. It is tried again unless it `is_settled`."""
        ids = {who.id for who in askers} if is_settled else set()
        self.answered_last = next(iter(ids), self.answered_last)
        for who in ids:
            text, audience, _ = self._turns.get(who, _NO_TURN)
            self._turns[who] = (text, audience, self._now())
            if len(self._turns) > MAX_KEPT:
                del self._turns[next(iter(self._turns))]
        for (who, _), last in self._last.items():
            if who in ids:
                last.waits, last.at = False, self._now()

    def turn_before(self, who: str, hearers: Audience) -> str:
        """Return what this person asked last, and was answered, if these hearers may be told of it; else nothing."""
        text, audience, _ = self._turns.get(who, _NO_TURN)
        return text if may_hear(audience, hearers) else ""

    def begin_turn(self, who: str, asked: str, hearers: Audience) -> None:
        """Take note of what a person asks before these hearers, instead of their turn before."""
        at = self._turns.pop(who, _NO_TURN)[2]
        self._turns[who] = (asked[:MAX_TURN_CHARS], hearers, at)
        while len(self._turns) > MAX_KEPT:
            del self._turns[next(iter(self._turns))]

    def answer_turn(self, who: str, said: str, hearers: Audience) -> None:
        """Take note of what this person was answered before these hearers, if that is who heard the turn begin."""
        asked, began_before, at = self._turns.get(who, _NO_TURN)
        if asked and began_before == hearers:
            self._turns[who] = (f"{asked} {said}"[: 2 * MAX_TURN_CHARS], hearers, at)

    def forget_turns(self) -> None:
        """Forget what everybody asked and was answered: an answer may repeat words of somebody who is forgotten."""
        self._turns.clear()

    def leave(self, event_id: str) -> None:
        """Leave this line to everybody to another assistant."""
        self.held.pop(event_id, None)
        self._left_to_others[event_id] = None
        while len(self._left_to_others) > MAX_KEPT:
            del self._left_to_others[next(iter(self._left_to_others))]

    def is_left(self, event_id: str) -> bool:
        """Tell whether another assistant answers this line."""
        return event_id in self._left_to_others

    def _interrupted(self, event: Event, place: str) -> None:
        """End the conversations with people whom a line to others may have answered."""
        if event.who.kind is Kind.WORLD:
            return
        if event.who.kind is Kind.ASSISTANT and place == "":
            for event_id in tuple(self.held):
                self.leave(event_id)
        to_other = isinstance(event, Said | Emoted) and event.to_other
        for key, last in tuple(self._last.items()):
            is_answered = not to_other or is_named(_words(event), [last.name], anywhere=True)
            if key[1] == place and not last.waits and is_answered:
                del self._last[key]


def is_farewell(text: str) -> bool:
    """Tell whether the line ends a conversation."""
    return len(text.split()) <= _MOST_WORDS and "?" not in text and _FAREWELL.search(text) is not None


def is_greeting(text: str) -> bool:
    """Tell whether the line only greets."""
    return len(text.split()) <= _MOST_GREETING and "?" not in text and _GREETING.search(text) is not None


def _place(event: Event) -> str | None:
    """Return where an event took place: empty for the room, else the channel; None for a private event."""
    match event:
        case Said() | Emoted() | Gave() | Arrived():
            return ""
        case ChannelSaid():
            return event.channel.casefold()
        case _:
            return None


def _words(event: Event) -> str:
    return event.text if isinstance(event, Said | ChannelSaid | Emoted) else ""


class Cooldown:
    """The people whose poses, gifts and arrivals woke the assistant lately, in memory only.

    For `seconds` after that, the same kind of act by the same person does not wake it again. A wave does not hold back
    a gift.
    """

    __slots__ = ("_clock", "_seconds", "_until")

    def __init__(self, clock: IReactorTime, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        #: Until when, in clock seconds, by the id of the person and the kind of event; the newest stand at the end.
        self._until: dict[tuple[str, type[Event]], float] = {}

    def is_over(self, event: Event) -> bool:
        """Tell whether an event of this kind by this person may wake the assistant without speech."""
        until = self._until.get((event.who.id, type(event)))
        return until is None or self._clock.seconds() >= until

    def heard(self, event: Event, attention: Attention) -> None:
        """Take note of an event that was classified.

        An event without speech that woke the assistant begins the cooldown.
        """
        if is_unspoken(event) and attention.verdict is Classification.TRIGGER:
            key = (event.who.id, type(event))
            self._until.pop(key, None)
            self._until[key] = self._clock.seconds() + self._seconds
            while len(self._until) > MAX_KEPT:
                del self._until[next(iter(self._until))]


class Floor:
    """The turns and claims of all assistants of a process, one object for all. Its times are on `clock`."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        #: When the next line may be spoken in a room, by the room's identity.
        self._free: dict[str, float] = {}
        #: What each assistant that lives in this process is called, its name first, by its id.
        self.called: dict[str, tuple[str, ...]] = {}
        #: Who claimed what, and until when.
        self._claims: dict[tuple[str, ...], tuple[str, float]] = {}

    def turn(self, room: str, pause_seconds: float) -> Deferred[None] | None:
        """Take the next turn to speak in `room`. None means now; a Deferred fires when the turn comes.

        The next line comes `pause_seconds` later. An unknown room, an empty string, has no turns. Cancelling gives up
        the wait.
        """
        now = self._clock.seconds()
        if not room or pause_seconds <= 0:
            return None
        wait = min(MAX_WAIT, max(0.0, self._free.pop(room, now) - now))
        self._free[room] = now + wait + pause_seconds
        if len(self._free) > MAX_CLAIMS:
            del self._free[next(iter(self._free))]
        if wait <= 0:
            return None
        come: Deferred[None] = Deferred(lambda _: timer.cancel())
        timer = self._clock.callLater(wait, come.callback, None)
        return come

    def claim(self, what: tuple[str, ...], who: str, seconds: float) -> bool:
        """Tell whether the assistant `who` holds this claim. The first that asks gets it, for `seconds`."""
        now = self._clock.seconds()
        holder, until = self._claims.pop(what, (who, now))
        if until <= now:
            holder = who
        self._claims[what] = (holder, now + seconds if holder == who else until)
        if len(self._claims) > MAX_CLAIMS:
            del self._claims[next(iter(self._claims))]
        return holder == who

    def is_free(self, what: tuple[str, ...], who: str) -> bool:
        """Tell whether the assistant `who` would get this claim now."""
        holder, until = self._claims.get(what, (who, -math.inf))
        return holder == who or until <= self._clock.seconds()
