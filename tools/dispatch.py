"""Tool calls in, results out: every call is answered, in order, and only cancellation is raised.

Neighbouring reads run together. An effect waits for everything before it and holds up everything after it, so the
game sees effects in the model's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from llm.messages import ToolCall, ToolResult
from resilience.deadline import Deadline
from resilience.errors import DeadlineExceeded
from tools.arguments import parse_arguments
from tools.clean import clean_heard, one_line
from tools.context import ToolContext
from tools.errors import ToolError, ToolRetry
from tools.policy import Refused, decide
from tools.registry import Registry
from tools.result import Executed, Status
from tools.tool import Answer, Arguments, Category, Tool

#: Longest text of one result, in characters; the rest is cut with a mark.
MAX_RESULT_CHARS = 16_000
#: How many reads of a step run at the same time.
MAX_TOGETHER = 8
#: What a tool gets at least, however little is left of its run: an answer that came in time is still spoken.
LAST_SECONDS = 1.0

_log = Logger()


class EffectLog(Protocol):
    """Told of every call that is really executed, before and after. What it raises stops the step.

    `index` is the call's place in the step. An intent without a done is a call whose outcome is unknown.
    """

    async def intent(self, index: int, call: ToolCall) -> None:
        """The call is about to run."""
        ...

    async def done(self, index: int, executed: Executed) -> None:
        """The call has run."""
        ...


class Dispatcher:
    """Answers the calls of ONE run: it counts the run's dangerous calls, so each run gets its own.

    `grant` is the names of the tools the assistant may use; `clock` measures time-outs. No tool goes on for longer than
    `LAST_SECONDS` after `deadline`, the run's own.
    """

    def __init__(
        self, registry: Registry, grant: frozenset[str], clock: IReactorTime, deadline: Deadline | None = None
    ) -> None:
        self.registry = registry
        self.grant = grant
        self.clock = clock
        self.deadline = deadline
        self.dangerous_done = 0

    def seconds_for(self, tool: Tool) -> float:
        """How long a call of this tool may take if it begins now."""
        if self.deadline is None:
            return tool.timeout_seconds
        return min(tool.timeout_seconds, max(LAST_SECONDS, self.deadline.remaining()))

    async def answer_all(
        self,
        calls: Sequence[ToolCall],
        context: ToolContext,
        *,
        log: EffectLog | None = None,
        on_executed: Callable[[Executed], None] | None = None,
    ) -> tuple[Executed, ...]:
        """One answer for each call, in the order of the calls. `on_executed` sees each as soon as it is there.

        Unknown tools and arguments that do not fit are FORMAT_ERROR; a ToolRetry or ToolFailed raised by the tool
        itself is FAILED. Cancelling stops what runs and starts nothing more; CancelledError is then raised, and
        never for another reason. What `log` or `on_executed` raises is raised after the running calls were stopped.
        """
        return await _Step(self, context, log, on_executed).answer(calls)


class _Step:
    """The calls of one step."""

    def __init__(
        self,
        run: Dispatcher,
        context: ToolContext,
        log: EffectLog | None,
        on_executed: Callable[[Executed], None] | None,
    ) -> None:
        self._run = run
        self._context = context
        self._effects = log
        self._on_executed = on_executed
        self._stopped = False

    def answer(self, calls: Sequence[ToolCall]) -> Deferred[tuple[Executed, ...]]:
        """The answers to all calls; cancelling it is the one way this step is cancelled from outside."""
        work = Deferred.fromCoroutine(self._in_order(calls))

        def stop(_: object) -> None:
            self._stopped = True
            work.cancel()

        outcome: Deferred[tuple[Executed, ...]] = Deferred(stop)

        def settle(result: tuple[Executed, ...] | Failure) -> None:
            if not outcome.called:  # else it was cancelled, and a tool that would not stop is over at last
                outcome.callback(result)

        work.addBoth(settle)
        return outcome

    async def _in_order(self, calls: Sequence[ToolCall]) -> tuple[Executed, ...]:
        answered: list[Executed] = []
        for group in self._groups(calls):
            first = len(answered)
            work = [Deferred.fromCoroutine(self._answer(first + at, call)) for at, call in enumerate(group)]
            answered += await self._all_of(work)
        return tuple(answered)

    async def _all_of(self, work: Sequence[Deferred[Executed]]) -> list[Executed]:
        """Every result, once all are over; the first failure stops the rest and is then raised."""
        failures: list[Failure] = []

        def fail(failure: Failure) -> None:
            failures.append(failure)
            self._stopped = True  # or those cancelled here would count as crashed
            for other in work:
                other.cancel()

        for one in work:
            one.addErrback(fail)
        results = await DeferredList(work)
        if failures:
            failures[0].raiseException()
        return [executed for _, executed in results]

    def _groups(self, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
        """`calls` cut into runs that may run together: up to MAX_TOGETHER reads, or one effect."""
        groups: list[list[ToolCall]] = []
        joinable = False
        for call in calls:
            tool = self._run.registry.get(call.name)
            reads = tool is None or tool.category.reads
            if reads and joinable and len(groups[-1]) < MAX_TOGETHER:
                groups[-1].append(call)
            else:
                groups.append([call])
            joinable = reads
        return groups

    async def _answer(self, index: int, call: ToolCall) -> Executed:
        """The answer to one call, executed if it may be."""
        if self._stopped:
            raise CancelledError
        tool = self._run.registry.get(call.name)
        executed = self._unknown(call) if tool is None else await self._checked(index, call, tool)
        if self._on_executed is not None:
            self._on_executed(executed)
        return executed

    async def _checked(self, index: int, call: ToolCall, tool: Tool) -> Executed:
        """The tool's answer, or why it does not run."""
        decision = decide(tool, grant=self._run.grant, dangerous_done=self._run.dangerous_done)
        if isinstance(decision, Refused):
            return _executed(call, tool, Status.REFUSED, decision.reason)
        try:
            arguments = parse_arguments(tool, call)
        except ToolRetry as wrong:
            return _executed(call, tool, Status.FORMAT_ERROR, str(wrong))
        return await self._recorded(index, call, tool, arguments)

    def _unknown(self, call: ToolCall) -> Executed:
        """The answer to a call of a tool that does not exist."""
        known = ", ".join(name for name in self._run.registry.names() if name in self._run.grant)
        name = one_line(call.name, max_chars=64)
        return _executed(call, None, Status.FORMAT_ERROR, f"There is no tool '{name}'. Use one of: {known}.")

    async def _recorded(self, index: int, call: ToolCall, tool: Tool, arguments: Arguments) -> Executed:
        """The answer of the tool itself, told to the effect log before and after."""
        if self._effects is not None:
            await self._effects.intent(index, call)
        if self._stopped:
            raise CancelledError
        began = self._run.clock.seconds()
        status, text = await self._outcome(call, tool, arguments)
        executed = _executed(call, tool, status, text, self._run.clock.seconds() - began)
        if tool.category is Category.DANGEROUS and status is not Status.FAILED:
            self._run.dangerous_done += 1  # what timed out or crashed may have happened
        if self._effects is not None:
            await self._effects.done(index, executed)
        return executed

    async def _outcome(self, call: ToolCall, tool: Tool, arguments: Arguments) -> tuple[Status, str]:
        """How the tool ended, and what the model reads of it."""
        deadline = Deadline.after(self._run.clock, self._run.seconds_for(tool))
        doubt = "" if tool.category.reads else " It may or may not have happened."
        try:
            work = Deferred.fromCoroutine(_execute(tool, arguments, self._context))
            return Status.DONE, await deadline.bound(work)
        except ToolError as refused:
            return Status.FAILED, str(refused)
        except DeadlineExceeded:
            return Status.TIMED_OUT, f"{tool.name} took too long and was stopped.{doubt}"
        except CancelledError:
            if self._stopped:
                raise
            self._note_crash(call, tool)  # cancelled by someone else, such as a connection that was lost
        except Exception:  # noqa: BLE001 - the border between us and any tool; cancellation was dealt with above
            self._note_crash(call, tool)
        return Status.CRASHED, f"{tool.name} did not work because of an internal problem.{doubt}"

    def _note_crash(self, call: ToolCall, tool: Tool) -> None:
        _log.failure("tool {tool} crashed", tool=tool.name, call_id=call.id, run_id=self._context.run_id)


async def _execute(tool: Tool, arguments: Arguments, context: ToolContext) -> str:
    """The tool's answer as text; a tool that raises before its first await is no exception to the rules."""
    answer: Answer = await tool.execute(arguments, context)
    return answer if isinstance(answer, str) else answer.model_dump_json()


def _executed(call: ToolCall, tool: Tool | None, status: Status, text: str, seconds: float = 0.0) -> Executed:
    """The answer to `call`, with its text cleaned and capped."""
    shown = clean_heard(text, MAX_RESULT_CHARS, keep_newlines=True)
    result = ToolResult(call.id, call.name, shown, failed=status is not Status.DONE)
    return Executed(call, result, status, tool.category if tool else None, seconds)
