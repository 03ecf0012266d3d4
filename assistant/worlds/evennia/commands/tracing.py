"""The thinking of an assistant, shown live to one person."""

from __future__ import annotations

from typing import Any

from twisted.internet.interfaces import IReactorTime

from assistant.outcome import Outcome
from assistant.service.member import Member
from assistant.trace import StepTrace
from assistant.trial.show import outcome_text, trace_text
from assistant.worlds.evennia.commands.order import Order

#: How long somebody is shown it, in seconds.
SECONDS = 3600.0


class Watch:
    """Shows every run of one assistant to whoever gave the order, for an hour or until he has left the game."""

    def __init__(self, order: Order, member: Member, clock: IReactorTime) -> None:
        self._order = order
        self._member = member
        self._clock = clock
        self._ends_at = clock.seconds() + SECONDS

    def start(self) -> None:
        """Begin."""
        _watches(self._order.account)[self._member] = self
        self._member.observers.add(self)

    def stop(self) -> None:
        """Show nothing more."""
        _watches(self._order.account).pop(self._member, None)
        self._member.observers.remove(self)

    def thinking(self, run_id: str, step: int) -> None:
        """The model is about to be asked."""
        self._show(f"  [{run_id} step {step}] asks the model ...")

    def step(self, trace: StepTrace) -> None:
        """A step is over."""
        self._show(trace_text(trace))

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """The run is over."""
        self._show(outcome_text(run_id, outcome))

    def is_over(self) -> bool:
        """Whether there is nobody to be shown anything, or the hour is over."""
        account = self._order.account
        return self._clock.seconds() >= self._ends_at or not account.pk or not account.sessions.count()

    def _show(self, text: str) -> None:
        if self.is_over():
            self.stop()
        else:
            self._order.say(f"{self._member.place.me.name}:\n{text}")


def watch_of(account: Any, member: Member) -> Watch | None:
    """How this account watches this assistant just now, None when it does not."""
    watch = _watches(account).get(member)
    if watch is not None and watch.is_over():
        watch.stop()
        return None
    return watch


def _watches(account: Any) -> dict[Member, Watch]:
    """What an account watches, kept in memory with it. Lives that are over are let go."""
    watches: dict[Member, Watch] = account.ndb.assistant_watches or {}
    account.ndb.assistant_watches = {member: one for member, one in watches.items() if one in member.observers}
    current: dict[Member, Watch] = account.ndb.assistant_watches
    return current
