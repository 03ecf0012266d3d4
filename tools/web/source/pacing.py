"""Limits how fast a provider is asked: a token bucket, a short queue before it, and the provider's own wishes.

    a token is left, no call waits    the call goes at once
    no token                          it waits in the queue, first come first served
    the queue is full, or it would    RATE_LIMITED with the time a token would be there, and nothing is asked
    wait longer than `patience`
    an answer with `retry_at`         no call goes before that time; calls that would wait too long fail and say why
    RATE_LIMITED without one          the same for `unsaid_seconds`

A reader that fetches pages itself (`standing.CLIENTS`) is not held back by such wishes: they are one site's.

The limits of a language model's server are learned from its headers (`resilience.admission.quota`). The limits here
are set by the operator, because search services tell nothing before they refuse.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from resilience.deadline import Deadline
from resilience.errors import DeadlineExceeded
from tools.web.errors import ErrorKind, WebError
from tools.web.source.health import CLIENTS
from tools.web.source.protocol import ReadProvider, ReadResult, SearchProvider, SearchQuery, SearchResult, seconds_of
from tools.web.source.served import ErrorInfo

A = TypeVar("A")
#: Times this close, in seconds, count as one: adding floats must not make a timer fire for ever.
_SAME = 1e-6
GRACE_SECONDS = 1.0
#: Kinds whose `retry_at` means that the provider must not be asked before then.
_WISHES = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.QUOTA, ErrorKind.SERVER})


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` calls at once, then one each `seconds`; at most `queue` wait, none longer than `patience_seconds`.

    `unsaid_seconds` is how long a provider is left alone that says "too fast" without saying until when.
    """

    seconds: float = 1.0
    burst: int = 2
    queue: int = 20
    patience_seconds: float = 10.0
    unsaid_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Raise ValueError for a bucket that never holds a token."""
        if self.seconds < 0 or self.burst < 1 or self.queue < 0:
            raise ValueError("a rate needs a burst of at least 1, and no negative seconds or queue")


class Bucket:
    """The pure part: computes when calls may go. Times in clock seconds."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        #: When the bucket will be full again.
        self._full_at = float("-inf")
        self.wish: ErrorInfo | None = None

    def ready_at(self, ahead: int = 0) -> float:
        """Return when a call with `ahead` others before it may go."""
        return self._after(self._full_at, ahead)

    def take(self, now: float) -> None:
        """Take a token for a call that goes now."""
        self._full_at = max(self._full_at, now) + self._rate.seconds

    def hold(self, wish: ErrorInfo) -> None:
        """Hold all calls until the wish's `retry_at`. An earlier time than the known one changes nothing."""
        if wish.retry_at is not None and (self.wish is None or wish.retry_at > (self.wish.retry_at or 0.0)):
            self.wish = wish

    def _after(self, full_at: float, ahead: int) -> float:
        at = self._start(full_at)
        for _ in range(ahead):
            full_at = max(full_at, at) + self._rate.seconds
            at = self._start(full_at)
        return at

    def _start(self, full_at: float) -> float:
        held = self.wish.retry_at if self.wish is not None and self.wish.retry_at is not None else float("-inf")
        return max(full_at - self._rate.seconds * (self._rate.burst - 1), held)


