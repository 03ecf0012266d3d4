"""Limits how often a provider is asked: by all its callers (`Paced`), and by one assistant in an hour (`Allotted`).

`Paced` asks a provider when its turn comes, limits the time, and notes the outcome in the provider's state:

    a token is left, no call waits    the call goes at once
    no token                          it waits in the queue, first come first served
    the queue is full, or it would    RATE_LIMITED with the time a token would be there, and nothing is asked
    wait longer than `patience`
    an answer with `retry_at`         no call goes before that time; calls that would wait too long fail and say why
    RATE_LIMITED without one          the same for `unsaid_seconds`

The limits of a language model's server are learned from its headers (`resilience/admission/quota.py`). The limits here
are set by the operator, because search services tell nothing before they refuse.

An assistant has an hourly quota of searching and reading, because players trigger the cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import DeadlineExceeded
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.source.answers import ErrorInfo
from mud_assistant.tools.web.source.protocol import WebSource, seconds_of
from mud_assistant.tools.web.source.state import ProviderState

_log = Logger()
Q = TypeVar("Q")
A = TypeVar("A")
#: Times this close, in seconds, count as one: adding floats must not make a timer fire for ever.
_SAME = 1e-6
GRACE_SECONDS = 1.0
HOUR_SECONDS = 3600.0


class _NotSent(WebError):
    """Raised when a call would have to wait too long for its turn. The provider was not asked."""


class Paced(Generic[Q, A]):
    """A source behind a gate, shared by all its callers. It keeps no timer while no call waits."""

    def __init__(self, source: WebSource[Q, A], state: ProviderState, clock: IReactorTime) -> None:
        self.name = source.name
        self.state = state
        self._source = source
        self._clock = clock
        self._waiting: deque[Deferred[None]] = deque()
        self._timer: IDelayedCall | None = None
        #: The most seconds an answer takes from its turn on, and with its wait; None for no limit. A little is added to
        #: the wait, so that the provider's own time ends first.
        self._seconds = seconds_of(source)
        patience = state.rate.patience_seconds + GRACE_SECONDS
        self.total_seconds = None if self._seconds is None else patience + self._seconds

    async def ask(self, query: Q) -> A:
        """Ask in turn and return the answer. Raises WebError. Cancelling leaves the queue, or cancels the question."""
        inquiry = self.state.begin()
        try:
            answer = await self._in_time(self.total_seconds, self._ask_in_turn(query))
        except CancelledError:
            self.state.note_cancel(inquiry)
            raise
        except WebError as error:
            error.provider = error.provider or self.name
            was_sent = not isinstance(error, _NotSent)
            if self.state.note_failure(inquiry, ErrorInfo.of(error), was_sent=was_sent):
                self._log_refusal(error)
            self._send_away_late()
            raise
        self.state.note_answer(inquiry)
        return answer

    def replace(self, source: WebSource[Q, A]) -> None:
        """Ask this source from now on: the same service with another key."""
        self._source = source

    def change_configuration(self) -> None:
        """Forget the failures of the provider and the time it asked for, which belong to other settings."""
        self.state.change_configuration()
        self._let_go()

    @property
    def waiting(self) -> int:
        """The number of calls that wait for their turn."""
        return len(self._waiting)

    async def _ask_in_turn(self, query: Q) -> A:
        await self._turn()
        return await self._in_time(self._seconds, self._ask_source(query))

    async def _ask_source(self, query: Q) -> A:
        return await self._source.ask(query)

    async def _in_time(self, seconds: float | None, work: Coroutine[Any, Any, A]) -> A:
        if seconds is None:
            return await work
        try:
            return await Deadline.after(self._clock, seconds).bound(Deferred.fromCoroutine(work))
        except DeadlineExceeded as error:
            raise WebError(ErrorKind.TIMEOUT, f"no answer within {seconds:g} s", provider=self.name) from error

    def _turn(self) -> Deferred[None]:
        bucket, rate, now = self.state.bucket, self.state.rate, self._clock.seconds()
        at = bucket.ready_at(len(self._waiting))
        if not self._waiting and at <= now + _SAME:
            bucket.take(now)
            return succeed(None)
        if len(self._waiting) >= rate.queue or at - now > rate.patience_seconds:
            raise self._refusal(at)
        turn: Deferred[None] = Deferred(self._leave)
        self._waiting.append(turn)
        self._set_timer()
        return turn

    def _refusal(self, at: float) -> WebError:
        """Return the error for a call that would have to wait until `at`."""
        wait = self.state.bucket.held_until - self._clock.seconds()
        held_by = self.state.bucket.held_by
        if held_by is not None and wait > 0:
            said = f"it wants to be left alone for another {wait:.0f} s: {held_by.message}"
            return _NotSent(held_by.kind, said, provider=self.name, retry_at=at)
        many = f"{len(self._waiting)} questions are waiting for {self.name} already"
        return _NotSent(ErrorKind.RATE_LIMITED, many, provider=self.name, retry_at=at)

    def _send_away_late(self) -> None:
        """Refuse the calls that would now wait too long. The last one waits longest."""
        while self._waiting:
            at = self.state.bucket.ready_at(len(self._waiting) - 1)
            if at - self._clock.seconds() <= self.state.rate.patience_seconds:
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
        while self._waiting and self.state.bucket.ready_at() <= now + _SAME:
            self.state.bucket.take(now)
            self._waiting.popleft().callback(None)
        self._set_timer()

    def _set_timer(self) -> None:
        """Set the timer for the first waiting call, if there is one."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if self._waiting:
            wait = self.state.bucket.ready_at() - self._clock.seconds()
            self._timer = self._clock.callLater(max(0.0, wait), self._let_go)

    def _log_refusal(self, error: WebError) -> None:
        _log.error(
            "{provider} refuses the key; left alone for {seconds:.0f} s, or until its settings change: {cause}",
            log_event="credential",
            provider=self.name,
            cause=error.message,
            seconds=self.state.ready_at - self._clock.seconds(),
        )


