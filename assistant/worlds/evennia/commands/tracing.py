"""Shows the thinking of an assistant live to one player."""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IReactorTime

from assistant.events.outcome import Outcome
from assistant.events.trace import StepTrace
from assistant.service.runner import AssistantRunner
from assistant.service.wording.showing import outcome_text, trace_text
from assistant.worlds.evennia.console.typed_command import TypedCommand

#: How long it is shown, in seconds.
SECONDS = 3600.0


class Watch:
    """Shows every run of one assistant to the player who asked, for an hour or until they leave the game."""

    def __init__(self, typed: TypedCommand, runner: AssistantRunner, clock: IReactorTime) -> None:
        self._typed = typed
        self._member = runner
        self._clock = clock
        self._ends_at = clock.seconds() + SECONDS

    def start(self) -> None:
        """Start to show the runs."""
        _watches(self._typed.account)[self._member] = self
        self._member.observers.add(self)

    def stop(self) -> None:
        """Stop showing them."""
        _watches(self._typed.account).pop(self._member, None)
        self._member.observers.remove(self)

    def thinking(self, run_id: str, step: int) -> None:
        """Show that the model is about to be asked."""
        self._show(f"  [{run_id} step {step}] asks the model ...")

    def step(self, trace: StepTrace) -> None:
        """Show a step that is over."""
        self._show(trace_text(trace))

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Show how the run ended."""
        self._show(outcome_text(run_id, outcome))

    def is_over(self) -> bool:
        """Tell whether the hour is over, or the player has left."""
        account = self._typed.account
        return self._clock.seconds() >= self._ends_at or not account.pk or not account.sessions.count()

    def _show(self, text: str) -> None:
        if self.is_over():
            self.stop()
        else:
            self._typed.say(f"{self._member.embodiment.me.name}:\n{text}")


def watch_of(account: Any, runner: AssistantRunner) -> Watch | None:
    """Return the watch of this account on this assistant, None when there is none."""
    watch = _watches(account).get(runner)
    if watch is not None and watch.is_over():
        watch.stop()
        return None
    return watch


def _watches(account: Any) -> dict[AssistantRunner, Watch]:
    """Return what an account watches, kept in memory with it. Watches that are over are dropped."""
    watches: dict[AssistantRunner, Watch] = account.ndb.assistant_watches or {}
    account.ndb.assistant_watches = {runner: one for runner, one in watches.items() if one in runner.observers}
    current: dict[AssistantRunner, Watch] = account.ndb.assistant_watches
    return current
