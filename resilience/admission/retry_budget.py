"""Limits the retries of all callers of one server together, so that a sick server is not asked ever more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryBudgetConfig:
    """Each call earns `share` of a retry and each second `per_second`; up to `most` are saved for later."""

    share: float = 0.1
    per_second: float = 0.1
    most: float = 10.0


class RetryBudget:
    """The retries that are left. `now` gives clock seconds."""

    def __init__(self, now: Callable[[], float], config: RetryBudgetConfig | None = None) -> None:
        self._now = now
        self._config = config or RetryBudgetConfig()
        self._left = self._config.most
        self._at = now()

    @property
    def left(self) -> float:
        """How many retries may be made now."""
        now = self._now()
        self._earn((now - self._at) * self._config.per_second)
        self._at = now
        return self._left

    def called(self) -> None:
        """Note that a call is made: it earns its share."""
        self._earn(self._config.share)

    def spend(self) -> bool:
        """Take one retry from the budget. Return False when none is left."""
        if self.left < 1:
            return False
        self._left -= 1
        return True

    def _earn(self, amount: float) -> None:
        self._left = min(self._config.most, self._left + amount)
