"""Scenes of characters that do things of themselves: an empty game, one who idles, one who watches, random days."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol

from benchmarks.living_town import HOUR, Inhabitant, Town, many_rooms, room_name
from mud_assistant.assistant.characters import Character
from mud_assistant.assistant.characters.day_entries import DAY, DayEntry, Days, FreeLife
from mud_assistant.assistant.life.days import entry_at
from mud_assistant.assistant.worlds.embedded.hamlet import Place
from mud_assistant.tools import Principal

ROOMS, MINUTE = 60, 60.0
#: How many seconds of the game pass in one of ours where days are to pass quickly.
QUICK_PACE = 12.0
#: How long after the beginning of an entry a character is looked for where it should be, in minutes of the game.
_ON_TIME = 45
#: How many of the doors are locked at night, and the hour at which they open.
LOCKED, OPEN_FROM = 0.06, 7
ANN = Principal("player:ann", "Ann")


class Asked(Protocol):
    """A model that counts: how often it was asked, how often for an impulse, and for how many tokens."""

    calls: int
    impulses: int
    tokens: int


class Watcher:
    """The eyes and ears of one player: all that they saw and heard, as (who, what)."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Words aloud."""
        self.seen.append((speaker.name, text))

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Words in a whisper."""
        self.seen.append((speaker.name, text))

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Words from afar."""

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Not looked at."""

    def saw_emote(self, actor: Principal, text: str) -> None:
        """A gesture."""
        self.seen.append((actor.name, text))

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Not looked at."""

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """Somebody comes."""
        self.seen.append((who.name, "arrives"))

    def saw_departure(self, who: Principal, direction: str) -> None:
        """Somebody goes."""
        self.seen.append((who.name, "leaves"))


def locks(place: Place, dice: Random) -> frozenset[tuple[str, str]]:
    """Return the doors that are locked at night, each as two rooms."""
    ways = ((room.key, way.to) for room in place.rooms for way in room.exits)
    return frozenset(way for way in ways if dice.random() < LOCKED)


def lock_at_night(town: Town, doors: frozenset[tuple[str, str]]) -> None:
    """Let nobody through these doors before they open."""
    for one in town.people.values():
        one.body.is_locked = lambda here, there: (here, there) in doors and town.time().hour < OPEN_FROM


def some_days(dice: Random, rooms: int = ROOMS) -> Days:
    """Make a day of three to five entries in places of a town."""
    starts = sorted(dice.sample(range(0, DAY, 30), dice.randint(3, 5)))
    entries = tuple(
        DayEntry(
            start, room_name(dice.randrange(rooms)), "begins.", ("does a thing.", "does another."), ("Well, well.",),
            rests=place == len(starts) - 1,
        )
        for place, start in enumerate(starts)
    )  # fmt: skip
    return Days(entries, FreeLife(("hums.", "yawns."), 10))


async def settle_many(town: Town, count: int, dice: Random, **settings: Any) -> Sequence[Inhabitant]:
    """Let so many characters with days of their own live in a town."""
    return [
        await town.settle(
            f"No{number}", f"room{dice.randrange(ROOMS)}", Character("", days=some_days(dice)), **settings
        )
        for number in range(count)
    ]


async def rows_of(town: Town) -> int:
    """Count the events and runs of the journal."""
    rows = "SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM runs) + (SELECT count(*) FROM goals)"
    return int(await town.file.store.read(lambda db: db.execute(rows).fetchone()[0]))


async def nobody_plays(reactor: Any, folder: Path) -> dict[str, float]:
    """Let 50 characters live in an empty game for a day, and then beside one player who idles for eight hours."""
    dice = Random(1)  # noqa: S311
    town = Town(reactor, many_rooms(ROOMS, dice), journal=folder / "empty.sqlite", pace=QUICK_PACE)
    await town.open()
    await settle_many(town, 50, dice, impulses=True)
    await town.until(town.clock.seconds() + 5 * MINUTE)
    before, used = await rows_of(town), time.process_time()
    await town.until(town.clock.seconds() + 24 * HOUR)
    share = (time.process_time() - used) / (24 * HOUR)
    grown, calls = await rows_of(town) - before, town.calls + len(town.failures)
    ears = Watcher()
    await town.player(ANN, town.people["No0"].body.room.key, ears).look()
    await town.until(town.clock.seconds() + 16 * MINUTE)
    lines, asked = len(ears.seen), town.calls + len(town.failures)
    await town.until(town.clock.seconds() + 7.75 * HOUR)
    idle = len(ears.seen) - lines
    idle_calls = town.calls + len(town.failures) - asked
    await town.close()
    return {"calls": calls, "rows": grown, "share": 100 * share, "idle_lines": idle, "idle_calls": idle_calls}


async def watched(reactor: Any, url: str, hours: float, brain: Asked) -> dict[str, float]:
    """Let one player watch three characters that have impulses, and say nothing: one with much to do, two with less."""
    dice = Random(2)  # noqa: S311
    town = Town(reactor, many_rooms(ROOMS, dice), url, pace=QUICK_PACE)
    deeds = DayEntry(0, room_name(0), "begins.", ("does a thing.", "does another."), ("Well, well.",))
    lives = (Days((deeds,)), Days((), FreeLife(("hums.", "yawns."), 25)), Days())
    for number, days in enumerate(lives):
        await town.settle(f"No{number}", "room0", Character("", days=days), impulses=True)
    ears = Watcher()
    ann = town.player(ANN, "room0", ears)
    for _ in range(int(hours * 12)):
        await ann.look()
        await town.until(town.clock.seconds() + 5 * MINUTE)
    await town.close()
    return {
        "calls": brain.calls / 3 / hours, "tokens": brain.tokens / 3 / hours * 4,
        "by_rule": 100 * (1 - brain.impulses / max(1, len(ears.seen))),
    }  # fmt: skip


async def random_days(reactor: Any, days: int) -> dict[str, float]:
    """Let 50 characters live random days among locked doors while somebody plays; say where they were and why not."""
    dice = Random(3)  # noqa: S311
    place = many_rooms(ROOMS, dice)
    doors = locks(place, dice)
    ways = {room.key: {way.to for way in room.exits} for room in place.rooms}
    town = Town(reactor, place, pace=QUICK_PACE)
    people = await settle_many(town, 50, dice)
    lock_at_night(town, doors)
    ann = town.player(ANN, "room0", Watcher())
    checks, where = {"right": 0, "shown": 0, "wrong": 0, "jumps": 0}, {one.me.id: one.body.room.key for one in people}

    def follow() -> None:
        for one in people:
            here = one.body.room.key
            if here != where[one.me.id]:
                checks["jumps"] += here not in ways[where[one.me.id]]
                where[one.me.id] = here

    for _ in range(days * 24 * 2):
        await ann.look()
        await town.until(town.clock.seconds() + HOUR / 2 / QUICK_PACE, follow)
        for one in people:
            _check(town, one, checks)
    await town.close()
    return {"days": 50 * days, **checks}


def _check(town: Town, one: Inhabitant, checks: dict[str, int]) -> None:
    """Look whether a character is where its day wants it, once in each entry."""
    minute, days = town.time().hour * 60, one.character.days
    entry = entry_at(days, minute)
    if entry is None or not _ON_TIME <= (minute - entry.start) % DAY < _ON_TIME + 30:
        return
    if town.world.rooms[one.body.room.key].name == entry.place:
        checks["right"] += 1
    elif any("did not open" in why.why or "no way" in why.why for why in one.alive.context.memory.reasons.latest):
        checks["shown"] += 1
    else:
        checks["wrong"] += 1
