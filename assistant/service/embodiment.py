"""The tie of one assistant to its world, and to those who watch it think."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from assistant.events.outcome import Failed, LimitReached, Outcome
from assistant.events.trace import Observer, StepTrace
from tools import Principal, Tool, World


@dataclass(frozen=True, slots=True)
class Embodiment:
    """The identity of an assistant in its world, and how it acts there.

    The id of `me` never changes: the assistant's memory is kept under it.
    """

    me: Principal
    world: World
    #: The tools of this world beyond the usual ones.
    tools: tuple[Tool, ...] = ()
    #: Called at start when events of an earlier process wait for an answer. It returns when a player is there to be
    #: answered, or waiting for one has been long enough.
    gathered: Callable[[], Awaitable[None]] | None = None
    #: Tells a player one sentence outside the story, where they are.
    notify: Callable[[Principal, str], None] = lambda _, __: None
    #: Gives the identity of the room it is in, empty when that is not known.
    where: Callable[[], str] = str
    #: Is told why a run failed or which budget is used up. Never shown in the world.
    failed: Callable[[Failed | LimitReached], None] = lambda _: None


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
