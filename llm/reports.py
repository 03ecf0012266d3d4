"""Reports each exchange with a model to whoever listens: how it ended, how long it took, what it used.

Nothing is measured while nobody listens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec import Struct, field
from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.attempt import AttemptResult
from mud_assistant.llm.errors import LLMError
from mud_assistant.llm.response import Prices, Usage

#: The outcomes of an exchange besides the name of an LLMError.
ANSWERED, CANCELLED, CRASHED = "Answered", "Cancelled", "Crashed"


class CallReport(Struct, frozen=True):
    """One exchange with a model, with all its attempts. Times in seconds.

    `caller` is the name of the caller, empty for none. `outcome` is ANSWERED, CANCELLED, CRASHED, or the class name of
    an LLMError. `first_seconds` is the time until the first piece of an answer, None when none came. `usage` is that of
    the answer, with its cost; empty when there is none.
    """

    caller: str
    provider: str
    model: str
    outcome: str
    seconds: float
    first_seconds: float | None = None
    usage: Usage = field(default_factory=Usage)


class CallReports:
    """The `listeners` of a process, which must not raise and must not wait."""

    def __init__(self) -> None:
        #: Read before each call: there is nothing to measure while it is empty.
        self.listeners: list[Callable[[CallReport], None]] = []

    def add(self, listener: Callable[[CallReport], None]) -> None:
        """Let a listener hear of every exchange from now on."""
        self.listeners.append(listener)

    def remove(self, listener: Callable[[CallReport], None]) -> None:
        """Let a listener hear no more. No effect when it was not added."""
        if listener in self.listeners:
            self.listeners.remove(listener)

    def tell(self, report: CallReport) -> None:
        """Report an exchange that is over."""
        for listener in tuple(self.listeners):
            listener(report)


@dataclass(slots=True)
class MeasuredCall:
    """One exchange whose time is taken: `who` is the caller, the provider and the model."""

    reports: CallReports
    clock: IReactorTime
    who: tuple[str, str, str]
    prices: Prices | None
    _first_at: float | None = None

    async def report(
        self, perform: Callable[..., Awaitable[AttemptResult]], renew: Callable[[], None]
    ) -> AttemptResult:
        """Return what `perform` returns, or raise what it raises, and report it.

        `perform` takes `on_progress`, to call whenever a part of the answer arrives; `renew` is called then.
        """
        began = self.clock.seconds()

        def progress() -> None:
            if self._first_at is None:
                self._first_at = self.clock.seconds()
            renew()

        outcome, usage = CRASHED, Usage()
        try:
            result = await perform(on_progress=progress)
            outcome, usage = ANSWERED, result.answer.usage
        except LLMError as error:
            outcome = type(error).__name__
            raise
        except CancelledError:
            outcome = CANCELLED
            raise
        finally:
            first = None if self._first_at is None else self._first_at - began
            usage = self.prices.fill(usage) if self.prices is not None else usage
            self.reports.tell(CallReport(*self.who, outcome, self.clock.seconds() - began, first, usage))
        return result
