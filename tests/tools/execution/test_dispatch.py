import pytest
from pydantic import BaseModel
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from mud_assistant.llm.messages import ToolCall
from mud_assistant.resilience.background import Full
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import Away, Status, ToolFailed, ToolRetry, Unconfirmed
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.execution.step import MAX_RESULT_CHARS
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.result import EffectLog, Executed
from mud_assistant.tools.testing import (
    WaitingTool,
    crashing_tool,
    now,
    numbered,
    simple_tool,
    tool_call,
    tool_context,
)
from mud_assistant.tools.tool import Category, NoArguments, Registry, Tool
from mud_assistant.tools.verbs import SAY
from tests.guards import FlushFailures
from tests.tools.execution.recording_log import RecordingLog
from tests.tools.execution.steps import Step


def answer(tool: Tool, *, log: EffectLog | None = None) -> Executed:
    """The answer to one call of `tool`, which must not wait."""
    (executed,) = Step([tool], [tool_call(tool.name)], log).executed
    return executed


class Told(BaseModel):
    room: str


async def tell(_: NoArguments, __: ToolContext) -> Told:
    return Told(room="Hall\x1b[0m\u202e")


def test_a_model_reaches_the_model_as_compact_clean_json() -> None:
    executed = answer(Tool("tell", "", NoArguments, Category.SAFE_CHAIN, tell))
    assert executed.result.text == r'{"room":"Hall\u001b[0m"}'
    assert (executed.status, executed.result.failed) == (Status.DONE, False)


def test_a_string_is_told_as_it_is_but_for_control_characters() -> None:
    async def lines(_: NoArguments, __: ToolContext) -> str:
        return "one\n\x1b[31mtwo\x00"

    assert answer(simple_tool("lines", lines)).result.text == "one\ntwo"


def test_a_long_result_is_cut_with_a_mark() -> None:
    async def flood(_: NoArguments, __: ToolContext) -> str:
        return "x" * 50_000

    text = answer(simple_tool("flood", flood)).result.text
    assert len(text) == MAX_RESULT_CHARS
    assert text.endswith(" [cut, 50000 characters in all]")


def test_no_calls_have_no_answers() -> None:
    assert Step([SAY], []).executed == ()


def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    (executed,) = Step([SAY], [tool_call("fly\x1b", to="moon")]).executed
    assert (executed.status, executed.category) == (Status.FORMAT_ERROR, None)
    assert executed.result.text == "There is no tool 'fly'. Use one of: say."
    assert executed.result.failed


def test_arguments_that_do_not_fit_are_a_format_error_and_nothing_runs() -> None:
    log = RecordingLog()
    calls = [tool_call("say"), ToolCall("2", "say", {}, "it is cut off")]
    step = Step([SAY], calls, log)
    assert step.statuses == [Status.FORMAT_ERROR, Status.FORMAT_ERROR]
    assert step.executed[1].result.text == "The arguments of say could not be read: it is cut off"
    assert log.lines == []


def test_a_tool_outside_the_grant_is_refused_and_not_run() -> None:
    log = RecordingLog()
    waiting = WaitingTool("look")
    dispatcher = Dispatcher(Registry([waiting.tool, SAY]), PolicyConfig(frozenset({"say"})), Clock())
    executed = now(dispatcher.answer_all([tool_call("look"), tool_call("fly")], tool_context(), log=log))
    assert [one.status for one in executed] == [Status.REFUSED, Status.FORMAT_ERROR]
    assert "look" not in executed[1].result.text
    assert (waiting.started, log.lines) == (0, [])


def test_one_dangerous_call_a_run_over_all_its_steps() -> None:
    move = WaitingTool("move", Category.DANGEROUS)
    step = Step([move.tool], numbered([tool_call("move")] * 2))
    move.answer()
    assert step.statuses == [Status.DONE, Status.REFUSED]
    (again,) = now(step.dispatcher.answer_all([tool_call("move")], tool_context()))
    assert again.status is Status.REFUSED


def test_a_dangerous_call_that_the_world_refused_did_not_happen() -> None:
    move = crashing_tool("move", ToolFailed("There is no exit."), Category.DANGEROUS)
    assert Step([move], numbered([tool_call("move")] * 2)).statuses == [Status.FAILED, Status.FAILED]


def test_a_dangerous_call_that_crashed_may_have_happened(flush_failures: FlushFailures) -> None:
    move = crashing_tool("move", OSError(), Category.DANGEROUS)
    assert Step([move], numbered([tool_call("move")] * 2)).statuses == [Status.CRASHED, Status.REFUSED]
    assert flush_failures(OSError)


