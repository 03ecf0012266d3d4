"""Makes goals of what a character is asked to do later and takes on. Pure."""

from __future__ import annotations

from msgspec import Struct

from mud_assistant.assistant.events.goal import Goal, GoalKind
from mud_assistant.assistant.language.later.chores import chore_gesture
from mud_assistant.assistant.language.later.hours import DAY, FULL_DAY, HALF_DAY, HOUR
from mud_assistant.assistant.language.later.listed_goals import listed
from mud_assistant.assistant.language.later.wishes import Asked
from mud_assistant.assistant.language.times import When
from mud_assistant.tools.game import GameTime
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import Audience, Principal

#: The longest thing that is passed on or reminded of, in characters.
MAX_WHAT = 300
#: The shortest time after which something is done again, in seconds, and the longest that it may lie ahead.
LEAST_EVERY, MOST_AHEAD = HOUR, 14 * DAY


class PromiseMoment(Struct, frozen=True):
    """When and where something is promised. `now` is in clock seconds; a world without a clock has no `game` time.

    `utc_offset` is the owner's time minus UTC, in seconds: it is the hour that counts where the game has none.
    """

    now: float
    game: GameTime | None = None
    utc_offset: float = 0.0
    room: str = ""
    room_id: str = ""


class Asker(Struct, frozen=True):
    """Who asks for a goal, with the level of their words, and who may be told of it."""

    who: Principal
    authority: int = 0
    audience: Audience = None


def goal_of(goal_id: str, asked: Asked, asker: Asker, moment: PromiseMoment, whom: Principal | None) -> Goal | None:
    """Return the goal of what was asked for; None where it is no goal of a character. `whom` is the person it names."""
    what = one_line(asked.what, max_chars=MAX_WHAT)
    if asked.kind is GoalKind.CHORE:
        what = chore_gesture(what)
    if not what and asked.kind in {GoalKind.CHORE, GoalKind.TELL}:
        return None
    if asked.when.person == "" and asked.kind is GoalKind.COME:
        return None
    kind = asked.kind
    if kind is GoalKind.TELL and not asked.whom:
        kind, what = GoalKind.REMIND, ""  # the asker wants to know that somebody came
    due, due_game = due_of(asked.when, moment)
    every = asked.when.every if asked.kind in {GoalKind.CHORE, GoalKind.REMIND} else 0.0
    if (due or 0.0) > moment.now + MOST_AHEAD or 0.0 < every < LEAST_EVERY:
        return None
    is_here = asked.kind in {GoalKind.COME, GoalKind.WAIT, GoalKind.CHORE} and not asked.place
    return Goal(
        goal_id,
        kind,
        one_line(listed(asked), max_chars=MAX_WHAT),
        asker.who,
        moment.now,
        asker.authority,
        asker.audience,
        what,
        whom=whom.id if whom is not None else "",
        whom_name=one_line(whom.name, max_chars=60) if whom is not None else "",
        place=moment.room if is_here else one_line(asked.place, max_chars=60),
        place_id=moment.room_id if is_here else "",
        due=due,
        due_game=due_game,
        every=every,
    )


def person_named(asked: Asked) -> str:
    """Return the name of the person whom a request is about, empty for none."""
    return asked.whom or asked.when.person or ""


def due_of(when: When, moment: PromiseMoment) -> tuple[float | None, float | None]:
    """Return when something is due by our clock, or by the game's; neither for what waits for a person."""
    if when.seconds is not None:
        return moment.now + when.seconds, None
    if when.hour is None:
        return (moment.now + when.every, None) if when.every else (None, None)
    if moment.game is None:
        today = moment.now + moment.utc_offset
        return moment.now + _until(today % DAY / HOUR, when) * HOUR, None
    return None, moment.game.seconds + _until(moment.game.hour, when) * HOUR


def _until(hour: float, when: When) -> float:
    """Return the hours until it is the hour that was named. "Tomorrow" is the day that begins at the next midnight."""
    assert when.hour is not None
    if when.days:
        return when.hour - hour + FULL_DAY * when.days
    ahead = (when.hour - hour) % FULL_DAY or FULL_DAY
    return min(ahead, (ahead + HALF_DAY) % FULL_DAY or FULL_DAY) if when.is_either else ahead
