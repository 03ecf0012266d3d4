"""Subjects that do the same work in turns: the ratio of a round is formed within it, so a noisy machine cancels out.

What is metered is CPU time of the process that does the work, never wall time. Where the quartiles of what is judged
are too far apart, as many rounds again are taken, once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.figures import is_noisy, short

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
        return statistics.median(self.each[name])

    def told(self, *names: str) -> str:
        """The medians of these subjects, or of all, in words."""
        return ", ".join(f"{name} {short(self.middle(name))} ms" for name in names or self.each)


#: What is judged of the rounds: a value for each of them.
Judged = Callable[[Rounds], Sequence[float]]


def over(name: str, to: str) -> Judged:
    """The ratio of one subject to another."""
    return lambda rounds: rounds.ratios(name, to)


async def compare(
    subjects: Mapping[str, Subject],
    rounds: int = ROUNDS,
    seconds: float = TURN_SECONDS,
    *,
    judged: Sequence[Judged] = (),
) -> Rounds:
    """The turns of all subjects; their order is reversed with every round. A first round, to warm up, does not count.

    Twice as many rounds where anything that is judged is too noisy after the first so many.
    """
    measured = Rounds({name: [] for name in subjects})
    order: Sequence[str] = list(subjects)
    for name in order:
        await subjects[name].turn(seconds)
    await _take(subjects, order[::-1], rounds, seconds, measured)
    if any(is_noisy(values(measured)) for values in judged):
        await _take(subjects, order, rounds, seconds, measured)
    for subject in subjects.values():
        await subject.close()
    return measured


async def _take(
    subjects: Mapping[str, Subject], order: Sequence[str], rounds: int, seconds: float, measured: Rounds
) -> None:
    for _ in range(rounds):
        for name in order:
            measured.each[name].append((await subjects[name].turn(seconds)).each)
        order = order[::-1]
