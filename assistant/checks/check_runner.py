"""Runs checks one after the other, each with a deadline, and shows each result at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from mud_assistant.assistant.checks.finding import Finding, FindingState, Problem, Show, Skipped, Unclear, in_one_line
from mud_assistant.resilience import Deadline, DeadlineExceeded

#: After so many seconds a check is reported as still running, and again after as many.
SLOW_SECONDS = 3.0

#: A check returns one sentence when all is well. Raises Problem, Unclear or Skipped.
Check = Callable[[], Coroutine[Deferred[Any], Any, str]]


class CheckRunner:
    """The checks of one request, one after the other.

    `waiting` is called with the name of a slow check and the seconds it has run.
    """

    def __init__(
        self,
        clock: IReactorTime,
        show: Show,
        waiting: Callable[[str], None],
        scrub: Callable[[str], str] = str,
    ) -> None:
        self.clock = clock
        self.found: list[Finding] = []
        self._show = show
        self._waiting = waiting
        self._scrub = scrub

    @property
    def all_is_well(self) -> bool:
        """Whether no check found anything wrong."""
        return not any(finding.state is FindingState.WRONG for finding in self.found)

    async def check(self, name: str, seconds: float, work: Check, late: str = "") -> bool:
        """Run one check within `seconds`, note its result, and return False if it found something wrong.

        `late` is the remedy to show when the check does not end in time.
        """
        slow = LoopingCall(self._still, name, self.clock.seconds())
        slow.clock = self.clock
        slow.start(SLOW_SECONDS, now=False)
        try:
            said = await Deadline.after(self.clock, seconds).bound(Deferred.fromCoroutine(work()))
        except Problem as trouble:
            return self.note(name, FindingState.WRONG, str(trouble))
        except Unclear as unclear:
            return self.note(name, FindingState.UNKNOWN, str(unclear))
        except Skipped as skipped:
            return self.note(name, FindingState.SKIPPED, str(skipped))
        except DeadlineExceeded as error:
            remedy = f"; {late}" if late else ""
            return self.note(name, FindingState.WRONG, f"there was no answer within {error.seconds:g} s{remedy}")
        finally:
            slow.stop()
        return self.note(name, FindingState.OK, said)

    def note(self, name: str, state: FindingState, sentence: str) -> bool:
        """Record a result and show it, with keys removed. Return whether it is anything but WRONG."""
        finding = Finding(name, state, in_one_line(self._scrub(sentence)))
        self.found.append(finding)
        self._show(finding)
        return state is not FindingState.WRONG

    def skip(self, names: tuple[str, ...], because: str) -> None:
        """Note these checks as skipped, for this reason."""
        for name in names:
            self.note(name, FindingState.SKIPPED, because)

    def _still(self, name: str, since: float) -> None:
        self._waiting(f"{name}: waiting for {self.clock.seconds() - since:.0f} s")
