from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.llm.messages import ToolCall
from mud_assistant.resilience import Deadline
from mud_assistant.tools.errors import Status
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.policy.config import EffectLimits, PolicyConfig
from mud_assistant.tools.result import EffectLog, Executed
from mud_assistant.tools.testing import tool_context
from mud_assistant.tools.tool import Registry, Tool

#: Caps that nothing here reaches, but for the one change of the game per run.
ENDLESS = EffectLimits(calls=999, spoken=999, network=999, same=999, step_calls=999)


class Step:
    """One step under way, with the tools of a registry all granted."""

    def __init__(
        self,
        tools: Sequence[Tool],
        calls: Sequence[ToolCall],
        log: EffectLog | None = None,
        on_executed: Callable[[Executed], None] | None = None,
        run_seconds: float | None = None,
        *,
        limits: EffectLimits = ENDLESS,
    ) -> None:
        self.clock = Clock()
        deadline = None if run_seconds is None else Deadline.after(self.clock, run_seconds)
        rules = PolicyConfig(frozenset(tool.name for tool in tools), limits)
        self.dispatcher = Dispatcher(Registry(tools), rules, self.clock, deadline)
        self.results: list[tuple[Executed, ...] | Failure] = []
        work = self.dispatcher.answer_all(calls, tool_context(), log=log, on_executed=on_executed)
        self.running = Deferred.fromCoroutine(work)
        self.running.addBoth(self.results.append)

    @property
    def executed(self) -> tuple[Executed, ...]:
        (result,) = self.results
        if isinstance(result, Failure):
            result.raiseException()
        return result

    @property
    def statuses(self) -> list[Status]:
        return [executed.status for executed in self.executed]
