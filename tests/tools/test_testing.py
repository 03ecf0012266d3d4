import pytest
from twisted.internet.defer import Deferred

from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import Scene
from mud_assistant.tools.testing import Act, RecordingWorld, now


def test_now_gives_the_result_or_the_error() -> None:
    async def give() -> int:
        return 3

    async def fail() -> None:
        raise KeyError

    assert now(give()) == 3
    with pytest.raises(KeyError):
        now(fail())


def test_now_does_not_wait() -> None:
    waiting: Deferred[None] = Deferred()
    with pytest.raises(AssertionError, match="still waits"):
        now(waiting)


def test_a_recording_world_refuses_what_it_is_told_to() -> None:
    world = RecordingWorld(Scene("Hall", ""), refusals={"say": "You are gagged."})
    with pytest.raises(ToolFailed, match="gagged"):
        now(world.say("hi"))
    now(world.emote("nods"))
    assert world.acts == [Act("emote", "nods")]
