"""A reference model of the circuit breaker, after its documentation and in another way than its code.

It keeps every fact there ever was, and works out all of the present from all of the past each time it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from math import inf
from random import Random

from mud_assistant.resilience.admission.breaker import PROBE_WAIT, BreakerConfig, CircuitState

NO_CALL = -1
ENDS = {"success", "failure", "give_back"}


@dataclass(frozen=True)
class Fact:
    """`what` is "trip", "acquire", "heard", "hang" or one of the ends; all but a trip are of one call."""

    at: float
    what: str
    call: int = NO_CALL
    is_repeat: bool = False


@dataclass(frozen=True)
class Told:
    """What a call told of the server. `is_more`: it had told of itself before, by hanging."""

    is_failed: bool
    is_more: bool = False


@dataclass
class Stretch:
    """The time since one change of the state, and what happened in it to the calls that began in it."""

    state: CircuitState = CircuitState.CLOSED
    since: float = 0.0
    until: float = inf
    trips: int = 0
    begun: dict[int, Fact] = field(default_factory=dict)
    hung: set[int] = field(default_factory=set)
    over: set[int] = field(default_factory=set)
    told: list[Told] = field(default_factory=list)


class Model:
    """`facts` are to be added in their order; `history` is every stretch until a time, the present one last."""

    def __init__(self, config: BreakerConfig, seed: int) -> None:
        self.config = config
        self.seed = seed
        self.facts: list[Fact] = []

    def history(self, now: float) -> list[Stretch]:
        chance = Random(self.seed)  # noqa: S311  (no secret)
        stretches = [Stretch()]
        facts = sorted([*self._hangs(now), *self.facts], key=lambda fact: fact.at)  # a hang comes before its equals
        for fact in [*facts, Fact(now, "now")]:
            if stretches[-1].until <= fact.at:
                last = stretches[-1]
                stretches.append(Stretch(CircuitState.HALF_OPEN, last.until, trips=last.trips))
            follows = self._next(stretches[-1], fact, chance)
            stretches += [follows] if follows else []
        return stretches

    def room(self, stretch: Stretch) -> int | None:
        """How many permits there are, when there is a limit."""
        if stretch.state is CircuitState.HALF_OPEN:
            wanted = self.config.success_threshold - len(stretch.told)
            return max(0, min(wanted, self.config.half_open_permits) - len(stretch.begun.keys() - stretch.over))
        return 0 if stretch.state is CircuitState.OPEN else None

    def retry_after(self, stretch: Stretch, now: float) -> float:
        """Seconds until it may be worth asking."""
        return stretch.until - now if stretch.state is CircuitState.OPEN else PROBE_WAIT * (self.room(stretch) == 0)

    def out(self) -> list[int]:
        """The calls that have a permit."""
        ended = {fact.call for fact in self.facts if fact.what in ENDS}
        return [fact.call for fact in self.facts if fact.what == "acquire" and fact.call not in ended]

    def _hangs(self, now: float) -> Iterator[Fact]:
        """The moment when each call began to hang that did: the end of its first long silence."""
        hang = inf if self.config.hang_seconds is None else self.config.hang_seconds
        signs: dict[int, list[float]] = {}
        for fact in [*self.facts, *(Fact(now, "now", call) for call in self.out())]:
            signs.setdefault(fact.call, []).append(fact.at)
        signs.pop(NO_CALL, None)
        for call, times in signs.items():
            ends = [at + hang for at, later in pairwise(times) if at + hang <= later]
            yield from [Fact(at, "hang", call) for at in ends[:1]]

    def _next(self, stretch: Stretch, fact: Fact, chance: Random) -> Stretch | None:
        """The stretch that a fact begins, if it does."""
        if fact.what == "trip":
            return self._open(fact.at, 0, chance) if stretch.state is CircuitState.CLOSED else None
        if fact.what == "acquire":
            stretch.begun[fact.call] = fact
        begun = stretch.begun.get(fact.call)
        if begun is None or fact.what in {"acquire", "heard"}:
            return None
        is_more = fact.call in stretch.hung
        (stretch.hung if fact.what == "hang" else stretch.over).add(fact.call)
        told = Told(fact.what != "success", is_more)
        if fact.what == "give_back" or (told.is_failed and is_more):
            return None
        if stretch.state is CircuitState.HALF_OPEN:
            stretch.told.append(told)
            if told.is_failed:
                return self._open(fact.at, stretch.trips, chance)
            return Stretch(CircuitState.CLOSED, fact.at) if len(stretch.told) == self.config.success_threshold else None
        if stretch.state is CircuitState.CLOSED and not (told.is_failed and begun.is_repeat):
            stretch.told.append(told)
            is_bad = row(stretch.told) >= self.config.failure_threshold
            return self._open(fact.at, 0, chance) if is_bad else None
        return None

    def _open(self, at: float, trips: int, chance: Random) -> Stretch:
        config, seconds = self.config, self.config.reset_timeout
        for _ in range(trips):
            seconds = min(seconds * config.reset_growth, config.max_reset_timeout)
        seconds *= 1.0 + chance.uniform(0.0, config.reset_jitter) if trips else 1.0
        return Stretch(CircuitState.OPEN, at, at + seconds, trips + 1)


def row(told: list[Told]) -> int:
    """How many failures there are at the end."""
    return len(list(takewhile(lambda one: one.is_failed, reversed(told))))
