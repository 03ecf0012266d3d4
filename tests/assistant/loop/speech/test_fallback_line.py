from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from assistant.loop.speech.fallback_line import FallbackLine
from tools import Scene
from tools.testing import RecordingWorld


def make(fallback_line: FallbackLine) -> bool:
    made: list[bool] = []
    Deferred.fromCoroutine(fallback_line.make()).addCallback(made.append)
    return made[0]


def test_the_line_is_shown_at_most_once_a_minute() -> None:
    clock, world = Clock(), RecordingWorld(Scene("Room", "Bare."))
    fallback_line = FallbackLine(world, clock, "looks away.", 60)
    assert make(fallback_line) is True
    clock.advance(59)
    assert make(fallback_line) is False
    clock.advance(1)
    assert make(fallback_line) is True
    assert [(act.verb, act.text) for act in world.acts] == [("emote", "looks away.")] * 2
