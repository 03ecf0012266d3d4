"""What a day asks of a character: one thing at a time, once, and nothing that nobody can see."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.characters.day_entries import DAY, DayEntry, Days, FreeLife
from mud_assistant.assistant.life.days import (
    DEED_SECONDS,
    MOST_TRIES,
    DayClock,
    DayOffer,
    DayRest,
    DayState,
    Surroundings,
    begun_at,
    due,
    entry_at,
    entry_text,
    is_given_up,
)

SMITHY = DayEntry(360, "smithy", "lights the forge.", ("hammers.", "files."), ("Mind the sparks.",))
BED = DayEntry(1320, "loft", rests=True)
DAYS = Days((SMITHY, BED), FreeLife(("yawns.", "stretches."), 10))
WATCHED = Surroundings(room="smithy", watched=True)


def at(minute: float, day: int = 3, pace: float = 12.0) -> DayClock:
    """The clock at this minute of the day."""
    return DayClock((day * DAY + minute) * 60 / pace, day, minute, pace)


def on(
    days: Days, clock: DayClock, here: Surroundings, state: DayState | None = None
) -> tuple[DayOffer | DayRest, DayState]:
    return due(days, clock, here, state or DayState(was_watched=here.watched), Random(1))  # noqa: S311


@pytest.mark.parametrize(
    ("minute", "entry"), [(0, BED), (359, BED), (360, SMITHY), (1319.9, SMITHY), (1320, BED), (1439, BED)]
)
def test_the_last_entry_that_began_counts_over_midnight_too(minute: float, entry: DayEntry) -> None:
    assert entry_at(DAYS, minute) is entry
    assert entry_at(Days(), minute) is None


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (None, ""),
        (BED, 'since 22:00 it rests, in "loft"'),
        (SMITHY, 'since 06:00 it is to be in "smithy"'),
        (DayEntry(0, rests=True), "since 00:00 it rests"),
        (DayEntry(720), "since 12:00 it goes about its day"),
    ],
)
def test_an_owner_is_told_what_the_day_wants(entry: DayEntry | None, text: str) -> None:
    assert entry_text(entry) == text


def test_an_entry_over_midnight_is_the_same_one() -> None:
    assert begun_at(BED, at(1400, 3)) == begun_at(BED, at(100, 4)) == 3 * DAY + 1320


def test_it_walks_step_by_step_and_then_begins_once() -> None:
    there = Surroundings(at_place=False, step="north", room="square")
    offer, state = on(DAYS, at(400), there)
    assert isinstance(offer, DayOffer)
    assert (offer.by_rule.tool, offer.by_rule.arguments) == ("move", {"direction": "north"})
    assert offer.by_rule.why == "the entry 06:00 of its day"
    offer, state = on(DAYS, at(401), WATCHED, state)
    assert isinstance(offer, DayOffer)
    assert offer.by_rule.arguments == {"text": "lights the forge."}
    rest, state = on(DAYS, at(401.2), WATCHED, state)
    assert isinstance(rest, DayRest)
    for minute in range(402, 1320):
        offer, state = on(DAYS, at(minute), WATCHED, state)
        assert not isinstance(offer, DayOffer) or offer.by_rule.arguments["text"] != SMITHY.begins


def test_what_was_missed_is_done_once_and_not_made_up_for() -> None:
    offer, state = on(DAYS, at(1300, day=9), WATCHED, DayState(begun=3 * DAY + 360, was_watched=True))
    assert isinstance(offer, DayOffer)
    assert offer.begins == 9 * DAY + 360
    assert not isinstance(on(DAYS, at(1300, day=9), WATCHED, state)[0], DayOffer)


def test_gestures_come_every_few_minutes_and_never_the_same_twice_in_a_row() -> None:
    state, deeds, clock = DayState(begun=3 * DAY + 360), list[tuple[float, str]](), at(400)
    dice = Random(7)  # noqa: S311
    for second in range(0, 7200, 5):
        now = replace(clock, now=clock.now + second)
        offer, state = due(DAYS, now, WATCHED, state, dice)
        if isinstance(offer, DayOffer):
            deeds.append((now.now, str(offer.by_rule.arguments["text"])))
    gaps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(deeds)]
    assert all(DEED_SECONDS[0] <= gap <= DEED_SECONDS[1] + 5 for gap in gaps)
    assert {text for _, text in deeds} == {*SMITHY.does, *SMITHY.says}
    assert all(one[1] != other[1] for one, other in itertools.pairwise(deeds))
    assert deeds[0][0] - clock.now <= 95


@pytest.mark.parametrize(
    ("here", "why"),
    [
        (replace(WATCHED, watched=False), "nobody is here to see it"),
        (replace(WATCHED, quiet_for=29.0), "somebody is speaking"),
        (Surroundings(at_place=False, step="north", quiet_for=3.0), "somebody is speaking"),
        (Surroundings(at_place=False, step="north", held="it follows Ann"), "nobody is here to see it"),
    ],
)
def test_it_rests_where_nobody_sees_it_and_while_somebody_speaks(here: Surroundings, why: str) -> None:
    rest, _ = on(DAYS, at(400), here)
    assert isinstance(rest, DayRest)
    assert rest.why == why


def test_a_locked_way_is_given_up_for_an_hour_of_the_game_and_tried_again() -> None:
    here = Surroundings(at_place=False, no_way="the door is locked", watched=True)
    rest, state = on(DAYS, at(400), here)
    assert isinstance(rest, DayRest)
    assert rest.why == "the entry 06:00 of its day: the door is locked"
    assert is_given_up(state, SMITHY, at(459))
    assert state.no_way == "the door is locked"
    assert rest.until == pytest.approx(at(460).now)
    later, state = on(DAYS, at(410), replace(here, no_way="", step="north"), replace(state, next_deed=0.0))
    assert isinstance(later, DayOffer)
    assert later.by_rule.why == "free life"
    again, _ = on(DAYS, at(461), replace(here, no_way="", step="north"), state)
    assert isinstance(again, DayOffer)
    assert again.by_rule.tool == "move"


def test_a_step_that_leads_nowhere_is_given_up() -> None:
    here, state = Surroundings(at_place=False, step="north", room="square"), DayState()
    for _ in range(MOST_TRIES):
        offer, state = on(DAYS, at(400), here, state)
        assert isinstance(offer, DayOffer)
    rest, state = on(DAYS, at(400), here, state)
    assert isinstance(rest, DayRest)
    assert "did not open" in rest.why


def test_a_character_without_a_day_has_free_life_and_one_without_either_rests() -> None:
    free = Days((), FreeLife(("yawns.",), 10))
    offer, _ = on(free, at(10), WATCHED, DayState(was_watched=True))
    assert isinstance(offer, DayOffer)
    rest, _ = on(Days(), at(10), WATCHED)
    assert rest == DayRest(float("inf"), "its file names nothing to do now")


class Town:
    """Sixty rooms in a random tree with some more doors, of which some are locked."""

    def __init__(self, dice: Random) -> None:
        self.ways: dict[int, dict[str, int]] = {room: {} for room in range(60)}
        for room in range(1, 60):
            self._join(dice.randrange(room), room)
        for _ in range(20):
            self._join(dice.randrange(60), dice.randrange(60))
        self.locked = {(dice.randrange(60), str(dice.randrange(60))) for _ in range(30)}

    def _join(self, one: int, other: int) -> None:
        self.ways[one][str(other)], self.ways[other][str(one)] = other, one

    def first_step(self, start: int, goal: int, known: frozenset[tuple[int, str]]) -> str:
        """The first direction of the shortest way over doors that are not `known` to be locked."""
        waiting, seen = [(start, "")], {start}
        for room, first in waiting:
            if room == goal:
                return first
            for direction, behind in self.ways[room].items():
                if behind not in seen and (room, direction) not in known:
                    seen.add(behind)
                    waiting.append((behind, first or direction))
        return ""


def _lived_day(town: Town, days: Days, dice: Random, *, sees_locks: bool) -> tuple[int, int, int]:
    """Live a day, a look every five minutes of the game. Return how many entries there were, were kept and given up."""
    room, state, kept, shown = 0, DayState(), set[int](), set[int]()
    for minute in range(0, DAY, 5):
        clock = at(minute, 0)
        entry = entry_at(days, minute)
        assert entry is not None
        for _ in range(4):
            goal = int(entry.place)
            step = town.first_step(room, goal, frozenset(town.locked) if sees_locks else frozenset())
            here = Surroundings(room == goal, step, "" if step or room == goal else "no way", str(room))
            offer, state = due(days, clock, here, state, dice)
            if not isinstance(offer, DayOffer):
                break
            assert offer.by_rule.tool == "move"
            direction = offer.by_rule.arguments["direction"]
            if (room, direction) not in town.locked:
                room = town.ways[room][direction]  # one step from where it was: never in two places
        if room == int(entry.place):
            kept.add(begun_at(entry, clock))
        if is_given_up(state, entry, clock):
            assert state.no_way
            shown.add(begun_at(entry, clock))
    return len(kept | shown), len(kept), len(days.entries)


@pytest.mark.parametrize("sees_locks", [True, False])
def test_in_random_towns_with_locked_doors_entries_are_kept_in_time_or_given_up_and_shown(*, sees_locks: bool) -> None:
    dice = Random(20)  # noqa: S311
    dealt = entries = kept_in_all = 0
    for _ in range(500):
        town = Town(dice)
        starts = sorted(dice.sample(range(0, DAY, 60), dice.randrange(1, 9)))
        days = Days(tuple(DayEntry(start, str(dice.randrange(60))) for start in starts))
        dealt_with, kept, number = _lived_day(town, days, dice, sees_locks=sees_locks)
        # The entry over midnight counts twice: as it ends, and as it begins.
        dealt, entries, kept_in_all = dealt + min(dealt_with, number), entries + number, kept_in_all + kept
    assert dealt >= 0.95 * entries
    assert kept_in_all >= 0.4 * entries
