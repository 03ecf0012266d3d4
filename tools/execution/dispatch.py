"""Answers tool calls: every call gets a result, in order, and only cancellation is raised.

The counts of what a run has done and seen are in `tools/policy/session.py`; how the calls of one answer run is in
`step.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from twisted.internet.interfaces import IReactorTime

from mud_assistant.llm.messages import ToolCall
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.execution.run import RunState
from mud_assistant.tools.execution.step import Step
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.policy.session import PolicySession
from mud_assistant.tools.result import NOTHING_YET, EffectLog, Executed, Past
from mud_assistant.tools.tool import Registry
from mud_assistant.tools.trust import ContextTrust, Principal


class Dispatcher:
    """Answers the calls of ONE run: it counts what the run did and sees, so each run gets its own.

    `config` is the assistant's; `trust` is what the model has in view at the start, and every result lowers it.
    `clock`, `deadline` and `scrub` are those of `RunState`.
    """

    def __init__(
        self,
        registry: Registry,
        config: PolicyConfig,
        clock: IReactorTime,
        deadline: Deadline | None = None,
        trust: ContextTrust | None = None,
        *,
        scrub: Callable[[str], str] = str,
    ) -> None:
        session = PolicySession(config, ContextTrust() if trust is None else trust)
        self.run = RunState(registry, session, clock, deadline, scrub)

    @property
    def session(self) -> PolicySession:
        """What this run has done and seen, and what it may do next."""
        return self.run.session

    def lacks_trust(self, calls: Sequence[ToolCall], actor: Principal, requester: Principal | None) -> int:
        """Return the level that one of the calls needs and only the texts in view deny; 0 when there is none."""
        tools = filter(None, (self.run.registry.get(call.name) for call in calls))
        return max((self.session.lacks_trust(tool, actor, requester) for tool in tools), default=0)

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
        return await Step(self.run, context, log, on_executed, past).answer(calls)
