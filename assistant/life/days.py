"""Decides what a character's day asks of it now: a step of the way, a beginning, a gesture, or nothing. Pure.

The owner wrote the day (`assistant/characters/day_entries.py`). The last entry that has begun counts, over midnight as
well: what was missed meanwhile is not made up for. It is a plan for those who watch: nothing is offered that nobody can
see, except a walk while somebody is in the game.
"""

from __future__ import annotations

from random import Random

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.characters.day_entries import DAY, HOUR, DayEntry, Days
from mud_assistant.assistant.events.events import ByRule
from mud_assistant.tools.context import A_MINUTE
from mud_assistant.tools.game import GameTime

#: How long nobody must have spoken before the day goes on, in seconds.
UNDISTURBED = 30.0
#: Between two steps of a way, in seconds.
STEP_SECONDS = 6.0
#: From one gesture of an entry to the next, at least and at most, in seconds.
DEED_SECONDS = (120.0, 300.0)
#: From the moment when somebody is there to see it to the first gesture, at least and at most, in seconds.
FIRST_SECONDS = (25.0, 90.0)
#: How often the same step is tried before the way counts as blocked.
MOST_TRIES = 2
#: How much shorter or longer than the owner says the time between two gestures of free life may be, as a factor.
SPREAD = (0.5, 1.5)
MOVE, EMOTE, SAY = "move", "emote", "say"
#: No entry has begun yet.
NEVER = -1
#: When nothing is due until something else happens.
NO_TIME = float("inf")


class DayClock(Struct, frozen=True):
    """The time: `now` in clock seconds, the number of the day and the minutes since midnight by the clock of the day.

    `pace` is how many seconds of that clock pass in one of ours.
    """

    now: float
    day: int
    minute: float
    pace: float = 1.0

    def until(self, start: int) -> float:
        """Return the seconds of ours until the clock of the day shows this minute next."""
        return ((start - self.minute) % DAY or DAY) * A_MINUTE / self.pace


class Surroundings(Struct, frozen=True):
    """Where the character is and who is there.

    `at_place` tells whether it is where the entry wants it, `step` is the direction that leads there, and `no_way` says
    why there is none. `room` is the id of its room. `watched`: somebody is present there. `quiet_for` are the seconds
    since anybody spoke. `held` says why it stays where it is, empty when it may go.
    """

    at_place: bool = True
    step: str = ""
    no_way: str = ""
    room: str = ""
    watched: bool = False
    quiet_for: float = NO_TIME
    held: str = ""


class DayState(Struct, frozen=True):
    """What a character remembers of its day: the entry that it has begun, its gestures, and the way it could not go.

    An entry is known by the minute in which it began, counted from the first day. `given_up` is such an entry, and
    `again_at` says when its way is tried again, in clock seconds.
    """

    begun: int = NEVER
    next_deed: float = 0.0
    last_deed: str = ""
    was_watched: bool = False
    given_up: int = NEVER
    again_at: float = 0.0
    no_way: str = ""
    step: tuple[str, str] = ("", "")
    tries: int = 0


class DayOffer(Struct, frozen=True):
    """What is to be done now. `text` tells the character of it; `begins` is the entry whose beginning it is."""

    by_rule: ByRule
    text: str
    begins: int = NEVER
    importance: int = 2


class DayRest(Struct, frozen=True):
    """Nothing is to be done, and why. It is worth looking again at `until`, in clock seconds."""

    until: float
    why: str


def entry_at(days: Days, minute: float) -> DayEntry | None:
    """Return the entry that counts at this minute of the day: the last begun, over midnight too; None without any."""
    begun = [entry for entry in days.entries if entry.start <= minute]
    return begun[-1] if begun else days.entries[-1] if days.entries else None


def entry_text(entry: DayEntry | None) -> str:
    """Say for owners what an entry of the day wants, empty for none: 'since 22:00 it rests, in "smithy"'."""
    if entry is None:
        return ""
    what = "rests" if entry.rests else "is to be" if entry.place else "goes about its day"
    place = f'{"," if entry.rests else ""} in "{entry.place}"' if entry.place else ""
    return f"since {entry.time} it {what}{place}"


def begun_at(entry: DayEntry, clock: DayClock) -> int:
    """Return the minute in which the entry that counts now has begun, from the first day on."""
    day = clock.day if entry.start <= clock.minute else clock.day - 1
    return day * DAY + entry.start


def is_given_up(state: DayState, entry: DayEntry, clock: DayClock) -> bool:
    """Tell whether the way to the place of this entry is given up for now."""
    return state.given_up == begun_at(entry, clock) and clock.now < state.again_at


