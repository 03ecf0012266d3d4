"""Servers with a quota, on a clock: one whose minute ends at a fixed time, and one whose bucket fills again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from twisted.internet.interfaces import IReactorTime


@dataclass(frozen=True)
class Answered:
    """What the server said of one request: whether it was taken, what is left, and when it is worth asking again."""

    taken: bool
    left: int
    reset_at: float


class Server(Protocol):
    per_minute: int
    most_in: float

    def ask(self) -> Answered: ...


@dataclass
class FixedWindow:
    """`per_minute` requests in each minute of the clock."""

    clock: IReactorTime
    per_minute: int = 60
    used: dict[int, int] = field(default_factory=dict)
    #: What may be taken beyond the even rate.
    most_in: float = 60

    def ask(self) -> Answered:
        minute = int(self.clock.seconds() // 60)
        reset_at = (minute + 1) * 60.0
        used = self.used.get(minute, 0)
        if used >= self.per_minute:
            return Answered(taken=False, left=0, reset_at=reset_at)
        self.used[minute] = used + 1
        return Answered(taken=True, left=self.per_minute - used - 1, reset_at=reset_at)


@dataclass
class Bucket:
    """A bucket of `per_minute` that fills evenly; its reset is when it is full (OpenAI)."""

    clock: IReactorTime
    per_minute: int = 60
    level: float = 60
    at: float = 0
    most_in: float = 60

    def ask(self) -> Answered:
        now, rate = self.clock.seconds(), self.per_minute / 60
        self.level = min(self.per_minute, self.level + (now - self.at) * rate)
        self.at = now
        if self.level < 1:
            return Answered(taken=False, left=0, reset_at=now + (1 - self.level) / rate)
        self.level -= 1
        return Answered(taken=True, left=int(self.level), reset_at=now + (self.per_minute - self.level) / rate)
