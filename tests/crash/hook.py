"""The sides of the game that outlive its process: the hook that tells it of events, and where everybody is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.crash import game

#: How many events an assistant has before it, at most: two are dealt with in one run.
WAITING = (1, 1, 2)


@dataclass
class Hook:
    """The game's side: events with ids of their own, each sent until it is acknowledged."""

    chance: Random
    number: int = 0
    acknowledged: list[str] = field(default_factory=list)
    sent_again: int = 0
    _unacknowledged: dict[str, dict[str, str]] = field(default_factory=dict)
    _sent: dict[str, dict[str, str]] = field(default_factory=dict)
    _waiting: Counter[str] = field(default_factory=Counter)

    def again(self, names: list[str]) -> list[dict[str, str]]:
        """What a new process must hear first: what was not acknowledged, and now and then what was."""
        events = [event for event in self._unacknowledged.values() if event["name"] in names]
        if self.acknowledged and self.chance.random() < 0.2:
            old = self._sent[self.chance.choice(self.acknowledged)]
            events += [old] if old["name"] in names else []
        self.sent_again += len(events)
        return events

    def more(self, names: list[str]) -> list[dict[str, str]]:
        """New events, for those who have little to do."""
        events = []
        for name in names:
            for _ in range(0 if self._waiting[name] else self.chance.choice(WAITING)):
                self._waiting[name] += 1
                self.number += 1
                event = {"id": f"ev-{self.number}", "name": name, "how": self.chance.choice(("said", "whispered"))}
                self._unacknowledged[event["id"]] = self._sent[event["id"]] = event
                events.append(event)
        return events

    def heard(self, event_id: str) -> None:
        """The event is the assistant's from now on."""
        if self._unacknowledged.pop(event_id, None):
            self.acknowledged.append(event_id)

    def over(self, name: str) -> None:
        """A run is over: there is room for more."""
        self._waiting[name] = 0

    def waiting(self, pending: Mapping[str, int]) -> None:
        """How many events each has before it by the journal; what is not acknowledged comes on top."""
        self._waiting = Counter(pending)
        self._waiting.update(event["name"] for event in self._unacknowledged.values())


class Places:
    """Where the world has everybody: the game outlives its process."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = 0
        self._rooms = dict.fromkeys(game.CAST, "")

    def rooms(self, names: Iterable[str]) -> dict[str, str]:
        """The room of each of them."""
        if self._log.exists():
            with self._log.open("rb") as log:
                log.seek(self._read)
                lines = log.read().splitlines()
                self._read = log.tell()
            for act in map(json.loads, lines):
                self._rooms[act["name"]] = act["room"]
        return {name: self._rooms[name] for name in names}
