import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import Status
from mud_assistant.tools.execution.step import MAX_TOGETHER
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import WaitingTool, numbered, simple_tool, tool_call
from mud_assistant.tools.tool import Category, NoArguments
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.tools.execution.recording_log import RecordingLog
from tests.tools.execution.steps import Step


def test_reads_run_together_and_their_answers_keep_the_order() -> None:
    first, second = WaitingTool("first"), WaitingTool("second", Category.ASYNC_REQUIRED)
    seen: list[str] = []
    step = Step(
        [first.tool, second.tool],
        [tool_call("first"), tool_call("second"), tool_call("nothing")],
        on_executed=lambda executed: seen.append(executed.call.name),
    )
    second.answer("2")
    first.answer("1")
    assert [executed.result.text for executed in step.executed[:2]] == ["1", "2"]
    assert seen == ["nothing", "second", "first"]


def test_only_so_many_reads_run_together() -> None:
    read = WaitingTool("read")
    step = Step([read.tool], numbered([tool_call("read")] * (MAX_TOGETHER + 3)))
    while read.waiting:
        read.answer()
    assert read.most == MAX_TOGETHER
    assert step.statuses == [Status.DONE] * (MAX_TOGETHER + 3)


def test_cancelling_stops_every_running_read_and_starts_nothing_more() -> None:
    read, act = WaitingTool("read"), WaitingTool("act", Category.TERMINAL)
    step = Step([read.tool, act.tool], numbered([tool_call("read"), tool_call("read"), tool_call("act")]))
    step.running.cancel()
    with pytest.raises(CancelledError):
        _ = step.executed
    assert (read.cancelled, act.started) == (2, 0)
    assert not step.clock.getDelayedCalls()


def test_cancelling_leaves_an_intent_without_a_done() -> None:
    act, log = WaitingTool("act", Category.TERMINAL), RecordingLog()
    step = Step([act.tool], [tool_call("act")], log)
    step.running.cancel()
    assert isinstance(step.results[0], Failure)
    assert log.lines == [("intent", 0, "act")]


def test_a_tool_that_will_not_be_cancelled_does_not_hold_the_step_and_starts_nothing_after_it() -> None:
    late: Deferred[str] = Deferred()
    log = RecordingLog()

    async def stubborn(_: NoArguments, __: ToolContext) -> str:
        try:
            await Deferred()
        except CancelledError:
            return await late
        return ""

    after = WaitingTool("after", Category.TERMINAL)
    tools = [simple_tool("stubborn", stubborn, Category.TERMINAL), after.tool]
    step = Step(tools, [tool_call("stubborn"), tool_call("after")], log)
    step.running.cancel()
    assert isinstance(step.results[0], Failure)
    assert step.results[0].check(CancelledError)
    late.callback("at last")
    assert after.started == 0
    assert log.lines == [("intent", 0, "stubborn")]


def test_the_log_is_told_before_and_after_what_really_runs() -> None:
    log = RecordingLog()
    calls = [tool_call("fly"), tool_call("say", text="hi"), tool_call("say"), tool_call("noop")]
    Step(WORLD_TOOLS, calls, log)
    assert log.lines == [("intent", 1, "say"), ("done", 1, "say"), ("intent", 3, "noop"), ("done", 3, "noop")]
    assert log.rules == [(0, "format"), (2, "format")]


def test_an_effect_waits_until_its_intent_is_kept_and_the_next_until_it_is_done() -> None:
    kept: list[Deferred[None]] = []

    class SlowLog(RecordingLog):
        async def intent(self, index: int, call: ToolCall) -> None:
            await super().intent(index, call)
            kept.append(Deferred())
            await kept[-1]

    act, log = WaitingTool("act", Category.TERMINAL), SlowLog()
    step = Step([act.tool], numbered([tool_call("act")] * 2), log)
    assert act.started == 0
    kept[0].callback(None)
    assert act.started == 1
    act.answer()
    assert [line[:2] for line in log.lines] == [("intent", 0), ("done", 0), ("intent", 1)]
    kept[1].callback(None)
    act.answer()
    assert step.statuses == [Status.DONE] * 2


