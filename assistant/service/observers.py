"""Lets several observers watch one assistant."""

from __future__ import annotations

from assistant.events.outcome import Outcome
from assistant.events.trace import Observer, StepTrace


class Observers:
    """An observer that passes everything on to others, which may be added and removed at any time."""

    def __init__(self) -> None:
        self._watching: list[Observer] = []

    def __contains__(self, observer: object) -> bool:
        """Tell whether this observer was added."""
        return observer in self._watching

    def add(self, observer: Observer) -> None:
        """Add an observer. No effect when it was added already."""
        if observer not in self._watching:
            self._watching.append(observer)

    def remove(self, observer: Observer) -> None:
        """Remove an observer. No effect when it was not added."""
        if observer in self._watching:
            self._watching.remove(observer)

    def thinking(self, run_id: str, step: int) -> None:
        """Report that the model is about to be asked."""
        for observer in tuple(self._watching):
            observer.thinking(run_id, step)

    def step(self, trace: StepTrace) -> None:
        """Report that a step is over."""
        for observer in tuple(self._watching):
            observer.step(trace)

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Report that the run is over."""
        for observer in tuple(self._watching):
            observer.run_ended(run_id, outcome)
