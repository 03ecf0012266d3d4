"""One attempt from its request for admission to its end, and the verdict on it when it fails."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.resilience.admission.breaker import Permit
from mud_assistant.resilience.admission.capacity import InFlight
from mud_assistant.resilience.admission.pace import RateLimitSnapshot
from mud_assistant.resilience.admission.quota import Quota, Reserved
from mud_assistant.resilience.amounts import NOTHING, Amount
from mud_assistant.resilience.errors import NotAdmitted


class AdmissionRequest(Struct, frozen=True):
    """What one attempt needs for admission: whose turn it takes, on which quota, for how many tokens.

    `patience_until` is the latest start worth waiting for, `deadline_at` when the caller stops waiting; both are in
    clock seconds.
    """

    group: str
    quota: Quota
    tokens: int = 0
    patience_until: float = float("inf")
    deadline_at: float = float("inf")
    is_urgent: bool = False
    is_repeat: bool = False


class Verdict(Struct, frozen=True):
    """What one failure means.

    `is_failure`: it counts against the server's health. `may_retry`: the same request may succeed later; at most
    `most_attempts` times in all. `throttled`: the server has too much to do from us. `not_before`: the wait that the
    server asked for, in clock seconds, which holds for every call with the same credential and model. `revokes`: the
    credential is no good. `is_missing`: the server does not have what was asked for. `in_vain_seconds`: how long the
    server is left alone when this was the last attempt. `cause` is shown to the operator.
    """

    cause: str
    is_failure: bool = False
    may_retry: bool = False
    most_attempts: int | None = None
    throttled: bool = False
    not_before: float | None = None
    revokes: bool = False
    is_missing: bool = False
    in_vain_seconds: float = 0.0

    def with_retry(self, may_retry: bool) -> Verdict:
        """Return the same verdict with the server's own word on trying again."""
        return replace(self, may_retry=may_retry)


#: Judges the error of an attempt; never given a cancellation.
Judge = Callable[[Exception], Verdict]


class Attempt:
    """One attempt that is being made. It ends exactly once: succeeded, failed, or given back.

    `used` is what it has cost so far, kept up to date by the code that makes the attempt. Call `heard` whenever the
    server sent something. `on_end` is called when it has ended.
    """

    __slots__ = ("_in_flight", "_number", "_on_end", "_permit", "_reserved", "heard", "quota", "used")

    def __init__(
        self, permit: Permit, quota: Quota, reserved: Reserved, in_flight: InFlight, on_end: Callable[[], None]
    ) -> None:
        """Begin an attempt that the quota has counted as `reserved`: it counts against the cap from now on."""
        self._permit = permit
        self._reserved = reserved
        self._in_flight = in_flight
        self._number = in_flight.enter()
        self._on_end = on_end
        self.quota = quota
        self.used: Amount = NOTHING
        self.heard = permit.heard

    def note_limits(self, requests: RateLimitSnapshot | None, tokens: RateLimitSnapshot | None) -> None:
        """Note what the response says of the limits."""
        self.quota.apply(self._reserved, requests, tokens)

    def succeeded(self) -> None:
        """End the attempt: the answer is whole and good."""
        self._permit.success()
        self._in_flight.succeeded()
        self.quota.pace.accepted()
        self.quota.ended(self._reserved, well=True)
        self._on_end()

    def failed(self, verdict: Verdict) -> None:
        """End the attempt: it failed, with this verdict."""
        self.quota.ended(self._reserved, well=False)
        if verdict.is_failure:
            self._permit.failure(verdict.cause)
        else:
            self._permit.give_back(verdict.cause)
        if verdict.throttled:
            self._in_flight.throttled(self._number)
            self.quota.refused(verdict.not_before)
        self._on_end()

    def give_back(self) -> None:
        """End the attempt: the caller does not want it any more."""
        self.quota.ended(self._reserved, well=False)
        self._permit.give_back("cancelled")
        self._on_end()


class QueueEntry:
    """An admission request in the queue. `entered` fires with the attempt, or fails with the refusal."""

    __slots__ = ("entered", "group", "is_urgent", "request")

    def __init__(self, request: AdmissionRequest, leave: Callable[[QueueEntry], None]) -> None:
        self.request = request
        self.group = request.group
        self.is_urgent = request.is_urgent
        self.entered: Deferred[Attempt] = Deferred(lambda _: leave(self))

    def refusal(self) -> NotAdmitted | None:
        """Return why it would be refused now; None when it may wait on."""
        request = self.request
        return request.quota.refusal(request.tokens, request.patience_until, request.group)


class Ready:
    """Tells whether an entry's quota lets it go now. Remembers when the first entry that must wait may go."""

    def __init__(self, now: float) -> None:
        self._now = now
        self.first_at: float | None = None

    def __call__(self, entry: QueueEntry) -> bool:
        """Tell whether this entry may go now."""
        request = entry.request
        if request.deadline_at <= self._now or request.quota.is_revoked(self._now, request.group):
            return False  # its caller will be told soon
        at = request.quota.ready_at(request.tokens, self._now)
        if at <= self._now:
            return True
        self.first_at = at if self.first_at is None else min(self.first_at, at)
        return False