class HourlyQuota:
    """Allows `most` uses in any `seconds` on end. `now` gives seconds; `what` and `whose` are for the refusal.

    The window slides: with the hours of a clock, a caller could get two hours' worth round the full hour.
    """

    def __init__(
        self, most: int, now: Callable[[], float], what: str, *, whose: str = "", seconds: float = HOUR_SECONDS
    ) -> None:
        self._most = most
        self._now = now
        self._what = what
        self._whose = whose
        self._seconds = seconds
        self._used: deque[float] = deque()

    @property
    def left(self) -> int:
        """The number of uses left now."""
        self._forget()
        return max(0, self._most - len(self._used))

    def refusal(self) -> WebError | None:
        """Return why it may not be used now; None when it may."""
        if self.left:
            return None
        whose = f" of {self._whose}" if self._whose else ""
        said = f"all {self._most} {self._what}{whose} within {self._seconds / 60:.0f} minutes are used up"
        at = self._used[0] + self._seconds if self._used else None
        return WebError(ErrorKind.QUOTA, said, provider="quota", retry_at=at, told=said)

    def take(self) -> float:
        """Count one use and return its time."""
        now = self._now()
        self._used.append(now)
        return now

    def give_back(self, taken: float) -> None:
        """Undo the use of this time: it caused no cost."""
        if taken in self._used:
            self._used.remove(taken)

    def _forget(self) -> None:
        now = self._now()
        while self._used and self._used[0] + self._seconds <= now:
            self._used.popleft()


class Allotted(Generic[Q, A]):
    """A source that may be used as often as every quota allows."""

    def __init__(self, source: WebSource[Q, A], *quotas: HourlyQuota) -> None:
        self.name = source.name
        self._source = source
        self._quotas = quotas

    async def ask(self, query: Q) -> A:
        """Return the answer and charge every quota. A refused address costs nothing: no request was sent.

        Raises WebError, of kind QUOTA when too much was asked. May be cancelled.
        """
        refusals = [refusal for quota in self._quotas if (refusal := quota.refusal())]
        if refusals:
            raise max(refusals, key=lambda refusal: refusal.retry_at or float("inf"))
        taken = [(quota, quota.take()) for quota in self._quotas]
        try:
            return await self._source.ask(query)
        except WebError as error:
            if error.kind is ErrorKind.POLICY:
                for quota, at in taken:
                    quota.give_back(at)
            raise
