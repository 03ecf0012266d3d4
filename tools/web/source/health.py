"""The health of one provider of a chain: asked in turn, after the others, or not before a time. Pure.

    success                      everything is forgiven
    AUTH, when it is in `cools`  not asked for 5 minutes, doubled with each refusal in a row up to an hour, or until its
                                 configuration changes; then one question finds out
                                 (`resilience/admission/revocation.py`)
    another kind in `cools`      after the others for a while: `base_seconds`, doubled with each failure in a row up to
                                 `max_seconds`, of which chance takes off up to half
    ... with a `retry_at`        not asked at all before that time
    any other kind               says nothing about the provider (the page is not there, the query is wrong)

The outcome of a question asked before the last failure or change is ignored. A pause that we chose ourselves is a
guess: the other providers go first, but when none of them can be asked, the pause is ignored.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Callable
from dataclasses import dataclass

from resilience.admission.revocation import Revocation
from tools.web.errors import FALLS_THROUGH, ErrorKind
from tools.web.source.served import ErrorInfo

#: Readers that fetch pages themselves: every error they raise is the page's, even a site's 401 or its Retry-After.
CLIENTS = frozenset({"direct"})
#: Kinds that tell something about a service.
OF_A_SERVICE = FALLS_THROUGH
#: The same for a service that reads pages: when one page gave nothing, that is the page's fault.
OF_A_READER = OF_A_SERVICE - {ErrorKind.BLOCKED_OR_EMPTY, ErrorKind.PARSE}


@dataclass(frozen=True, slots=True)
class CoolDown:
    """How long a provider is left alone, in seconds."""

    base_seconds: float = 5.0
    max_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The record of one question to a provider, with the version of its configuration."""

    at: int
    version: int
    #: Whether this question finds out if the key is still refused.
    probes: bool = False


class ProviderHealth:
    """The health of one provider. `now` gives clock seconds, in which all times here are."""

    def __init__(
        self,
        now: Callable[[], float],
        random: random_module.Random,
        cools: frozenset[ErrorKind] = OF_A_SERVICE,
        cool_down: CoolDown | None = None,
    ) -> None:
        self._now = now
        self._random = random
        self._cools = cools
        self._cool_down = cool_down or CoolDown()
        self._version = 0
        self._serial = 0
        self._news_at = 0
        self.failures = 0
        #: Until when others go first, and (`not_before`) until when it is not asked at all.
        self.after_others_until = 0.0
        self.not_before = 0.0
        self.trouble: ErrorInfo | None = None
        self._bar = Revocation()

    def asked(self) -> Asked:
        """Note that the provider is asked now. Give the returned record back with the outcome."""
        self._serial += 1
        probes = bool(self._bar.revoked) and self._bar.asked()
        return Asked(self._serial, self._version, probes)

    def cancelled(self, asked: Asked) -> None:
        """Note that the question was cancelled."""
        if asked.probes and asked.version == self._version:
            self._bar.undecided()

    def succeeded(self, asked: Asked) -> None:
        """Note that the provider answered."""
        if asked.probes and asked.version == self._version:
            self._bar.lift()
        if self._is_news(asked):
            self.failures = 0
            self.after_others_until = self.not_before = 0.0
            self.trouble = None

    def failed(self, asked: Asked, trouble: ErrorInfo) -> bool:
        """Note a failure. Return True when the key was refused and the provider is left alone for that from now on."""
        if asked.version != self._version:
            return False
        now = self._now()
        if trouble.kind is ErrorKind.AUTH and trouble.kind in self._cools:
            return self._bar.refused(trouble.message, now)
        self.cancelled(asked)
        if trouble.kind not in self._cools:
            return False
        if trouble.retry_at is not None and trouble.retry_at > now:
            self.not_before = max(self.not_before, trouble.retry_at)
        if self._is_news(asked):
            self._news_at = self._serial
            self.failures += 1
            self.after_others_until = max(self.after_others_until, now + self._pause())
        self.trouble = trouble
        return False

    def configuration_changed(self) -> None:
        """Forget all failures, and ignore questions still under way with the old configuration."""
        self._version += 1
        self.failures = 0
        self.after_others_until = self.not_before = 0.0
        self.trouble = None
        self._bar.lift()

    @property
    def refused(self) -> str:
        """The provider's message when it refused the key; empty when it is not left alone for that now."""
        return self._bar.revoked if self._bar.holds(self._now()) else ""

    @property
    def is_out(self) -> bool:
        """Whether the provider must not be asked now."""
        return bool(self.refused) or self.not_before > self._now()

    @property
    def is_ready(self) -> bool:
        """Whether the provider is asked in its turn."""
        return not self.is_out and self.after_others_until <= self._now()

    @property
    def ready_at(self) -> float:
        """When the provider may be asked, in clock seconds."""
        return self._bar.until if self.refused else max(self.not_before, self.after_others_until)

    def _is_news(self, asked: Asked) -> bool:
        return asked.version == self._version and asked.at > self._news_at

    def _pause(self) -> float:
        exponent = min(self.failures - 1, 32)
        pause = float(min(self._cool_down.max_seconds, self._cool_down.base_seconds * 2**exponent))
        return pause * (1 - self._random.random() / 2)
