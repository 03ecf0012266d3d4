"""The state of one provider: its pace, the time it asked for, its failures, and whether it refuses its key. Pure.

    an answer                    everything is forgiven
    AUTH, when it is in `cools`  not asked for 5 minutes, doubled with each refusal in a row up to an hour, or until its
                                 configuration changes; then one question finds out
                                 (`resilience/admission/quota.py`)
    another kind in `cools`      after the others for a while: `base_seconds`, doubled with each failure in a row up to
                                 `max_seconds`, of which chance takes off up to half
    ... with a `retry_at`        not asked at all before that time
    RATE_LIMITED without one     calls wait in the queue for `Rate.unsaid_seconds`
    any other kind               says nothing about the provider (the page is not there, the query is wrong)

The outcome of a question asked before the last failure or change is ignored. A pause that we chose ourselves is a
guess: the other providers go first, but when none of them can be asked, the pause is ignored.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Callable

from msgspec import Struct

from mud_assistant.resilience.admission.quota import Revocation
from mud_assistant.tools.web.errors import FALLS_THROUGH, ErrorKind
from mud_assistant.tools.web.source.answers import ErrorInfo

#: Kinds that tell something about a service.
OF_A_SERVICE = FALLS_THROUGH
#: The same for a service that reads pages: when one page gave nothing, that is the page's fault.
OF_A_READER = OF_A_SERVICE - {ErrorKind.BLOCKED_OR_EMPTY, ErrorKind.PARSE}
#: Readers that fetch pages themselves: every error they raise is the page's, even a site's 401 or its Retry-After.
CLIENTS = frozenset({"direct"})


class Rate(Struct, frozen=True):
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
    """Computes when calls may go. Times in clock seconds."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        #: When the bucket will be full again.
        self._full_at = float("-inf")
        #: The error that holds the calls, and until when.
        self.held_by: ErrorInfo | None = None
        self.held_until = float("-inf")

    def ready_at(self, ahead: int = 0) -> float:
        """Return when a call with `ahead` others before it may go."""
        full_at = self._full_at
        at = self._start(full_at)
        for _ in range(ahead):
            full_at = max(full_at, at) + self._rate.seconds
            at = self._start(full_at)
        return at

    def take(self, now: float) -> None:
        """Take a token for a call that goes now."""
        self._full_at = max(self._full_at, now) + self._rate.seconds

    def hold(self, error: ErrorInfo, guess: float | None = None) -> None:
        """Hold all calls until the error's `retry_at`, else until our `guess`.

        An earlier time than the known one changes nothing.
        """
        until = guess if error.retry_at is None else error.retry_at
        if until is not None and until > self.held_until:
            self.held_by, self.held_until = error, until

    def release(self) -> None:
        """Let calls go as soon as there are tokens, whatever the provider asked for."""
        self.held_by, self.held_until = None, float("-inf")

    def _start(self, full_at: float) -> float:
        return max(full_at - self._rate.seconds * (self._rate.burst - 1), self.held_until)


def kinds_of_reader(name: str) -> frozenset[ErrorKind]:
    """Return the kinds of error that tell something about the reader of this name."""
    return frozenset() if name in CLIENTS else OF_A_READER


class CoolDown(Struct, frozen=True):
    """How long a provider that failed is left alone, in seconds."""

    base_seconds: float = 5.0
    max_seconds: float = 300.0


class Inquiry(Struct, frozen=True):
    """The record of one question to a provider, with the version of its configuration."""

    at: int
    version: int
    #: Whether this question finds out if the key is still refused.
    probes: bool = False


