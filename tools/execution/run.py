"""What the calls of one run share: the tools, the time that is left, and the counts of what was done and seen."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from twisted.internet.interfaces import IReactorTime

from mud_assistant.resilience.deadline import Deadline
from mud_assistant.tools.arguments import parse_arguments, with_checked
from mud_assistant.tools.errors import Status, ToolRetry
from mud_assistant.tools.policy.session import PolicySession
from mud_assistant.tools.result import Executed
from mud_assistant.tools.tool import Registry, Tool

#: The least time for a tool in seconds, however little is left of its run: an answer that came in time is spoken.
LAST_SECONDS = 1.0


class RunState(Struct, frozen=True):
    """The state of one run while its calls are answered.

    `clock` measures time-outs. No tool goes on for longer than `LAST_SECONDS` after `deadline`, the run's own; None is
    no limit. `scrub` removes the keys from what a tool returns.
    """

    registry: Registry
    session: PolicySession
    clock: IReactorTime
    deadline: Deadline | None
    scrub: Callable[[str], str]

    def limit_for(self, tool: Tool) -> Deadline:
        """Return the deadline of a call of this tool that begins now."""
        seconds = tool.timeout_seconds
        if self.deadline is not None:
            seconds = min(seconds, max(LAST_SECONDS, self.deadline.remaining()))
        return Deadline.after(self.clock, seconds)

    def count_past(self, executed: Executed) -> None:
        """Count a call that was answered before this run was resumed, as if it had been answered here."""
        tool = self.registry.get(executed.call.name)
        self.session.trust.lower(executed.authority)
        if tool is None or executed.status in {Status.REFUSED, Status.FORMAT_ERROR}:
            return
        try:
            call = with_checked(executed.call, parse_arguments(tool, executed.call))
        except ToolRetry:  # the tool takes other arguments by now
            call = executed.call
        self.session.count_begun(tool)
        self.session.count_ended(call, tool, executed.status)
