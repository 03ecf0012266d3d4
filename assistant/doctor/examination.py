"""Runs checks one after the other, each with a deadline, and shows what each found as soon as it did."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from assistant.doctor.finding import Finding, Show, Skipped, State, Trouble, Unclear, in_one_line
from resilience import Deadline, DeadlineExceeded

#: How long a check may take until it is said that it goes on, and said again, in seconds.
SLOW_SECONDS = 3.0

#: A check gives the sentence of what is well. Raises Trouble, Unclear or Skipped.
Check = Callable[[], Coroutine[Deferred[Any], Any, str]]


class Examination:
    """The checks of one visit. `waiting` is told what is being waited for, and for how many seconds already."""

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
        return not any(finding.state is State.WRONG for finding in self.found)

    async def check(self, name: str, seconds: float, work: Check, late: str = "") -> bool:
        """Whether the check found nothing wrong; `late` is what to do when it does not end in time."""
        slow = LoopingCall(self._still, name, self.clock.seconds())
        slow.clock = self.clock
        slow.start(SLOW_SECONDS, now=False)
        try:
            said = await Deadline.after(self.clock, seconds).bound(Deferred.fromCoroutine(work()))
        except Trouble as trouble:
            return self.note(name, State.WRONG, str(trouble))
        except Unclear as unclear:
            return self.note(name, State.UNKNOWN, str(unclear))
        except Skipped as skipped:
            return self.note(name, State.SKIPPED, str(skipped))
        except DeadlineExceeded as error:
            remedy = f"; {late}" if late else ""
            return self.note(name, State.WRONG, f"there was no answer within {error.seconds:g} s{remedy}")
        finally:
            slow.stop()
        return self.note(name, State.OK, said)

    def note(self, name: str, state: State, sentence: str) -> bool:
        """Whether this is nothing wrong; it is shown without keys."""
        finding = Finding(name, state, in_one_line(self._scrub(sentence)))
        self.found.append(finding)
        self._show(finding)
        return state is not State.WRONG

    def skip(self, names: tuple[str, ...], because: str) -> None:
        """Tell of the checks that are not made."""
        for name in names:
            self.note(name, State.SKIPPED, because)

    def _still(self, name: str, since: float) -> None:
        self._waiting(f"{name}: waiting for {self.clock.seconds() - since:.0f} s")
