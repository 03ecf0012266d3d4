"""One call to a server: what it asks for whom, and its attempts, tried again where that may help.

Each attempt has a permit of its own; none is made once it is useless.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, field
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from mud_assistant.resilience.admission.attempt import AdmissionRequest, Attempt, Judge, Verdict
from mud_assistant.resilience.admission.quota import Quota
from mud_assistant.resilience.admission.upstream import Upstream, UpstreamConfig
from mud_assistant.resilience.amounts import NOTHING, Account, Amount
from mud_assistant.resilience.budget.reservation import CallReservation
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import BudgetSpent, NotAdmitted

_log = Logger()
T = TypeVar("T")
#: Makes one attempt at a call, with the attempt that was admitted.
AttemptFunction = Callable[[Attempt], Coroutine[Deferred[Any], Any, T]]
#: Statuses that may be better the next time: those that OpenAI's and Anthropic's own clients retry.
RETRYABLE = frozenset({408, 409, 429, *range(500, 600)})


class Caller(Struct, frozen=True):
    """On whose behalf a call is made: `name` takes turns with other names, and urgent callers go first.

    `accounts` pay for it. A call that `gives_way` is made only while no other call wants its server, and is ended by
    the next one that does; no account pays for it.
    """

    name: str = ""
    is_urgent: bool = True
    accounts: tuple[Account, ...] = ()
    gives_way: bool = False


class CallTarget(NamedTuple):
    """What a call asks: a server, a name for the credential (never the key), and the lane that the limits are on."""

    origin: str
    credential: str = ""
    lane: str = ""


class RetryConfig(Struct, frozen=True):
    """How one call is tried again. Delays in seconds.

    The delay after attempt n is random, between 0 and `base_delay * exponential_base ** (n - 1)`, at most `max_delay`
    (full jitter). The judge of the call retries failures whose HTTP status is in `retryable_status_codes`. A wait that
    the server asked for is the least that is waited. When it asks for more than `max_retry_after`, no retry is made.
    """

    max_attempts: int = 3
    base_delay: float = 1.0
    max_delay: float = 30.0
    exponential_base: float = 2.0
    retryable_status_codes: frozenset[int] = RETRYABLE
    max_retry_after: float = 60.0


class Call(Struct, frozen=True):
    """One call.

    `estimate` is the expected use of one attempt; its tokens also count against the server's limits.

    `upstream` is the configuration for a server that is asked for the first time. `counted_by` is an account without a
    limit that counts what the call uses, when other accounts pay for it.
    """

    target: CallTarget
    judge: Judge
    caller: Caller = field(default_factory=Caller)
    estimate: Amount = field(default_factory=lambda: Amount(calls=1))
    retry: RetryConfig = field(default_factory=RetryConfig)
    upstream: UpstreamConfig | None = None
    counted_by: Account | None = None


class RetriedCall:
    """One call to one server. `used` is what all its attempts used; `reservation` pays for them, None if it is free."""

    def __init__(
        self,
        call: Call,
        deadline: Deadline,
        upstream: Upstream,
        quota: Quota,
        random: random_module.Random,
        *,
        reservation: CallReservation | None = None,
    ) -> None:
        self.used: Amount = NOTHING
        self.call = call
        self._deadline = deadline
        self._upstream = upstream
        self._quota = quota
        self._random = random
        self._reservation = reservation
        #: The reservation when it may stop the call.
        self._limit = reservation if reservation is not None and reservation.is_limited else None
        self._clock: IReactorTime = deadline.clock
        self._is_abandoned = False
        #: Whether a failure of this call was counted against the server's health: only the first one is.
        self._was_counted = False

    def end(self) -> None:
        """Note that no caller waits any more: the attempt under way is the last, and the server is not blamed."""
        self._is_abandoned = True

    async def result(self, make: AttemptFunction[T]) -> T:
        """Return the result of an attempt. Raises the last attempt's error, or NotAdmitted when there was none.

        What the attempts used is booked, and what is left of the reservation given back, however it ends.
        """
        try:
            return await self._attempts(make)
        finally:
            if self._reservation is not None:
                self._reservation.end(self.used)

    async def _attempts(self, make: AttemptFunction[T]) -> T:
        """Make attempts until one succeeds or another is no use."""
        failure: Exception | None = None
        for number in count(1):
            try:
                if (paying := self._pay()) is not None:
                    await paying
                attempt = self._enter_at_once(number) or await self._upstream.enter(self._admission_request())
            except NotAdmitted as refusal:
                if failure is None:
                    raise
                try:
                    raise failure from refusal
                finally:
                    failure = None  # its traceback holds this frame
            try:
                answer = await (make(attempt) if self._limit is None else self._limited(make, attempt))
            except (CancelledError, BudgetSpent):
                attempt.give_back()
                raise
            except Exception as error:
                seconds = self._failed(error, attempt, number)
                if seconds is None:
                    raise
                failure = error.with_traceback(None)  # which would hold this frame
            else:
                attempt.succeeded()
                return answer
            finally:
                self.used += attempt.used
            await deferLater(self._clock, seconds)
        raise AssertionError("the loop ends by returning or raising")

    async def _limited(self, make: AttemptFunction[T], attempt: Attempt) -> T:
        """Make an attempt that is not made, or is stopped, when what it was admitted for was used up meanwhile."""
        assert self._limit is not None
        self._limit.check()
        answer = await self._limit.guarded(make(attempt))
        self._limit.answered(self.used + attempt.used)  # before the next call is admitted
        return answer

    def _failed(self, error: Exception, attempt: Attempt, number: int) -> float | None:
        """End the attempt. Return the seconds until the next attempt, None when there is to be none.

        Raises CancelledError when no caller waits: what a cancelled attempt fails with is no failure.
        """
        if self._is_abandoned:
            attempt.give_back()
            raise CancelledError from error
        try:
            verdict = self.call.judge(error)
        except BaseException:
            attempt.give_back()
            raise
        self._apply(verdict, number)
        attempt.failed(verdict)
        seconds = self._pause(verdict, number)
        if seconds is None and verdict.in_vain_seconds:
            self._quota.cool(self._clock.seconds() + verdict.in_vain_seconds, verdict.cause)
        return seconds

    def _pay(self) -> Awaitable[None] | None:
        """Reserve what the next attempt may cost. Returns what to await when that is not done at once."""
        return None if self._reservation is None else self._reservation.ready(self.used)

    def _enter_at_once(self, number: int) -> Attempt | None:
        """Return an attempt, as most get one, without a place in the queue; None when it must wait or is refused."""
        if number == 1:
            self._upstream.retries.called()
        return self._upstream.enter_at_once(
            self._quota,
            self.call.estimate.tokens,
            self._deadline.at,
            asker=self.call.caller.name,
            is_repeat=self._was_counted,
        )

    def _admission_request(self) -> AdmissionRequest:
        call = self.call
        return AdmissionRequest(
            call.caller.name,
            self._quota,
            call.estimate.tokens,
            min(self._deadline.at, self._clock.seconds() + call.retry.max_retry_after),
            self._deadline.at,
            is_urgent=call.caller.is_urgent,
            is_repeat=self._was_counted,
        )

    def _apply(self, verdict: Verdict, number: int) -> None:
        """Note what the failure says of the credential and of waiting, for every call that shares them."""
        self._was_counted = self._was_counted or verdict.is_failure
        target, quota, retry_after = self.call.target, self._quota, verdict.not_before
        if retry_after is None and verdict.throttled:
            retry_after = self._clock.seconds() + ceiling(number, self.call.retry)
        if verdict.revokes or verdict.is_missing:
            self._revoke(verdict)
        is_cooled = retry_after is not None and quota.cool(retry_after, verdict.cause)
        if is_cooled:
            _log.warn(
                "{origin} wants {lane} left alone for {seconds:.1f} s: {cause}",
                log_event="cool_down",
                origin=target.origin,
                lane=target.lane,
                seconds=quota.cool_until - self._clock.seconds(),
                cause=verdict.cause,
            )
        if verdict.revokes or verdict.is_missing or is_cooled:
            self._upstream.limits_changed()

    def _revoke(self, verdict: Verdict) -> None:
        """Stop using a refused key, or asking for a missing model, for a while."""
        target, now = self.call.target, self._clock.seconds()
        asker = self.call.caller.name
        revocation = self._quota.credential if verdict.revokes else self._quota.missing_for(asker)
        if not revocation.refused(verdict.cause, now):
            return
        what = "with this key" if verdict.revokes else f"for {target.lane}" + (f" by {asker}" if asker else "")
        _log.error(
            "{origin} refused: {cause}; it is not asked {what} for {seconds:.0f} s, or until the settings change",
            log_event="credential" if verdict.revokes else "missing",
            origin=target.origin,
            cause=verdict.cause,
            what=what,
            seconds=revocation.until - now,
        )

    def _pause(self, verdict: Verdict, number: int) -> float | None:
        """Return the seconds until the next attempt, which is then paid for; None when there is to be none."""
        retry = self.call.retry
        most = min(retry.max_attempts, verdict.most_attempts or retry.max_attempts)
        if verdict.revokes or verdict.is_missing or not verdict.may_retry or number >= most:
            return None
        floor = self._quota.cool_until if verdict.throttled else verdict.not_before
        retry_after = 0.0 if floor is None else max(0.0, floor - self._clock.seconds())
        seconds = delay(number, retry, self._random, retry_after)
        if (
            retry_after > retry.max_retry_after
            or seconds >= self._deadline.remaining()
            or not self._upstream.retries.spend()
        ):
            return None
        _log.info(
            "{origin} is asked again in {seconds:.1f} s: {cause}",
            log_event="retry",
            origin=self.call.target.origin,
            seconds=seconds,
            attempt=number,
            cause=verdict.cause,
        )
        return seconds


def ceiling(attempt: int, config: RetryConfig) -> float:
    """Return the longest delay in seconds after attempt number `attempt`, which counts from 1."""
    exponent = min(attempt - 1, 64)
    return float(min(config.max_delay, config.base_delay * config.exponential_base**exponent))


def delay(attempt: int, config: RetryConfig, random: random_module.Random, retry_after: float = 0.0) -> float:
    """Return the seconds to wait after attempt number `attempt`.

    `retry_after` is the wait in seconds that the server asked for. The random delay is added to it: callers that were
    refused together do not come back together, and none comes back before it was asked to. When a server throttles
    without naming a wait, the caller must pass a `retry_after` of its own: full jitter alone would often come back at
    once.
    """
    return retry_after + random.uniform(0.0, ceiling(attempt, config))
