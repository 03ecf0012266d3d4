"""Chance that a test knows."""

from __future__ import annotations

from random import Random


class Sure(Random):
    """Dice that always show the same: what happens with some probability always happens at 0."""

    def __init__(self, shown: float = 0.0) -> None:
        super().__init__(1)
        self._shown = shown

    def random(self) -> float:
        return self._shown
