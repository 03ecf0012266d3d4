"""Writes down what a run does, and waits for the journal only where something depends on it.

The journal does writes in the order in which they are begun. So a run goes on while its answers and results are being
written. It waits before an effect, for the intent and all that was begun before it; before it asks the model again, so
that nothing more is paid for while the journal cannot be written; and at its end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.python.failure import Failure

from mud_assistant.assistant.events.goal import Goal
from mud_assistant.assistant.journal.protocol import Journal, Write
from mud_assistant.llm import LLMResponse, ToolCall
from mud_assistant.tools import Executed, Registry


class Writes:
    """The writes of one run. All who wait are told the first error of a write; `check` tells it when nobody waits."""

    __slots__ = ("_error", "_journal", "_left", "_run_id", "_waiting")

    def __init__(self, journal: Journal, run_id: str) -> None:
        self._journal = journal
        self._run_id = run_id
        self._left = 0
        self._error: BaseException | None = None
        self._waiting: list[Deferred[None]] = []

    def answer(self, step: int, response: LLMResponse) -> None:
        """Begin to write down an answer of the model."""
        self._begin(self._journal.record_response(self._run_id, step, response))

    def result(self, step: int, index: int, executed: Executed) -> None:
        """Begin to write down the result of a call. One that only read is written down with the call."""
        is_read = executed.category is not None and executed.category.reads
        record = self._journal.record_read if is_read else self._journal.record_result
        self._begin(record(self._run_id, step, index, executed))

    def refusal(self, step: int, index: int, executed: Executed) -> None:
        """Begin to write down why a call is not made."""
        self._begin(self._journal.record_result(self._run_id, step, index, executed))

    async def intent(self, step: int, index: int, call: ToolCall, goals: Sequence[Goal] = ()) -> None:
        """Write down that an effect is about to begin, with the goals that its words promise. Wait as `done` does.

        It is not written when a write before it is known to have failed: the effect would pass for begun.
        """
        self.check()
        self._begin(self._journal.record_intent(self._run_id, step, index, call, effect=True, goals=goals))
        await self.done()

    async def done(self) -> None:
        """Wait until everything begun so far is safe. Raises what a write raised. Cancelling ends only the wait."""
        if self._left:
            safe: Deferred[None] = Deferred()
            self._waiting.append(safe)
            await safe
        elif self._error is not None:
            self.check()

    def check(self) -> None:
        """Raise what a write raised, once."""
        if (error := self._error) is not None:
            self._error = None
            try:
                raise error
            finally:
                del error  # it holds this frame, and must not be held by it

    def _begin(self, write: Write) -> None:
        self._left += 1
        ensureDeferred(write).addCallbacks(self._ended, self._failed)

    def _failed(self, failure: Failure) -> None:
        if self._error is None:
            self._error = failure.value
        self._ended(None)

    def _ended(self, _: None) -> None:
        self._left -= 1
        if self._left or not self._waiting:
            return
        waiting, self._waiting = [safe for safe in self._waiting if not safe.called], []  # the others were cancelled
        if waiting and (error := self._error) is not None:
            self._error = None
            for safe in waiting:
                safe.errback(error)
        else:
            for safe in waiting:
                safe.callback(None)


class CallLog(Struct, frozen=True):
    """Writes down the calls of one step: an intent before each effect, and the result of each call."""

    writes: Writes
    registry: Registry
    step: int
    #: The goals that the words of a call promise, by the call's id.
    promised: Mapping[str, Sequence[Goal]] = {}

    async def intent(self, index: int, call: ToolCall) -> None:
        """Record that the call is about to run, unless it reads: a read is made again after a crash."""
        tool = self.registry.get(call.name)
        if tool is None or not tool.category.reads:
            await self.writes.intent(self.step, index, call, self.promised.get(call.id, ()))

    async def done(self, index: int, executed: Executed) -> None:
        """Record that the call is over."""
        self.writes.result(self.step, index, executed)

    async def not_run(self, index: int, executed: Executed) -> None:
        """Record why the call is not made."""
        self.writes.refusal(self.step, index, executed)
