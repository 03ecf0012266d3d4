"""Keeps in mind what an assistant does at this moment: for the operator's page, and for what an emergency stop tells.

An observer that costs two assignments a step. It keeps no words.
"""

from __future__ import annotations

from collections.abc import Callable

from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.events.trace import StepTrace


class Activity:
    """What the assistant `name` does now. `now` gives clock seconds, `state` the state of its life cycle."""

    def __init__(self, name: str, now: Callable[[], float], state: Callable[[], str]) -> None:
        self._name = name
        self._now = now
        self._state = state
        #: The run that is going, None between runs, and the step that its model was asked for last.
        self.run: str | None = None
        self.step_number = 0
        #: When its last run ended, in clock seconds; None before that.
        self.ended_at: float | None = None
        self._since = 0.0

    @property
    def doing(self) -> str:
        """What it does, in a few words."""
        if self.run is not None:
            return f"step {self.step_number} of {self.run}, for {max(0.0, self._now() - self._since):.0f} s"
        return _DOING.get(self._state(), "waits")

    def describe(self) -> str:
        """Return what it does, as a sentence."""
        if self.run is not None:
            return f"{self._name} was thinking: {self.doing}"
        return f"{self._name} {_DID.get(self._state(), 'was waiting for something to do')}"

    def thinking(self, run_id: str, step: int) -> None:
        """Note that the model is about to be asked."""
        if self.run != run_id:
            self.run, self._since = run_id, self._now()
        self.step_number = step

    def step(self, trace: StepTrace) -> None:
        """Do nothing when a step is over."""

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Note that the run is over."""
        self.run, self.ended_at = None, self._now()


_DOING = {
    "opening": "starts",
    "waiting": "waits for a model",
    "stopped": "is stopped",
    "lost": "lives in another process",
}
_DID = {
    "opening": "was starting",
    "waiting": "was waiting for a model",
    "stopped": "was stopped already",
    "lost": "was run by another process",
}