class Pace:
    """The gate before one provider, shared by all its callers. It keeps no timer while no call waits."""

    def __init__(self, name: str, clock: IReactorTime, rate: Rate | None = None) -> None:
        self.name = name
        self._clock = clock
        self._rate = rate or Rate()
        self._bucket = Bucket(self._rate)
        self._waiting: deque[Deferred[None]] = deque()
        self._timer: IDelayedCall | None = None

    async def call(self, ask: Callable[[], Awaitable[A]], seconds: float | None = None) -> A:
        """Ask in turn and return the answer. Raises WebError.

        The answer must come within `seconds` from its turn on; None sets no limit. Cancelling leaves the queue, or
        cancels the question.
        """
        await self._turn()
        try:
            if seconds is None:
                return await ask()
            return await Deadline.after(self._clock, seconds).bound(started(ask))
        except DeadlineExceeded as error:
            raise WebError(ErrorKind.TIMEOUT, f"no answer within {seconds:g} s", provider=self.name) from error
        except WebError as error:
            self._heed(error)
            raise

    def total_seconds(self, seconds: float | None) -> float | None:
        """Return the most seconds a call takes with its wait, None for no limit.

        A little is added, so that the provider's own time ends first.
        """
        return None if seconds is None else self._rate.patience_seconds + seconds + GRACE_SECONDS

    @property
    def waiting(self) -> int:
        """The number of calls that wait for their turn."""
        return len(self._waiting)

    def configuration_changed(self) -> None:
        """Forget the provider's wishes, which were for other settings, and let calls go."""
        self._bucket.wish = None
        self._let_go()

    def _turn(self) -> Deferred[None]:
        now = self._clock.seconds()
        at = self._bucket.ready_at(len(self._waiting))
        if not self._waiting and at <= now + _SAME:
            self._bucket.take(now)
            return succeed(None)
        if len(self._waiting) >= self._rate.queue or at - now > self._rate.patience_seconds:
            raise self._refusal(at)
        turn: Deferred[None] = Deferred(self._leave)
        self._waiting.append(turn)
        self._set_timer()
        return turn

    def _refusal(self, at: float) -> WebError:
        """Return the error for a call that would have to wait until `at`."""
        now, wish = self._clock.seconds(), self._bucket.wish
        if wish is not None and (wish.retry_at or 0.0) > now:
            said = f"it wants to be left alone for another {(wish.retry_at or now) - now:.0f} s: {wish.message}"
            return WebError(wish.kind, said, provider=self.name, retry_at=at)
        many = f"{len(self._waiting)} questions are waiting for {self.name} already"
        return WebError(ErrorKind.RATE_LIMITED, many, provider=self.name, retry_at=at)

    def _heed(self, error: WebError) -> None:
        now = self._clock.seconds()
        wish = ErrorInfo.of(error, self.name)
        if wish.kind is ErrorKind.RATE_LIMITED and wish.retry_at is None:
            wish = replace(wish, retry_at=now + self._rate.unsaid_seconds)
        if wish.kind not in _WISHES or wish.retry_at is None or wish.retry_at <= now or self.name in CLIENTS:
            return
        self._bucket.hold(wish)
        while self._waiting:  # the last call waits longest
            at = self._bucket.ready_at(len(self._waiting) - 1)
            if at - now <= self._rate.patience_seconds:
                break
            refusal = self._refusal(at)
            self._waiting.pop().errback(refusal)
        self._set_timer()

    def _leave(self, turn: Deferred[None]) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
            self._set_timer()

    def _let_go(self) -> None:
        now = self._clock.seconds()
        while self._waiting and self._bucket.ready_at() <= now + _SAME:
            self._bucket.take(now)
            self._waiting.popleft().callback(None)
        self._set_timer()

    def _set_timer(self) -> None:
        """Set the timer for the first waiting call, if there is one."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if self._waiting:
            wait = self._bucket.ready_at() - self._clock.seconds()
            self._timer = self._clock.callLater(max(0.0, wait), self._let_go)


class PacedSearch:
    """A search provider behind a gate."""

    def __init__(self, provider: SearchProvider, pace: Pace) -> None:
        self.name = provider.name
        self._provider = provider
        self.pace = pace
        self._seconds = seconds_of(provider)
        self.total_seconds = pace.total_seconds(self._seconds)

    def replace(self, provider: SearchProvider) -> None:
        """Ask this provider from now on: the same service with another key."""
        self._provider = provider

    async def search(self, query: SearchQuery) -> Sequence[SearchResult]:
        """Return the provider's hits, asked for in turn. Raises WebError. May be cancelled."""
        return await self.pace.call(lambda: self._provider.search(query), self._seconds)


class PacedReader:
    """A reader behind a gate."""

    def __init__(self, provider: ReadProvider, pace: Pace) -> None:
        self.name = provider.name
        self._provider = provider
        self.pace = pace
        self._seconds = seconds_of(provider)
        self.total_seconds = pace.total_seconds(self._seconds)

    def replace(self, provider: ReadProvider) -> None:
        """Ask this provider from now on: the same service with another key."""
        self._provider = provider

    async def read_url(self, url: str, *, offset: int = 0, max_length: int = 15_000) -> ReadResult:
        """Return the provider's page, asked for in turn. Raises WebError. May be cancelled."""
        return await self.pace.call(
            lambda: self._provider.read_url(url, offset=offset, max_length=max_length), self._seconds
        )


def started(ask: Callable[[], Awaitable[A]]) -> Deferred[A]:
    """Start the question and return its Deferred."""

    async def asking() -> A:
        return await ask()

    return Deferred.fromCoroutine(asking())
