"""Several who watch one assistant think."""

from __future__ import annotations

from assistant.outcome import Outcome
from assistant.trace import Observer, StepTrace


class Observers:
    """Tells each of its observers what it is told; they come and go while the assistant lives."""

    def __init__(self) -> None:
        self._watching: list[Observer] = []

    def __contains__(self, observer: object) -> bool:
        """Whether this one watches."""
        return observer in self._watching

    def add(self, observer: Observer) -> None:
        """Let one more watch; nothing when it does already."""
        if observer not in self._watching:
            self._watching.append(observer)

    def remove(self, observer: Observer) -> None:
        """Let one watch no more; nothing when it does not."""
        if observer in self._watching:
            self._watching.remove(observer)

    def thinking(self, run_id: str, step: int) -> None:
        """The model is about to be asked."""
        for observer in tuple(self._watching):
            observer.thinking(run_id, step)

    def step(self, trace: StepTrace) -> None:
        """A step is over."""
        for observer in tuple(self._watching):
            observer.step(trace)

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """The run is over."""
        for observer in tuple(self._watching):
            observer.run_ended(run_id, outcome)
