"""How one provider of a chain stands: asked gladly, after the others, not before a time, or not at all. Pure.

    success                      everything is forgiven
    AUTH, when it is in `cools`  not asked until its configuration changes
    another kind in `cools`      after the others for a while: `base_seconds`, doubled with each failure in a row up to
                                 `max_seconds`, of which chance takes off up to half
    ... with a `retry_at`        not asked at all before that time
    any other kind               says nothing about the provider (the page is not there, the query is wrong)

What began before the last failure or change is no news. A pause of our own making is a guess: it lets the others go
first, and when nobody else can be asked it does not hold.
"""

from __future__ import annotations

import random as random_module
from collections.abc import Callable
from dataclasses import dataclass

from tools.web.errors import FALLS_THROUGH, Kind
from tools.web.served import Trouble

#: Readers that fetch pages themselves: whatever they raise is the page's, also a site's 401 or its Retry-After.
CLIENTS = frozenset({"direct"})
#: What says something about a service.
OF_A_SERVICE = FALLS_THROUGH
#: The same for a service that reads pages: that one page gave nothing is the page's fault.
OF_A_READER = OF_A_SERVICE - {Kind.BLOCKED_OR_EMPTY, Kind.PARSE}


@dataclass(frozen=True, slots=True)
class CoolDown:
    """How long a provider is left alone, in seconds."""

    base_seconds: float = 5.0
    max_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Asked:
    """That a provider was asked, and of which configuration."""

    at: int
    version: int


class Standing:
    """One provider. Times in clock seconds; `now` gives them."""

    def __init__(
        self,
        now: Callable[[], float],
        random: random_module.Random,
        cools: frozenset[Kind] = OF_A_SERVICE,
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
        #: Until when others go first, and until when it is not asked at all.
        self.after_others_until = 0.0
        self.not_before = 0.0
        self.trouble: Trouble | None = None
        self.refused: Trouble | None = None

    def asked(self) -> Asked:
        """It is asked now; to be given back with the outcome."""
        self._serial += 1
        return Asked(self._serial, self._version)

    def succeeded(self, asked: Asked) -> None:
        """It answered."""
        if self._is_news(asked):
            self.failures = 0
            self.after_others_until = self.not_before = 0.0
            self.trouble = None

    def failed(self, asked: Asked, trouble: Trouble) -> bool:
        """It could not. True when it is out until its configuration changes, and was not before."""
        if asked.version != self._version:
            return False
        if trouble.kind not in self._cools:
            return False
        if trouble.kind is Kind.AUTH:
            is_new, self.refused = self.refused is None, trouble
            return is_new
        now = self._now()
        if trouble.retry_at is not None and trouble.retry_at > now:
            self.not_before = max(self.not_before, trouble.retry_at)
        if self._is_news(asked):
            self._news_at = self._serial
            self.failures += 1
            self.after_others_until = max(self.after_others_until, now + self._pause())
        self.trouble = trouble
        return False

    def configuration_changed(self) -> None:
        """Forget what was held against it, and what is still on its way with the old configuration."""
        self._version += 1
        self.failures = 0
        self.after_others_until = self.not_before = 0.0
        self.trouble = self.refused = None

    @property
    def is_out(self) -> bool:
        """Whether it must not be asked now."""
        return self.refused is not None or self.not_before > self._now()

    @property
    def is_ready(self) -> bool:
        """Whether it is asked in its turn."""
        return not self.is_out and self.after_others_until <= self._now()

    @property
    def ready_at(self) -> float | None:
        """When it may be asked; None when time will not help."""
        return None if self.refused else max(self.not_before, self.after_others_until)

    def _is_news(self, asked: Asked) -> bool:
        return asked.version == self._version and asked.at > self._news_at

    def _pause(self) -> float:
        exponent = min(self.failures - 1, 32)
        pause = float(min(self._cool_down.max_seconds, self._cool_down.base_seconds * 2**exponent))
        return pause * (1 - self._random.random() / 2)
