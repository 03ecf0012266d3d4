"""The person a character follows, for whom, and until when. Kept in memory only: after a restart it follows nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tools.game import Person
from tools.trust import Principal

A_MINUTE = 60.0


class Following:
    """The person one character follows. `now` gives seconds; it ends after `minutes`, and with 0 it never begins."""

    def __init__(self, now: Callable[[], float], minutes: float = 30.0) -> None:
        self.minutes = minutes
        #: The principal who asked for it: the walks are judged as theirs.
        self.asker: Principal | None = None
        self._now = now
        self._leader: Person | None = None
        self._until = 0.0

    @property
    def leader(self) -> Person | None:
        """The person the character follows now, None for nobody."""
        if self._leader is not None and self._now() >= self._until:
            self.end()
        return self._leader

    def begin(self, leader: Person, asker: Principal | None) -> None:
        """Follow this person, and nobody else, from now on."""
        self._leader, self.asker = leader, asker
        self._until = self._now() + self.minutes * A_MINUTE

    def leads(self, id_: str) -> bool:
        """Tell whether the character follows the person with this id."""
        return (leader := self.leader) is not None and leader.id == id_

    def look_for_leader(self, people: Iterable[Person]) -> None:
        """Stop following when the leader is not among these people."""
        if (leader := self.leader) is not None and leader.id not in {person.id for person in people}:
            self.end()

    def end(self) -> None:
        """Stop following."""
        self._leader = self.asker = None
