from dataclasses import replace

import pytest
from twisted.internet.task import Clock

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import Requirement
from mud_assistant.tools.errors import Status, ToolFailed
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.game import GameCommand, Scene
from mud_assistant.tools.policy.approvals import Approvals
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import ANNA, Act, RecordingWorld, now, tool_call, tool_context
from mud_assistant.tools.tool import Registry
from mud_assistant.tools.trust import Principal
from mud_assistant.tools.verbs import GAME_COMMAND_TOOLS, MOVE
from mud_assistant.tools.verbs.execute_command import ExecuteCommandArguments, execute_command, requirement

BEA = Principal("player:bea", "Bea", permission=3)
GIVE = GameCommand("", "give")
RAZE = GameCommand("", "destroy", ("all",), 3)


@pytest.fixture
def world() -> RecordingWorld:
    return RecordingWorld(
        Scene("Hall", ""), commands={"give": GIVE, "g": GIVE, "raze": RAZE, "py": GameCommand("", "py")}
    )


def use(world: RecordingWorld, line: str, approvals: Approvals | None = None) -> Executed:
    rules = PolicyConfig(frozenset({"execute_command"}), approvals=approvals)
    dispatcher = Dispatcher(Registry(GAME_COMMAND_TOOLS), rules, Clock())
    call = ToolCall("1", "execute_command", {"command": line})
    (executed,) = now(dispatcher.answer_all([call], tool_context(world)))
    return executed


def test_a_command_runs_and_the_model_reads_what_the_game_printed(world: RecordingWorld) -> None:
    executed = use(world, " g map\u200b to  Ben ")
    assert (executed.status, executed.result.text, executed.authority) == (Status.DONE, "give: done.", 1)
    assert world.acts == [Act("execute", "give map to Ben", "give")]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x1e"])
def test_a_second_line_is_refused(world: RecordingWorld, end: str) -> None:
    executed = use(world, f"give map to Ben{end}give lamp to Ben")
    assert executed.status is Status.FAILED
    assert "one command at a time" in executed.result.text
    assert world.acts == []


@pytest.mark.parametrize("line", ["\u200b", "\x1b[0m", " \n "])
def test_no_command_is_no_command(world: RecordingWorld, line: str) -> None:
    assert "no command in 'command'" in use(world, line).result.text


def test_a_line_is_never_cut_into_another(world: RecordingWorld) -> None:
    line = "give " + "\u0958" * 495  # three bytes that NFC writes as two characters each
    assert use(world, line).status is Status.DONE
    assert len(world.acts[0].text) == 5 + 2 * 495


def test_what_the_game_does_not_know_is_told(world: RecordingWorld) -> None:
    executed = use(world, "fly")
    assert (executed.status, executed.authority) == (Status.FAILED, 1)
    assert executed.result.text == "There is no command 'fly'. Commands: give, g, raze, py."


def test_the_deny_list_is_asked_for_the_command_and_not_for_the_line(world: RecordingWorld) -> None:
    world.commands["friendly"] = GameCommand("", "py")
    approvals = Approvals(lambda: 0.0)
    for line in ("py 1", "friendly 1"):
        executed = use(world, line, approvals)
        assert (executed.status, world.acts) == (Status.REFUSED, [])
    assert approvals.pending() == ()


def test_the_approver_is_shown_the_line_as_it_will_run(world: RecordingWorld) -> None:
    approvals = Approvals(lambda: 0.0)
    assert "have asked leave for it" in use(world, "raze lamp", approvals).result.text
    (pending,) = approvals.pending()
    assert (pending.shown, pending.permission) == ("destroy lamp", 3)


def test_a_nick_set_after_the_approval_voids_it(world: RecordingWorld) -> None:
    approvals = Approvals(lambda: 0.0)
    use(world, "raze lamp", approvals)
    approvals.approve(1, BEA)
    for other in (GameCommand("", "destroy", (), 3), GameCommand("destroy the", "destroy", ("all",), 3)):
        world.commands["raze"] = other
        assert use(world, "raze lamp", approvals).status is Status.REFUSED
    world.commands["raze"] = RAZE
    assert use(world, "raze lamp", approvals).status is Status.DONE
    assert world.acts == [Act("execute", "destroy lamp", "destroy")]


@pytest.mark.parametrize(
    "now_it_is",
    [
        GameCommand("", "ban"),
        GameCommand("", "give", ("all",)),
        GameCommand("give the", "give"),
        GameCommand("", "give", (), 4),
    ],
)
def test_a_line_that_became_another_command_after_it_was_allowed_does_not_run(
    world: RecordingWorld, now_it_is: GameCommand
) -> None:
    arguments = ExecuteCommandArguments(command="g map")
    context = tool_context(world)
    allowed = now(requirement(arguments, context))
    assert allowed == Requirement(1, ("give",), "give map")
    world.commands["g"] = now_it_is
    with pytest.raises(ToolFailed, match="It was not done"):
        now(execute_command(arguments, replace(context, allowed=allowed)))
    assert world.acts == []


def test_nothing_runs_that_nobody_allowed(world: RecordingWorld) -> None:
    with pytest.raises(ToolFailed, match="It was not done"):
        now(execute_command(ExecuteCommandArguments(command="g map"), tool_context(world)))


def test_an_interrupted_walk_ends_with_a_look_round() -> None:
    hall = RecordingWorld(Scene("Hall", "A hall.", ("north",)))
    assert MOVE.reconcile is not None
    told = now(MOVE.reconcile(MOVE.arguments.model_validate({"direction": "north"}), tool_context(hall)))
    assert isinstance(told, str)
    assert told.startswith("You were interrupted while walking. Now you see:\n")
    assert '"room":"Hall"' in told
    assert hall.acts == []


def test_a_game_command_is_one_change_a_run(world: RecordingWorld) -> None:
    dispatcher = Dispatcher(Registry(GAME_COMMAND_TOOLS), PolicyConfig(frozenset({"execute_command"})), Clock())
    calls = [tool_call("execute_command", command=f"give {thing} to Ben") for thing in ("map", "lamp")]
    executed = now(dispatcher.answer_all(calls, tool_context(world, requester=ANNA)))
    assert [one.status for one in executed] == [Status.DONE, Status.REFUSED]