def test_nothing_runs_unrecorded() -> None:
    read, act = WaitingTool("read"), WaitingTool("act", Category.TERMINAL)
    step = Step([read.tool, act.tool], [tool_call("act"), tool_call("read")], RecordingLog(fail_on="intent"))
    with pytest.raises(OSError, match="cannot write intent"):
        _ = step.executed
    assert (read.started, act.started) == (0, 0)


def test_a_log_that_fails_stops_the_reads_that_run() -> None:
    read = WaitingTool("read")
    log = RecordingLog(fail_on="done")
    step = Step([read.tool], numbered([tool_call("read")] * 3), log)
    read.answer()
    with pytest.raises(OSError, match="cannot write done"):
        _ = step.executed
    assert read.cancelled == 2
    assert [what for what, _, _ in log.lines] == ["intent"] * 3


@pytest.mark.parametrize("moment", ["intent", "done"])
def test_a_log_that_will_not_be_cancelled_does_not_hold_the_step_either(moment: str) -> None:
    late: Deferred[None] = Deferred()

    class StubbornLog(RecordingLog):
        async def intent(self, index: int, call: ToolCall) -> None:
            await super().intent(index, call)
            await self._keep("intent")

        async def done(self, index: int, executed: Executed) -> None:
            await super().done(index, executed)
            await self._keep("done")

        async def _keep(self, what: str) -> None:
            if what == moment:
                try:
                    await Deferred()
                except CancelledError:
                    await late

    log, act, noop = StubbornLog(), WaitingTool("act", Category.TERMINAL), WaitingTool("noop", Category.TERMINAL)
    step = Step([act.tool, noop.tool], [tool_call("act"), tool_call("noop")], log)
    if act.waiting:
        act.answer()
    step.running.cancel()
    assert isinstance(step.results[0], Failure)
    late.callback(None)
    assert (act.started, noop.started) == (int(moment == "done"), 0)


kinds = st.sampled_from(["read", "net", "act", "unknown", "broken"])


@given(st.lists(kinds, max_size=12), st.data())
def test_every_call_is_answered_in_order_and_effects_are_never_beside_anything(
    names: list[str], data: st.DataObject
) -> None:
    tools = {
        "read": WaitingTool("read", Category.SAFE_CHAIN),
        "net": WaitingTool("net", Category.ASYNC_REQUIRED),
        "act": WaitingTool("act", Category.TERMINAL),
    }
    log = RecordingLog()
    calls = numbered([tool_call("act", extra=1) if name == "broken" else tool_call(name) for name in names])
    step = Step([tool.tool for tool in tools.values()], calls, log)
    while busy := [tool for tool in tools.values() if tool.waiting]:
        assert not tools["act"].waiting or sum(len(tool.waiting) for tool in busy) == 1
        data.draw(st.sampled_from(busy)).answer()
    assert [executed.call for executed in step.executed] == calls
    assert [executed.result.call_id for executed in step.executed] == [call.id for call in calls]
    ran = {index for index, name in enumerate(names) if name in tools}
    assert {index for what, index, _ in log.lines if what == "done"} == ran
    for at, (what, index, name) in enumerate(log.lines):
        if what == "intent" and name == "act":
            assert log.lines[at + 1] == ("done", index, "act")
            before = {line[1] for line in log.lines[:at]}
            assert before == {other for other in ran if other < index}


@given(st.lists(kinds, max_size=12), st.integers(0, 12))
def test_cancelled_at_any_moment_it_ends_at_once_and_leaves_nothing_behind(names: list[str], answered: int) -> None:
    tools = [WaitingTool("read"), WaitingTool("net", Category.ASYNC_REQUIRED), WaitingTool("act", Category.TERMINAL)]
    step = Step([tool.tool for tool in tools], numbered([tool_call(name) for name in names]))
    for _ in range(answered):
        for tool in tools:
            if tool.waiting:
                tool.answer()
                break
    was_over = bool(step.results)
    step.running.cancel()
    assert was_over or (isinstance(step.results[0], Failure) and step.results[0].check(CancelledError))
    assert not any(tool.waiting for tool in tools)
    assert not step.clock.getDelayedCalls()
