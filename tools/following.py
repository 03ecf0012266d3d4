"""Whom a character follows, for whom, and until when. It is kept in memory only: a character that restarts stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tools.context import Person
from tools.principal import Principal

A_MINUTE = 60.0


class Following:
    """Whom one character follows. `now` gives seconds; after `minutes` it follows no more, and never with 0."""

    def __init__(self, now: Callable[[], float], minutes: float = 30.0) -> None:
        self.minutes = minutes
        #: Who asked for it: the walks are judged as theirs.
        self.asker: Principal | None = None
        self._now = now
        self._leader: Person | None = None
        self._until = 0.0

    @property
    def leader(self) -> Person | None:
        """Whom the character follows now, None for nobody."""
        if self._leader is not None and self._now() >= self._until:
            self.end()
        return self._leader

    def begin(self, leader: Person, asker: Principal | None) -> None:
        """Follow this person from now on, and nobody else."""
        self._leader, self.asker = leader, asker
        self._until = self._now() + self.minutes * A_MINUTE

    def leads(self, id_: str) -> bool:
        """Tell whether the character follows the one with this id."""
        return (leader := self.leader) is not None and leader.id == id_

    def look_for_leader(self, people: Iterable[Person]) -> None:
        """Follow on where the leader is among these people, else nobody any more."""
        if (leader := self.leader) is not None and leader.id not in {person.id for person in people}:
            self.end()

    def end(self) -> None:
        """Follow nobody any more."""
        self._leader = self.asker = None
