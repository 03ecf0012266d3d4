"""Defines what others say of a character's initiative: the goals it has, and who wants it to keep still. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Protocol

from msgspec import Struct

from mud_assistant.assistant.events.events import Event


class Goals(Protocol):
    """What the character promised.

    An event of it carries the id of its goal (`ByRule.goal`), and whoever makes the call finds out what is to be done.
    """

    def next_event(self, now: float) -> Event | None:
        """Return the event that tries to keep a goal that is due, None for none. `now` is in clock seconds."""
        ...

    def next_at(self, now: float) -> float:
        """Return when the next goal can be tried, in clock seconds; infinity for none."""
        ...


class Restraints(Struct, frozen=True):
    """What others say of a character's initiative. Each is asked when it matters, and does not wait.

    A sentence that is not empty says why something is not done; owners read it among the reasons.
    """

    #: Why it does nothing of itself at all, empty when it may: its owner wants quiet.
    quiet: Callable[[], str] = str
    #: Why it stays where it is, empty when it may go; given the clock seconds.
    stays: Callable[[float], str] = lambda _: ""
    #: The ids of the players who mute it, and of those who asked not to be spoken to first.
    muted: Callable[[], Container[str]] = frozenset
    unwanted: Callable[[], Container[str]] = frozenset
    #: Whether its share of the day's budget for impulses is not used up.
    has_budget: Callable[[], bool] = lambda: True
