"""Processes that spend one budget together, on one clock: the stored sums, and a pipeline for each process."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience import (
    Account,
    Allowance,
    Amount,
    Attempt,
    Call,
    Caller,
    CallTarget,
    Deadline,
    Ledger,
    Pipeline,
    RetryConfig,
    UpstreamConfig,
    Verdict,
)
from mud_assistant.resilience.admission.capacity import InFlightConfig
from mud_assistant.resilience.amounts import NOTHING
from mud_assistant.resilience.budget.shared import AccountUse, Booked, ReservationRequest, UseKey, granted

ONE = Amount(calls=1, tokens=10, money=0.1)
DAY = 86_400.0
TARGET = CallTarget("http://a")


class Lost(Exception):
    """The database did not answer."""


class Books:
    """The stored parts of all processes. `away` makes writes fail, `mute` does so after they were stored."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[UseKey, AccountUse]] = {}
        self.away = self.mute = False
        self.writes = 0

    def most(self, account: str = "all", day: int = 0) -> Amount:
        """What all processes count."""
        sums = NOTHING
        for part in self.parts.values():
            if (use := part.get(UseKey(day, account))) is not None:
                sums += use.most
        return sums


class Part:
    """The books as one process sees them. `gates` holds its writes up once it is a list."""

    def __init__(self, books: Books, name: str) -> None:
        self.books, self.name = books, name
        self.gates: list[Deferred[None]] | None = None

    def elsewhere(self, key: UseKey) -> AccountUse:
        others = [part[key] for name, part in self.books.parts.items() if name != self.name and key in part]
        sums = AccountUse(*key)
        for use in others:
            sums = AccountUse(*key, sums.spent + use.spent, sums.reserved + use.reserved)
        return sums

    async def load(self, day: int) -> Sequence[AccountUse]:
        if self.books.away:
            raise Lost("the database is away")
        keys = {key for part in self.books.parts.values() for key in part if key.day == day}
        return [self.elsewhere(key) for key in keys]

    async def book(self, uses: Sequence[AccountUse], requests: Sequence[ReservationRequest]) -> Booked:
        if self.gates is not None:
            self.gates.append(Deferred())
            await self.gates[-1]
        self.books.writes += 1
        if self.books.away:
            raise Lost("the database is away")
        keyed = {UseKey(use.day, use.account): use for use in uses}
        elsewhere = {key: self.elsewhere(key) for key in keyed}
        counted, refusals = granted(keyed, elsewhere, requests)
        self.books.parts.setdefault(self.name, {}).update(counted)
        if self.books.mute:
            raise Lost("no answer came")
        return Booked(refusals, tuple(elsewhere.values()))

    def open(self) -> None:
        """Let the oldest write that is held up go on."""
        assert self.gates
        self.gates.pop(0).callback(None)


class Office:
    """One process: a pipeline before a server whose attempts wait until they are let go."""

    def __init__(self, books: Books, clock: Clock, name: str) -> None:
        self.clock, self.part = clock, Part(books, name)
        self.ledger = Ledger(clock.seconds, clock.seconds)
        self.pipeline = Pipeline(clock, Random(1), self.ledger, shared=self.part)  # noqa: S311  (jitter)
        self.attempts: list[tuple[Attempt, Deferred[str]]] = []
        self.ends: list[object] = []

    def call(self, *accounts: Account, estimate: Amount = ONE, seconds: float = 60.0) -> Deferred[str]:
        """Begin a call. How it ended is put into `ends`."""

        def judge(_: Exception) -> Verdict:
            return Verdict("down", is_failure=True)

        async def make(attempt: Attempt) -> str:
            waiting: Deferred[str] = Deferred()
            self.attempts.append((attempt, waiting))
            return await waiting

        many = UpstreamConfig(in_flight=InFlightConfig(most=1000, first=1000), start_seconds=0.0)
        call = Call(TARGET, judge, Caller("x", accounts=accounts), estimate, RetryConfig(max_attempts=1), many)
        made = Deferred.fromCoroutine(self.pipeline.call(make, call, Deadline.after(self.clock, seconds)))
        made.addBoth(lambda result: self.ends.append(result.value if isinstance(result, Failure) else result))
        return made

    def answer(self, used: Amount = ONE) -> None:
        """Answer the oldest call."""
        attempt, waiting = self.attempts.pop(0)
        attempt.used = used
        waiting.callback("done")

    def fail(self) -> None:
        """Fail the oldest call, before it used anything."""
        self.attempts.pop(0)[1].errback(RuntimeError("it is down"))


def limited(
    name: str = "all", calls: int | None = None, tokens: int | None = None, money: float | None = None
) -> Account:
    """An account with an allowance."""
    return Account(name, Allowance(calls, tokens, money))
