"""Answers tool calls: every call gets a result, in order, and only cancellation is raised.

The counts of what a run has done and seen are in `session.py`; how the calls of one answer run is in `step.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from twisted.internet.interfaces import IReactorTime

from llm.messages import ToolCall
from resilience.deadline import Deadline
from tools.arguments import parse_arguments
from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.execution.step import NOTHING_YET, EffectLog, Past, Step, exact
from tools.policy.config import PolicyConfig
from tools.policy.session import PolicySession
from tools.policy.trust import ContextTrust
from tools.registry import Registry
from tools.result import Executed, Status
from tools.tool import Tool

#: The least time for a tool in seconds, however little is left of its run: an answer that came in time is spoken.
LAST_SECONDS = 1.0


class Dispatcher:
    """Answers the calls of ONE run: it counts what the run did and sees, so each run gets its own.

    `rules` are the assistant's; `clock` measures time-outs. No tool goes on for longer than `LAST_SECONDS` after
    `deadline`, the run's own. `trust` is what the model has in view at the start; every result lowers it.
    `scrub` removes the keys from what a tool returns.
    """

    def __init__(
        self,
        registry: Registry,
        rules: PolicyConfig,
        clock: IReactorTime,
        deadline: Deadline | None = None,
        trust: ContextTrust | None = None,
        *,
        scrub: Callable[[str], str] = str,
    ) -> None:
        self.registry = registry
        self.clock = clock
        self.deadline = deadline
        self.scrub = scrub
        self.session = PolicySession(rules, ContextTrust() if trust is None else trust)

    def seconds_for(self, tool: Tool) -> float:
        """Return how many seconds a call of this tool may take if it begins now."""
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
        past: Past = NOTHING_YET,
    ) -> tuple[Executed, ...]:
        """Answer each call, in the order of the calls. `on_executed` gets each answer as soon as it is there.

        What is in `past` is not done again: a call that has its answer keeps it. Of the calls that were only begun, a
        read is made again, a tool with `reconcile` looks up the present state, and any other call is UNKNOWN.

        Unknown tools and arguments that do not fit are FORMAT_ERROR; a ToolRetry or ToolFailed raised by the tool
        itself is FAILED. Cancelling stops the running calls and starts no more. CancelledError is raised then, and
        never for another reason. Errors of `log` or `on_executed` are raised after the running calls were stopped.
        """
        trust = self.session.trust
        if context.trust is not trust:  # what the caller saw counts too
            trust.lower(context.trust.min_level)
            trust.narrow(context.trust.audience)
            context = replace(context, trust=trust)
        return await Step(self, context, log, on_executed, past).answer(calls)

    def happened(self, executed: Executed) -> None:
        """Count a call that was answered before this run was resumed, as if it had been answered here."""
        tool = self.registry.get(executed.call.name)
        self.session.trust.lower(executed.authority)
        if tool is None or executed.status in {Status.REFUSED, Status.FORMAT_ERROR}:
            return
        try:
            call = exact(executed.call, parse_arguments(tool, executed.call))
        except ToolRetry:  # the tool takes other arguments by now
            call = executed.call
        self.session.began(tool)
        self.session.ended(call, tool, executed.status)