def next_entry(days: Days, clock: DayClock) -> float:
    """Return when the next entry begins, in clock seconds."""
    return clock.now + min((clock.until(entry.start) for entry in days.entries), default=NO_TIME)


def due(
    days: Days, clock: DayClock, here: Surroundings, state: DayState, dice: Random
) -> tuple[DayOffer | DayRest, DayState]:
    """Return what is due, and what is to be remembered if that is done."""
    state = _watching(clock, here, state, dice)
    if here.quiet_for < UNDISTURBED:
        return DayRest(clock.now + UNDISTURBED - here.quiet_for, "somebody is speaking"), state
    entry = entry_at(days, clock.minute)
    is_there = here.at_place or entry is None or not entry.place
    if entry is not None and not is_there and not here.held and not is_given_up(state, entry, clock):
        return _walk(entry, clock, here, state)
    if not here.watched:
        return DayRest(next_entry(days, clock), "nobody is here to see it"), state
    if entry is not None and is_there and entry.begins and state.begun != (key := begun_at(entry, clock)):
        begin = DayOffer(ByRule(EMOTE, {"text": entry.begins}, why=_why(entry)), "You go about your day.", key)
        return begin, replace(state, begun=key, next_deed=_later(clock, dice, DEED_SECONDS), last_deed=entry.begins)
    return _deed(days, entry if is_there else None, clock, state, dice)


def _watching(clock: DayClock, here: Surroundings, state: DayState, dice: Random) -> DayState:
    """Return the state with the first gesture soon, when somebody has come to see it."""
    if here.watched == state.was_watched:
        return state
    if not here.watched:
        return replace(state, was_watched=False)
    soon = _later(clock, dice, FIRST_SECONDS)
    return replace(
        state, was_watched=True, next_deed=min(soon, state.next_deed) if state.next_deed > clock.now else soon
    )


def _walk(entry: DayEntry, clock: DayClock, here: Surroundings, state: DayState) -> tuple[DayOffer | DayRest, DayState]:
    """Return the next step of the way, or give it up for an hour of the clock of the day."""
    key, step = begun_at(entry, clock), (here.room, here.step)
    tries = state.tries + 1 if step == state.step else 1
    no_way = here.no_way or ("" if here.step else f"no way to {entry.place} is known from here")
    if not no_way and tries > MOST_TRIES:
        no_way = f"the way {here.step} to {entry.place} did not open"
    if no_way:
        again = clock.now + HOUR * A_MINUTE / clock.pace
        given_up = replace(state, given_up=key, again_at=again, no_way=no_way, step=("", ""), tries=0)
        return DayRest(again, f"{_why(entry)}: {no_way}"), given_up
    text = f"It is {entry.time} or later. You go to {entry.place}, as every day."
    move = ByRule(MOVE, {"direction": here.step}, why=_why(entry))
    return DayOffer(move, text), replace(state, step=step, tries=tries)


def _deed(
    days: Days, entry: DayEntry | None, clock: DayClock, state: DayState, dice: Random
) -> tuple[DayOffer | DayRest, DayState]:
    """Return a gesture or words of the entry, or a gesture of free life where it has none, when its time has come."""
    own = [(EMOTE, text) for text in entry.does] + [(SAY, text) for text in entry.says] if entry else []
    deeds = own or [(EMOTE, text) for text in days.free.does]
    if not deeds:
        return DayRest(next_entry(days, clock), "its file names nothing to do now"), state
    if clock.now < state.next_deed:
        return DayRest(min(state.next_deed, next_entry(days, clock)), "it did something a little while ago"), state
    others = [deed for deed in deeds if deed[1] != state.last_deed] or deeds
    tool, text = dice.choice(others)
    minutes = days.free.every_minutes * A_MINUTE
    pause = DEED_SECONDS if own else (SPREAD[0] * minutes, SPREAD[1] * minutes)
    why = _why(entry) if own and entry else "free life"
    offer = DayOffer(ByRule(tool, {"text": text}, why=why), "You go about your day.", importance=1)
    return offer, replace(state, next_deed=_later(clock, dice, pause), last_deed=text)


def _later(clock: DayClock, dice: Random, seconds: tuple[float, float]) -> float:
    return clock.now + dice.uniform(*seconds)


def _why(entry: DayEntry) -> str:
    """Name the line of the owner's file."""
    return f"the entry {entry.time} of its day"


def day_clock(now: float, game: GameTime | None, utc_offset: float) -> DayClock:
    """Return the clock of the day: that of the game, or the owner's where the game has none."""
    if game is not None and game.pace > 0:
        return DayClock(now, game.day, game.hour * A_MINUTE, game.pace)
    owners = GameTime(now + utc_offset)
    return DayClock(now, owners.day, owners.hour * A_MINUTE)