class ProviderState:
    """The state of one provider, shared by all who ask it. `now` gives clock seconds, in which all times here are."""

    def __init__(
        self,
        now: Callable[[], float],
        random: random_module.Random,
        rate: Rate | None = None,
        cools: frozenset[ErrorKind] = OF_A_SERVICE,
        cool_down: CoolDown | None = None,
    ) -> None:
        self.rate = rate or Rate()
        self.bucket = Bucket(self.rate)
        self._now = now
        self._random = random
        self._cools = cools
        self._cool_down = cool_down or CoolDown()
        self._revocation = Revocation()
        self._version = 0
        self._serial = 0
        self._news_at = 0
        self.failures = 0
        #: Until when the other providers go first.
        self.after_others_until = 0.0
        #: The error after which it is not asked in its turn.
        self.pause_reason: ErrorInfo | None = None
        #: When it failed last, and how; None when its last answer was good.
        self.last_failure: tuple[float, ErrorInfo] | None = None

    def begin(self) -> Inquiry:
        """Note that the provider is asked now. Give the returned record back with the outcome."""
        self._serial += 1
        probes = bool(self._revocation.revoked) and self._revocation.asked()
        return Inquiry(self._serial, self._version, probes)

    def note_cancel(self, inquiry: Inquiry) -> None:
        """Note that the question was cancelled."""
        if inquiry.probes and inquiry.version == self._version:
            self._revocation.undecided()

    def note_answer(self, inquiry: Inquiry) -> None:
        """Note that the provider answered."""
        self.last_failure = None
        if inquiry.probes and inquiry.version == self._version:
            self._revocation.lift()
        if self._is_news(inquiry):
            self.failures = 0
            self.after_others_until = 0.0
            self.pause_reason = None

    def note_failure(self, inquiry: Inquiry, error: ErrorInfo, *, was_sent: bool = True) -> bool:
        """Note a failure. Return True when the key was refused and the provider is left alone for that from now on.

        An error that was raised before the question was sent (`was_sent`) holds back no other call.
        """
        now = self._now()
        if error.kind is not ErrorKind.POLICY:
            self.last_failure = now, error
        if inquiry.version != self._version:
            return False
        if error.kind is ErrorKind.AUTH and error.kind in self._cools:
            return self._revocation.refused(error.message, now)
        self.note_cancel(inquiry)
        if error.kind not in self._cools:
            return False
        if was_sent and (error.retry_at is None or error.retry_at > now):
            guess = now + self.rate.unsaid_seconds if error.kind is ErrorKind.RATE_LIMITED else None
            self.bucket.hold(error, guess)
        if self._is_news(inquiry):
            self._news_at = self._serial
            self.failures += 1
            self.after_others_until = max(self.after_others_until, now + self._pause())
        self.pause_reason = error
        return False

    def change_configuration(self) -> None:
        """Forget all failures, and ignore questions still under way with the old configuration."""
        self._version += 1
        self.failures = 0
        self.after_others_until = 0.0
        self.pause_reason = None
        self.bucket.release()
        self._revocation.lift()

    @property
    def refusal(self) -> str:
        """The provider's message when it refused the key; empty when it is not left alone for that now."""
        return self._revocation.revoked if self._revocation.holds(self._now()) else ""

    @property
    def is_out(self) -> bool:
        """Whether the provider must not be asked now."""
        return bool(self.refusal) or self._retry_at > self._now()

    @property
    def is_ready(self) -> bool:
        """Whether the provider is asked in its turn."""
        return not self.is_out and self.after_others_until <= self._now()

    @property
    def ready_at(self) -> float:
        """When the provider may be asked, in clock seconds."""
        return self._revocation.until if self.refusal else max(self._retry_at, self.after_others_until)

    def why_not(self, name: str) -> ErrorInfo:
        """Return why the provider of this name is not asked now."""
        at = self.ready_at
        wait = max(0.0, at - self._now())
        if self.refusal:
            why = f"not asked for another {wait:.0f} s, it refused the key: {self.refusal}"
            return ErrorInfo(ErrorKind.AUTH, why, name, at)
        last = self.pause_reason or ErrorInfo(ErrorKind.NETWORK, "it failed lately", name)
        return ErrorInfo(last.kind, f"not asked for another {wait:.0f} s: {last.message}", name, at)

    @property
    def _retry_at(self) -> float:
        """The time that the provider named; 0 when it named none, and when the time is our own guess."""
        held_by = self.bucket.held_by
        return 0.0 if held_by is None else held_by.retry_at or 0.0

    def _is_news(self, inquiry: Inquiry) -> bool:
        return inquiry.version == self._version and inquiry.at > self._news_at

    def _pause(self) -> float:
        exponent = min(self.failures - 1, 32)
        pause = float(min(self._cool_down.max_seconds, self._cool_down.base_seconds * 2**exponent))
        return pause * (1 - self._random.random() / 2)