@pytest.mark.parametrize("error", [ToolRetry("Say which one."), ToolFailed("Say which one.")])
def test_what_the_tool_itself_refuses_is_failed(error: Exception) -> None:
    executed = answer(crashing_tool("take", error))
    assert (executed.status, executed.result.text, executed.result.failed) == (Status.FAILED, "Say which one.", True)


def test_what_the_world_gave_no_sign_of_may_have_happened() -> None:
    executed = answer(crashing_tool("odd", Unconfirmed("It may have been done: do not do it again.", 0)))
    assert (executed.status, executed.result.text) == (
        Status.UNKNOWN,
        "It may have been done: do not do it again.",
    )


def test_a_crash_is_logged_and_told_without_details(flush_failures: FlushFailures) -> None:
    with capturedLogs() as logged:
        executed = answer(crashing_tool("take", OSError("secret path")))
    assert executed.status is Status.CRASHED
    assert executed.result.text == "take did not work because of an internal problem."
    (event,) = logged
    assert (event["tool"], event["run_id"], event["call_id"]) == ("take", "run-1", "call_take")
    assert [str(failure.value) for failure in flush_failures(OSError)] == ["secret path"]


@pytest.mark.parametrize("error", [Away("the database is away"), Full("too much waits")])
def test_a_tool_whose_disk_or_database_is_away_is_told_the_same_and_is_no_bug_in_the_log(error: Exception) -> None:
    with capturedLogs() as logged:
        executed = answer(crashing_tool("remember", error))
    assert executed.status is Status.CRASHED
    assert executed.result.text.startswith("remember did not work because of an internal problem.")
    assert [(line["log_level"].name, line["why"]) for line in logged] == [("warn", str(error))]


def test_a_tool_that_raises_before_it_waits_crashes_like_any_other(flush_failures: FlushFailures) -> None:
    def broken(_: NoArguments, __: ToolContext) -> Deferred[str]:
        raise OSError

    executed = answer(simple_tool("broken", broken, Category.TERMINAL))
    assert executed.result.text.endswith("problem. It may or may not have happened.")
    assert len(flush_failures(OSError)) == 1


def test_a_tool_cancelled_by_someone_else_has_crashed_and_the_step_goes_on(flush_failures: FlushFailures) -> None:
    step = Step([crashing_tool("lost", CancelledError()), SAY], [tool_call("lost"), tool_call("say", text="hi")])
    assert step.statuses == [Status.CRASHED, Status.DONE]
    assert flush_failures(CancelledError)


def test_a_call_is_cancelled_when_its_time_is_over() -> None:
    slow = WaitingTool("slow", timeout_seconds=3.0)
    step = Step([slow.tool], [tool_call("slow")])
    step.clock.advance(2.9)
    assert not step.results
    step.clock.advance(0.1)
    (executed,) = step.executed
    assert (executed.status, slow.cancelled, executed.seconds) == (Status.TIMED_OUT, 1, 3.0)
    assert executed.result.text == "slow took too long and was stopped."
    assert not step.clock.getDelayedCalls()


@pytest.mark.parametrize(("run_seconds", "expected"), [(2.0, 2.0), (0.1, 1.0), (60.0, 3.0)])
def test_a_call_ends_with_its_run_but_is_given_a_moment(run_seconds: float, expected: float) -> None:
    slow = WaitingTool("slow", timeout_seconds=3.0)
    step = Step([slow.tool], [tool_call("slow")], run_seconds=run_seconds)
    step.clock.advance(expected - 0.05)
    assert not step.results
    step.clock.advance(0.05)
    assert step.statuses == [Status.TIMED_OUT]


def test_an_effect_that_timed_out_may_have_happened_and_counts() -> None:
    move = WaitingTool("move", Category.DANGEROUS)
    step = Step([move.tool], numbered([tool_call("move")] * 2))
    step.clock.advance(10)
    assert step.statuses == [Status.TIMED_OUT, Status.REFUSED]
    assert step.executed[0].result.text.endswith("It may or may not have happened.")


def test_seconds_are_measured_by_the_clock() -> None:
    slow = WaitingTool("slow")
    step = Step([slow.tool], [tool_call("slow")])
    step.clock.advance(1.5)
    slow.answer()
    assert step.executed[0].seconds == 1.5
    assert not step.clock.getDelayedCalls()
