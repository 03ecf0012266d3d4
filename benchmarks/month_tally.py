"""Counts where the characters of a month are, why, and what the hours cost in which nobody plays."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks.living_town import HOUR, Inhabitant, Town
from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.life.days import entry_at
from mud_assistant.assistant.life.presence import PRESENT_SECONDS

#: How long after the beginning of an entry, and after the first player came, a character is to be where it should be.
ON_TIME = 45 * 60.0
#: How often it is looked where each one is, in seconds.
LOOKS = 1800.0
#: What somebody may be, as the picture shows it.
IN_PLACE, RESTS, KEPT, SHUT, ELSEWHERE = "in its place", "asleep there", "kept by a promise", "way closed", "elsewhere"
PLACES = (IN_PLACE, RESTS, KEPT, SHUT, ELSEWHERE)


class Tally:
    """What is counted beside the promises. `ways` names the rooms that lie next to each."""

    def __init__(self, town: Town, ways: Mapping[str, frozenset[str]]) -> None:
        self._town, self._ways = town, ways
        self._homes = {name: one.body.room.key for name, one in town.people.items()}
        self._where = dict(self._homes)
        self._plays_since = self._looked = float("-inf")
        self._plays = False
        #: Steps that no exit leads to, those home excepted.
        self.jumps = 0
        #: Where everybody was, by the hour of the day; and of those, who had had the time to be in place.
        self.by_hour: list[Counter[str]] = [Counter() for _ in range(24)]
        self.in_time: Counter[str] = Counter()
        self.astray: list[str] = []
        #: Of the minutes in which nobody plays: how many, the seconds of CPU, and calls of models.
        self.empty_minutes = self.empty_calls = 0
        self.empty_cpu = 0.0

    def follow(self) -> None:
        """Look for those who came anywhere but by an exit, or home."""
        for name, one in self._town.people.items():
            here, before = one.body.room.key, self._where[name]
            if here != before:
                self.jumps += here not in self._ways[before] and here != self._homes[name]
                self._where[name] = here

    def minute(self, calls: int, cpu: float) -> None:
        """Take note of a minute that is over, with its calls of models and its seconds of CPU."""
        now = self._town.clock.seconds()
        plays = any(one.body.somebody_plays(PRESENT_SECONDS) for one in self._town.people.values())
        if not plays and not self._plays:
            self.empty_minutes += 1
            self.empty_calls += calls
            self.empty_cpu += cpu
        if plays and not self._plays:
            self._plays_since = now
        self._plays = plays
        if now - self._looked >= LOOKS:
            self._looked = now
            for one in self._town.people.values():
                self._look(one, now)

    def _look(self, one: Inhabitant, now: float) -> None:
        """Look where somebody is and whether the day wants that."""
        hour, days = self._town.time().hour, one.character.days
        entry = entry_at(days, hour * 60)
        if entry is None:
            return
        if self._town.world.rooms[one.body.room.key].name == entry.place:
            found = RESTS if entry.rests else IN_PLACE
        else:
            found = self._why_away(one)
        self.by_hour[int(hour)][found] += 1
        since = (hour * 60 - entry.start) % (24 * 60) * 60
        if self._plays and min(since, now - self._plays_since) >= ON_TIME:
            self.in_time[found] += 1
            if found == ELSEWHERE:
                latest = [f"{why.what}: {why.why}" for why in one.alive.context.memory.reasons.latest[:3]]
                self.astray.append(f"{now / HOUR:.1f} {one.me.name}: {latest}")

    def _why_away(self, one: Inhabitant) -> str:
        memory = one.alive.context.memory
        if any(goal.kind in {GoalKind.WAIT, GoalKind.COME} for goal in memory.goals.all() if goal.is_open):
            return KEPT
        last = next(
            (one for one in memory.reasons.latest if one.what == "its day" and "here to see" not in one.why), None
        )
        is_shut = last is not None and ("did not open" in last.why or "no way" in last.why)
        return SHUT if is_shut else ELSEWHERE

    def found(self) -> dict[str, Any]:
        """Return what was counted."""
        told = self.in_time
        looked = told.total() - told[KEPT]
        share = 100 * (looked - told[ELSEWHERE]) / max(1, looked)
        return {
            "jumps": self.jumps, "in_time": share, "places": told, "by_hour": self.by_hour,
            "empty_hours": self.empty_minutes / 60, "empty_calls": self.empty_calls,
            "empty_share": 100 * self.empty_cpu / max(60.0, 60 * self.empty_minutes), "astray": self.astray,
        }  # fmt: skip


def cpu() -> float:
    """Return the seconds of CPU that this process has used."""
    return time.process_time()
