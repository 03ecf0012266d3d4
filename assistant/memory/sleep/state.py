"""What a night needs of the store of memories, and what is kept of a night so that a killed one goes on.

The answer of the model is kept before anything is made of it. So a night that was killed meanwhile makes the same
memories of the same answer, under the same ids, and nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from mud_assistant.tools.memories import Memory
from mud_assistant.tools.trust import Audience


class SleepAnswer(Struct, frozen=True):
    """A model's answer from which nothing was made yet.

    `task` is the key of the task, `kind` and `who` are those of its wish. `shown` are the ids of the lines in the
    prompt, `pairs` those of the lines to judge, and `old` is the id of the profile in the prompt.
    """

    task: str
    kind: str
    who: str
    text: str
    shown: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    old: str = ""


class SleepRecord(Struct, frozen=True):
    """How far sleep has come. Times are seconds since 1970.

    `last_night` is when the last night began. Lines up to `since` were slept over. `until` is the end of what the night
    under way takes in, None when there is none; `calls` were made in it, `done` are the keys of the tasks that are
    over, and `derived` tells whether anything came of it.
    """

    last_night: float | None = None
    since: float = 0.0
    until: float | None = None
    calls: int = 0
    done: tuple[str, ...] = ()
    derived: bool = False
    answer: SleepAnswer | None = None


class SleepState(Protocol):
    """Where one character's record of sleep is kept. Each method returns when what it wrote is safe."""

    def load(self) -> Awaitable[SleepRecord]:
        """Return the record that was saved last, an empty one when there is none."""
        ...

    def save(self, record: SleepRecord) -> Awaitable[None]:
        """Keep the record in the place of the one before."""
        ...

    def queued(self) -> Awaitable[Sequence[tuple[str, ...]]]:
        """Return the lists of ids from which something is to be derived anew, the oldest first."""
        ...

    def enqueue(self, parts: Iterable[tuple[str, ...]]) -> Awaitable[None]:
        """Add lists of ids from which something is to be derived anew. A list that is there is not added again."""
        ...

    def dequeue(self, parts: Iterable[tuple[str, ...]]) -> Awaitable[None]:
        """Remove lists of ids from the queue."""
        ...


class SleepStore(Protocol):
    """What sleep needs of the memories of one character. Nothing here blocks the reactor."""

    def lines_since(self, since: float, until: float, limit: int) -> Awaitable[Sequence[Memory]]:
        """Return what was heard and seen after `since` and up to `until`: the newest `limit`, in any order."""
        ...

    def lines_of(self, principal_id: str, audience: Audience, limit: int) -> Awaitable[Sequence[Memory]]:
        """Return the newest `limit` lines of a person that were heard by exactly this audience, in any order.

        They are the person's own: what others said of them is not among them.
        """
        ...

    def find(self, ids: Collection[str]) -> Awaitable[Sequence[Memory]]:
        """Return those of the memories that are still there, in any order."""
        ...

    def derive(self, memory: Memory, needs: Collection[str]) -> Awaitable[bool]:
        """Write down what was derived, in the place of the memory with the same id if there is one.

        Return False, and write nothing, when a memory of `needs` is not there any more, so that nothing comes back
        that was forgotten. Both is one transaction.
        """
        ...

    def settle(self, older_id: str, newer_id: str) -> Awaitable[bool]:
        """Mark the older memory as superseded by the newer one, and delete nothing.

        Return False, and change nothing, when one of them is not there or they are not from the same person.
        """
        ...
