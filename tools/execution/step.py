"""One step: answers the calls of one answer of the model, in order.

Neighbouring reads run together. An effect waits for everything before it and holds up everything after it, so the
game sees effects in the model's order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.python.failure import Failure

from mud_assistant.llm.messages import ToolCall, ToolResult
from mud_assistant.tools.arguments import parse_arguments, with_checked
from mud_assistant.tools.context import Requirement, ToolContext
from mud_assistant.tools.errors import NoAnswer, Status, ToolRetry
from mud_assistant.tools.execution.guarded import answer_level, answer_sources, answer_text, run_within
from mud_assistant.tools.execution.run import RunState
from mud_assistant.tools.policy.binding import bind, check_unchanged, find_requirement
from mud_assistant.tools.policy.decide import (
    NOT_RUN,
    Allowed,
    Decision,
    NeedsApproval,
    PolicyRule,
    Refused,
    name_source,
    not_granted,
)
from mud_assistant.tools.policy.private import keep_private
from mud_assistant.tools.result import EffectLog, Executed, Past
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.tool import Answer, Arguments, Labelled, Tool

#: Longest text of one result, in characters; the rest is cut with a mark.
MAX_RESULT_CHARS = 16_000
#: How many reads of a step run at the same time.
MAX_TOGETHER = 8
#: What the model reads of an effect that a dead process began.
UNKNOWN_OUTCOME = (
    "The game stopped while {tool} was under way: nobody knows whether it happened. Do not do it again by yourself."
)
#: What the model reads when its call has no name.
NAMELESS_CALL = "The call does not name a tool."

T = TypeVar("T")


class Step:
    """The calls of one step."""

    def __init__(
        self,
        run: RunState,
        context: ToolContext,
        log: EffectLog | None,
        on_executed: Callable[[Executed], None] | None,
        past: Past,
    ) -> None:
        self._past = past
        self._run = run
        self._context = context
        self._effects = log
        self._on_executed = on_executed
        self._stopped = False

    def answer(self, calls: Sequence[ToolCall]) -> Deferred[tuple[Executed, ...]]:
        """Answer all calls. Cancelling the Deferred is the only way to cancel this step from outside."""
        work = Deferred.fromCoroutine(self._in_order(calls))
        if work.called:  # nothing had to be waited for, so there is nothing left to cancel
            return work

        def stop(_: object) -> None:
            self._stopped = True
            work.cancel()

        outcome: Deferred[tuple[Executed, ...]] = Deferred(stop)

        def settle(result: tuple[Executed, ...] | Failure) -> None:
            if not outcome.called:  # else it was cancelled, and a tool that did not stop then has ended now
                outcome.callback(result)

        work.addBoth(settle)
        return outcome

    async def _in_order(self, calls: Sequence[ToolCall]) -> tuple[Executed, ...]:
        answered: list[Executed] = []
        for group in self._groups(calls):
            if len(group) == 1:
                answered.append(await self._answer(len(answered), group[0]))
            else:
                answered += await self._together(len(answered), group)
        return tuple(answered)

    async def _together(self, first: int, group: Sequence[ToolCall]) -> list[Executed]:
        """Return every answer, once all are there. The first failure stops the rest and is then raised."""
        work = [Deferred.fromCoroutine(self._answer(first + at, call)) for at, call in enumerate(group)]
        failures: list[Failure] = []

        def fail(failure: Failure) -> None:
            failures.append(failure)
            self._stopped = True  # otherwise the calls cancelled here would count as crashed
            for other in work:
                other.cancel()

        for one in work:
            one.addErrback(fail)
        results = await DeferredList(work)
        if failures:
            failures[0].raiseException()
        return [executed for _, executed in results]

    def _groups(self, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
        """Cut `calls` into groups that may run together: up to MAX_TOGETHER reads, or one effect."""
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
        """Answer one call, by executing it if it may be."""
        if self._stopped:
            raise CancelledError
        tool, past = self._run.registry.get(call.name), self._past.get(index)
        if isinstance(past, Executed) and past.rule in NOT_RUN:
            past = None  # it is judged again, with the approvals of now
        if isinstance(past, Executed):
            self._run.count_past(executed := past)
        elif past is not None and (tool is None or not tool.category.reads):
            executed = await self._after_death(index, call, tool)
        elif tool is None:
            executed = await self._not_run(index, self._no_such_tool(call))
        else:
            executed = await self._checked(index, call, tool)
        self._run.session.trust.lower(executed.authority, partial(name_source, call))  # it is in view from now on
        if self._on_executed is not None:
            self._on_executed(executed)
        return executed

    async def _not_run(self, index: int, executed: Executed) -> Executed:
        """Write down a call that was judged and is not run, so that the owner can read why; return it."""
        if self._effects is not None:
            await self._effects.not_run(index, executed)
        return executed

    async def _checked(self, index: int, call: ToolCall, tool: Tool) -> Executed:
        """Run the tool, with the effect log told before and after. Return its answer, or why it does not run."""
        session = self._run.session
        if reason := not_granted(tool, session.config.grant):
            refused = self._executed(call, tool, Status.REFUSED, reason, rule=PolicyRule.NOT_GRANTED)
            return await self._not_run(index, refused)
        try:
            arguments = parse_arguments(tool, call)
        except ToolRetry as wrong:
            unfit = self._executed(call, tool, Status.FORMAT_ERROR, str(wrong), rule=PolicyRule.FORMAT)
            return await self._not_run(index, unfit)
        meant = with_checked(call, arguments)
        if (kept := keep_private(tool, meant, self._context, changed=session.has_changed)) is not None:
            return await self._not_run(
                index, self._executed(call, tool, kept.status, kept.text, rule=PolicyRule.PRIVATE)
            )
        found = await self._needed(index, meant, tool, arguments)
        if isinstance(found, NoAnswer):
            return self._executed(call, tool, found.status, found.text, told=found.authority)
        needed, judged = found
        decision = session.ask(judged, meant, tool, needed, self._context)
        if isinstance(decision, Refused):
            refused = self._executed(call, tool, Status.REFUSED, decision.reason, rule=decision.rule)
            return await self._not_run(index, refused)
        # Before the intent: if the process dies in the wait for the turn to speak, nothing was said; it is said later.
        if tool.takes_turn and (turn := self._context.room_turn()) is not None:
            await turn
        if self._effects is not None:
            await self._effects.intent(index, call)
        if self._stopped:
            raise CancelledError
        executed = await self._run_tool(call, tool, arguments, needed, decision)
        session.count_ended(meant, tool, executed.status)
        if self._effects is not None:
            await self._effects.done(index, executed)
        return executed

    async def _needed(
        self, index: int, call: ToolCall, tool: Tool, arguments: Arguments
    ) -> tuple[Requirement, Decision] | NoAnswer:
        """Return what this call needs, with what it acts on when that must be approved, and the policy's decision."""
        session, resolve = self._run.session, tool.resolve
        needed = session.requirement_of(tool)
        if resolve is not None:
            found = await self._within(call, tool, lambda: resolve(arguments, self._context))
            if self._stopped:
                raise CancelledError
            if isinstance(found, NoAnswer):
                return found
            needed = session.requirement_of(tool, found)
        judged = session.judge(index, call, tool, needed, self._context)
        if isinstance(judged, NeedsApproval):
            session.count_looked_up()
        elif self._context.granted is None:
            return needed, judged
        covered = await self._within(call, tool, lambda: bind(tool, arguments, needed, self._context))
        if self._stopped:
            raise CancelledError
        if isinstance(covered, NoAnswer):
            return covered
        return covered, session.judge(index, call, tool, covered, self._context)

    async def _after_death(self, index: int, call: ToolCall, tool: Tool | None) -> Executed:
        """Answer an effect that a dead process began: with the present state, or with UNKNOWN."""
        unknown = self._executed(call, tool, Status.UNKNOWN, UNKNOWN_OUTCOME.format(tool=one_line(call.name)))
        self._run.count_past(unknown)
        if tool is None or (reconcile := tool.reconcile) is None:
            return unknown
        try:
            arguments = parse_arguments(tool, call)
        except ToolRetry:
            return unknown
        answer = await self._within(call, tool, lambda: reconcile(arguments, self._context))
        if isinstance(answer, NoAnswer):
            return unknown
        executed = self._executed(call, tool, Status.DONE, answer_text(answer), told=answer_level(answer))
        if self._effects is not None:
            await self._effects.done(index, executed)
        return executed

    def _no_such_tool(self, call: ToolCall) -> Executed:
        """Answer a call of a tool that does not exist."""
        known = ", ".join(name for name in self._run.registry.names() if name in self._run.session.config.grant)
        name = one_line(call.name, max_chars=64)
        if not name:
            return self._executed(
                call, None, Status.FORMAT_ERROR, f"{NAMELESS_CALL} Use one of: {known}.", rule=PolicyRule.FORMAT
            )
        return self._executed(
            call, None, Status.FORMAT_ERROR, f"There is no tool '{name}'. Use one of: {known}.", rule=PolicyRule.FORMAT
        )

    async def _run_tool(
        self, call: ToolCall, tool: Tool, arguments: Arguments, needed: Requirement, allowed: Allowed
    ) -> Executed:
        """Run the tool itself and return its answer."""
        rule = allowed.rule
        began = self._run.clock.seconds()
        context = self._context
        if tool.resolve is not None or self._run.session.has_changed:
            context = replace(context, allowed=needed, has_changed=self._run.session.has_changed)

        async def execute() -> Answer | Labelled:
            if needed.covers:  # it was approved; look again, because the intent was written down since then
                check_unchanged(needed, await find_requirement(tool, with_checked(call, arguments), context))
            return await tool.execute(arguments, context)

        answer = await self._within(call, tool, execute)
        seconds = self._run.clock.seconds() - began
        if isinstance(answer, NoAnswer):
            sure = tool.category.reads or answer.status in {Status.FAILED, Status.UNHEARD}
            text = answer.text if sure else f"{answer.text} It may or may not have happened."
            return self._executed(call, tool, answer.status, text, seconds=seconds, told=answer.authority, rule=rule)
        text, told = answer_text(answer), answer_level(answer)
        sources = answer_sources(answer)
        return self._executed(call, tool, Status.DONE, text, seconds=seconds, told=told, sources=sources, rule=rule)

    async def _within(self, call: ToolCall, tool: Tool, work: Callable[[], Awaitable[T]]) -> T | NoAnswer:
        """Return what a tool's work gives in the time the tool has."""
        return await run_within(
            lambda: self._run.limit_for(tool),
            work,
            call,
            self._context.run_id,
            lambda: self._stopped,
        )

    def _executed(
        self,
        call: ToolCall,
        tool: Tool | None,
        status: Status,
        text: str,
        *,
        seconds: float = 0.0,
        told: int | None = None,
        sources: tuple[str, ...] = (),
        rule: str = "",
    ) -> Executed:
        """Make the answer to `call`, with its text cleaned, capped and labelled."""
        shown = clean_heard(self._run.scrub(text), MAX_RESULT_CHARS, keep_newlines=True)
        result = ToolResult(call.id, call.name, shown, failed=status is not Status.DONE)
        level = self._run.session.level(tool, status, told)
        return Executed(call, result, status, tool.category if tool else None, seconds, level, sources, rule)
