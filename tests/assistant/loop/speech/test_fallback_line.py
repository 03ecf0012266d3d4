"""The short lines that the character says of itself: seldom, and to each who waits."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.events import Paged
from mud_assistant.assistant.loop.speech.fallback_line import FallbackLine, Waking
from mud_assistant.tools import Principal, Scene
from mud_assistant.tools.testing import RecordingWorld
from tests.assistant.living import ANN

BEA = Principal("player:2", "Bea")


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


def test_each_player_who_paged_is_told_once_that_it_wakes_up() -> None:
    clock, settings = Clock(), AssistantConfig()
    world = RecordingWorld(Scene("Room", "Bare."), elsewhere=(ANN.name, BEA.name))
    waking = Waking(world, clock, settings)
    waking.thinks_with("a model", set(), is_loaded=False)
    for number, who in enumerate((ANN, BEA, ANN)):
        waking.asked(Paged(id=str(number), at=0.0, who=who, text="Are you there?"))
    clock.advance(settings.waking_after_seconds)
    assert [(act.verb, act.target) for act in world.acts] == [("page", "Ann"), ("page", "Bea")]
    waking.end()
