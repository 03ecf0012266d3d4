"""Checks which entries of a character's day cannot be kept where it lives, and says what to do about each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial

from msgspec import Struct

from mud_assistant.assistant.characters import CharacterError
from mud_assistant.assistant.characters.day_entries import DayEntry, Days
from mud_assistant.assistant.checks.check_runner import CheckRunner
from mud_assistant.assistant.checks.finding import FindingState, Problem
from mud_assistant.assistant.life.days import EMOTE, MOVE, SAY, Surroundings
from mud_assistant.assistant.life.whereabouts import Whereabouts
from mud_assistant.tools import World
from mud_assistant.tools.game import game_time

#: How long all ways of a day may be looked for, in seconds.
PLACES_SECONDS = 30.0
TOOLS, PLACES, CLOCK = "day tools", "day places", "day clock"


class DayKeeper(Struct, frozen=True):
    """A character whose day is looked at: its name, where it lives, and the tools that it is granted, None for all.

    `days` reads what its file says now; it raises CharacterError.
    """

    name: str
    days: Callable[[], Awaitable[Days]]
    world: World
    tools: Collection[str] | None = None

    def has(self, tool: str) -> bool:
        """Tell whether a tool is granted."""
        return self.tools is None or tool in self.tools


async def check_days(keeper: DayKeeper, runner: CheckRunner) -> None:
    """Note what stands in the way of a day. A character without days is not mentioned."""
    try:
        days = await keeper.days()
    except CharacterError as error:
        runner.note(TOOLS, FindingState.WRONG, str(error))
        return
    if not days:
        return
    if lacks := [text for text in (_lack(keeper, days, tool) for tool in (MOVE, EMOTE, SAY)) if text]:
        runner.note(TOOLS, FindingState.WRONG, "; ".join(lacks))
    else:
        runner.note(TOOLS, FindingState.OK, f"{keeper.name} may do all that its day names")
    if keeper.has(MOVE) and any(entry.place for entry in days.entries):
        await runner.check(PLACES, PLACES_SECONDS, partial(_look_for_places, keeper, days))
    runner.note(CLOCK, FindingState.OK, _clock_text(keeper))


def _lack(keeper: DayKeeper, days: Days, tool: str) -> str:
    """Return what is not done for want of a tool, and what to do; empty when nothing is."""
    if keeper.has(tool):
        return ""
    kept_from = [entry for entry in days.entries if _needs(entry, tool)]
    what = [f"of the entries {_times(kept_from)}"] if kept_from else []
    what += ["of its free life"] if tool == EMOTE and days.free.does else []
    if not what:
        return ""
    does = {MOVE: "walks to no place", EMOTE: "makes no pose", SAY: "says nothing"}[tool]
    return f"{keeper.name} is not granted {tool}, so it {does} {' and '.join(what)}: add {tool} to the setting tools"


def _needs(entry: DayEntry, tool: str) -> bool:
    needs = {MOVE: bool(entry.place), EMOTE: bool(entry.begins or entry.does), SAY: bool(entry.says)}
    return needs[tool]


async def _look_for_places(keeper: DayKeeper, days: Days) -> str:
    """Return that all places are in reach from where the character is. Raises Problem."""
    whereabouts = Whereabouts(keeper.world, str, is_granted=True)
    by_place: dict[str, list[DayEntry]] = {}
    for entry in days.entries:
        if entry.place:
            by_place.setdefault(entry.place, []).append(entry)
    wrong = []
    for place, entries in by_place.items():
        if why := (await whereabouts.way(place, Surroundings())).no_way:
            wrong.append(f'"{place}" ({_times(entries)}): {_cure(keeper, place, why)}')
    if wrong:
        raise Problem(f"{keeper.name} cannot go where its day wants it: {'; '.join(wrong)}")
    return f"{keeper.name} can go wherever its day wants it"


def _cure(keeper: DayKeeper, place: str, why: str) -> str:
    """Return why a place cannot be reached, and what to do."""
    find: Callable[[str], Collection[str]] | None = getattr(keeper.world, "rooms_named", None)
    rooms = None if find is None else sorted(set(find(place)))
    if rooms is None:
        return f"{why}; name a room as it is called in the game, and let {keeper.name} pass the exits that lead there"
    if not rooms:
        return "no room of the game has such a name; write the name that the room has, or some words of it"
    there = ", ".join(rooms[:3])
    return f"there is {there}, and no way that {keeper.name} may pass; make exits, or unlock those on the way for it"


def _clock_text(keeper: DayKeeper) -> str:
    game = game_time(keeper.world)
    if game is None or game.pace <= 0:
        return "the game has no clock, so the wall clock counts, moved by [budget] utc_offset"
    hour, minute = divmod(int(game.hour * 60), 60)
    took = f"a day takes {24 / game.pace:.3g} hours"
    return f"it goes by the clock of the game, which shows {hour:02}:{minute:02}; {took}"


def _times(entries: Iterable[DayEntry]) -> str:
    return ", ".join(entry.time for entry in entries)
