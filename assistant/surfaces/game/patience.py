"""Waits for other processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """A clock and a way to sleep, both in seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]

    def until(self, is_so: Callable[[], bool], seconds: float, every_seconds: float = 0.2) -> bool:
        """Wait until `is_so` returns True; return False when it did not within `seconds`.

        It is called at least once. Blocks.
        """
        end = self.now() + seconds
        while not is_so():
            if self.now() >= end:
                return False
            self.sleep(every_seconds)
        return True
