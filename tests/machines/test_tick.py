"""The tick drawn in docs/machines.md is the real one: many walks by chance, with every change they make."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.events.outcome import Answered, Failed, Outcome
from mud_assistant.assistant.events.scheduler import Scheduler
from mud_assistant.assistant.events.tick import Tick, TickPace
from tests.guards import FlushFailures
from tests.machines.drawing import Edge, assert_same


class DrivenTick:
    """A tick whose runs end as it is told, on a clock of its own."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.gate: Deferred[Outcome] = Deferred()
        self.tick = Tick(
            self._run,
            self.clock,
            TickPace(),
            "Sage",
            Random(1),  # noqa: S311  (chance)
            scheduler=Scheduler(self.clock),
        )

    async def _run(self) -> Outcome:
        self.gate = Deferred()
        return await self.gate

    def state(self) -> str:
        """Return the state, by what a tick says of itself."""
        tick = self.tick
        if not tick.started:
            return "stopped"
        if tick.stopped_by_errors:
            return "emergency"
        return "running" if tick.busy else "paused" if tick.paused else "waiting"

    def end(self, outcome: Outcome) -> None:
        """End the run, when there is one."""
        if self.tick.busy:
            self.gate.callback(outcome)

    def wake(self) -> None:
        """Bring a trigger, and let the time pass in which triggers are joined."""
        self.tick.wake()
        if self.state() == "waiting":
            self.clock.advance(TickPace().join_seconds)
            self.clock.advance(0)

    def go_on(self) -> None:
        """Let time pass until something is due."""
        due = [call.getTime() for call in self.clock.getDelayedCalls()]
        self.clock.advance(max(0.0, min(due, default=self.clock.seconds()) - self.clock.seconds()))

    def stop(self) -> None:
        """Stop, and cancel the run."""
        self.tick.stop()


BUG = Failed("internal error", bug=True)
TICK: dict[str, Callable[[DrivenTick], object]] = {
    "start": lambda driven: driven.tick.start(),
    "a trigger": lambda driven: driven.wake(),
    "its time comes": lambda driven: driven.go_on(),
    "the run is over": lambda driven: driven.end(Answered(("say",))),
    "the model could not be asked": lambda driven: driven.end(Failed("down")),
    "the run crashes": lambda driven: driven.end(BUG),
    "the settings are new": lambda driven: driven.tick.resume(),
    "an operator clears it": lambda driven: driven.tick.clear_errors(),
    "halt": lambda driven: None if driven.tick.busy else driven.tick.halt(),
    "stop": lambda driven: driven.stop() if driven.tick.busy else None,
}
#: How often each happens in a walk: crashes often enough in a row.
WEIGHTS = {"the run crashes": 12, "its time comes": 12, "an operator clears it": 2}


def test_the_tick(flush_failures: FlushFailures) -> None:
    found: set[Edge] = set()
    chance = Random(17)  # noqa: S311  (chance)
    names, weights = list(TICK), [WEIGHTS.get(name, 1) for name in TICK]
    for _ in range(200):
        driven = DrivenTick()
        for why in chance.choices(names, weights, k=60):
            before = driven.state()
            TICK[why](driven)
            after = driven.state()
            if after != before:
                found.add((before, after, why))
        driven.stop()
    flush_failures()
    assert_same("The tick", found)
