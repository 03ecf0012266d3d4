"""What must come of each line that is said to an assistant, whatever its service goes through meanwhile."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mud_assistant.tools import Principal

_DAY = 86_400
#: A word that only one line holds, with the number of the line.
TOKEN = re.compile(r"plum(\d+)x")


@dataclass
class Line:
    """A line that somebody said."""

    number: int
    who: Principal
    #: Whether it must be dealt with: an assistant that was to run here heard it.
    is_sure: bool
    is_forgotten: bool = False
    is_settled: bool = False

    @property
    def token(self) -> str:
        """A word that no other line holds."""
        return f"plum{self.number}x"


class PlannedService:
    """The lines, and what came of them until now. `now` gives the seconds of all clocks.

    A player has `most` calls a day, None for as many as they like. What came to pass is counted in `seen`. What is
    wrong is kept in `wrong`: where it is found, the assistant would take it for a failure of its own.
    """

    now: Callable[[], float]

    def __init__(self, most: int | None, seen: Counter[str]) -> None:
        self.most, self.seen = most, seen
        self.lines: dict[int, Line] = {}
        self.answered: Counter[int] = Counter()
        self.rung: Counter[int] = Counter()
        #: The numbers of the lines whose bell was allowed, and those of which it is known that it rings.
        self.allowed: set[int] = set()
        self.due: set[int] = set()
        #: The numbers of the processes in which the assistant was stopped: it does nothing there.
        self.silent: set[int] = set()
        #: The models that may be asked now.
        self.models: set[str] = set()
        #: The calls of each day and player, and the calls that were cut off.
        self.calls: Counter[tuple[int, str]] = Counter()
        self.disturbed: Counter[int] = Counter()
        #: The calls of each day that are about no line.
        self.others: Counter[int] = Counter()
        self.wrong: list[str] = []
        #: What happened, to be shown when something is wrong.
        self.story: list[str] = []

    @property
    def day(self) -> int:
        """The day it is."""
        return int(self.now() // _DAY)

    def note(self, what: object) -> None:
        """Write down what happens."""
        self.story.append(f"{self.now():.3f} {what}")

    def disturb(self) -> None:
        """Note that a call was cut off: it is free where its answer had not begun."""
        self.disturbed[self.day] += 1

    def asked(self, number: int, model: str, text: str, *, is_free: bool) -> None:
        """Judge a prompt. Its call `is_free` when it is refused, and it may be when it is cut off."""
        self.note(f"        asked {number} of {model}{' in vain' * is_free}")
        if not number:  # what was allowed is done, which the player pays for who asked for it
            self.others[self.day] += 1
            return
        if model not in self.models:
            self.wrong.append(f"{model} is asked, and not {self.models}")
        for found in map(int, TOKEN.findall(text)):
            if self.lines[found].is_forgotten:
                self.wrong.append(f"the prompt for {number} holds line {found}, which was forgotten")
        who = self.lines[number].who.id
        self.calls[self.day, who] += not is_free
        if self.most is not None and self.calls[self.day, who] - self.disturbed[self.day] > self.most:
            self.wrong.append(f"{who} has {self.calls[self.day, who]} calls of {self.most}")

    def rang(self, number: int) -> None:
        """Judge a bell."""
        self.rung[number] += 1
        self.seen["rung"] += 1
        if number not in self.allowed:
            self.wrong.append(f"the bell of {number} is rung without leave")
        if self.rung[number] > 1:
            self.wrong.append(f"the bell of {number} is rung again")

    def said(self, number: int, at: int) -> None:
        """Judge an answer that was spoken in the game of process number `at`."""
        self.note(f"        said {number} in {at}")
        self.answered[number] += 1
        self.seen["answered"] += 1
        if at in self.silent:
            self.wrong.append(f"{number} is answered in process {at} by one who was stopped there")
        if self.answered[number] > 1:
            self.wrong.append(f"{number} is answered again")
        if self.lines[number].is_forgotten:
            self.wrong.append(f"{number} is answered, which was forgotten")

    def settle(self, unknown: frozenset[int]) -> None:
        """Tell whether each line that must be was dealt with, once nothing waits any more.

        Of the `unknown` ones it is written down that nobody knows whether they were answered, or their bell was rung.
        """
        self.seen["unknown"] += len(unknown)
        for line in self.lines.values():
            if line.is_settled:
                continue
            line.is_settled = True
            if not line.is_sure or line.is_forgotten or line.number in unknown:
                continue
            if not self.answered[line.number] and not self.may_be_refused(line.who):
                self.wrong.append(f"{line.number} is lost")
        for number in self.due - set(self.rung) - unknown:
            self.wrong.append(f"the bell of {number} was allowed and is not rung")
        self.due.clear()

    def may_be_refused(self, who: Principal) -> bool:
        """Whether this player may have no call left today."""
        if self.most is None:
            return False
        is_spent = self.calls[self.day, who.id] + self.disturbed[self.day] + self.others[self.day] >= self.most
        self.seen["spent"] += is_spent
        return is_spent

    def forget(self, who: Principal | None) -> None:
        """Note that all a player said is forgotten, or everything for None."""
        self.seen["erased" if who is None else "forgotten"] += 1
        for line in self.lines.values():
            if who is None or line.who == who:
                line.is_forgotten = True
