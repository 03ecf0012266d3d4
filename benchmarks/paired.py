"""Subjects that do the same work in turns: the ratio of a round is formed within it, so a noisy machine cancels out.

What is metered is CPU time of the process that does the work, never wall time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

#: CPU seconds of one turn, and rounds of turns.
TURN_SECONDS, ROUNDS = 0.04, 25


@dataclass(frozen=True, slots=True)
class Turn:
    """What a subject did in its turn, and the CPU seconds that took."""

    seconds: float
    done: int

    @property
    def each(self) -> float:
        """CPU milliseconds of one piece of work."""
        return 1000 * self.seconds / self.done


class Subject(Protocol):
    """Somebody who does the work. A result that is not the expected one raises."""

    async def turn(self, seconds: float) -> Turn:
        """Work for about so many CPU seconds."""
        ...

    async def close(self) -> None:
        """Leave nothing behind."""
        ...


class Volleys(Protocol):
    """Work in volleys of several callers at once, in this process."""

    async def volley(self) -> int:
        """How many pieces of work were done."""
        ...

    async def reset(self) -> None:
        """Be as before; not metered."""
        ...


async def metered(subject: Volleys, seconds: float) -> Turn:
    """As many volleys as make up this much CPU time of the process, the resets between them not counted."""
    used, done = 0.0, 0
    while used < seconds:
        await subject.reset()
        began = time.process_time()
        done += await subject.volley()
        used += time.process_time() - began
    return Turn(used, done)


@dataclass(slots=True)
class Rounds:
    """CPU milliseconds of one piece of work by subject, round by round."""

    each: dict[str, list[float]] = field(default_factory=dict)

    def ratios(self, name: str, to: str) -> list[float]:
        """One subject over another, by round."""
        return [mine / theirs for mine, theirs in zip(self.each[name], self.each[to], strict=True)]

    def middle(self, name: str) -> float:
        """The median of a subject's rounds."""
        ordered = sorted(self.each[name])
        return ordered[len(ordered) // 2]


async def compare(
    subjects: Mapping[str, Subject], rounds: int = ROUNDS, seconds: float = TURN_SECONDS, *, warm_up: int = 1
) -> Rounds:
    """The turns of all subjects; their order is reversed with every round. The rounds of the warm-up do not count."""
    measured = Rounds({name: [] for name in subjects})
    order: Sequence[str] = list(subjects)
    for number in range(-warm_up, rounds):
        for name in order:
            turn = await subjects[name].turn(seconds)
            if number >= 0:
                measured.each[name].append(turn.each)
        order = order[::-1]
    for subject in subjects.values():
        await subject.close()
    return measured
