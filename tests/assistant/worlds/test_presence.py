"""Who is there and awake in the embedded game, who somebody is now, and worlds that can tell neither."""

from __future__ import annotations

from msgspec.structs import replace
from twisted.internet.task import Clock

from mud_assistant.assistant.service.halting import HaltableWorld
from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.tools.game import GameTime, World, game_time, present, principal_now
from mud_assistant.tools.testing import ANNA, SAGE, now
from mud_assistant.tools.trust import Kind, Principal

IRIS = Principal("assistant:iris", "Iris", Kind.ASSISTANT)


def game(clock: Clock) -> EmbeddedWorld:
    return EmbeddedWorld(seconds=clock.seconds, time=lambda: GameTime(clock.seconds(), 1.0))


def test_who_types_nothing_is_there_for_so_long_only() -> None:
    clock = Clock()
    world = game(clock)
    sage, anna = world.add(SAGE), world.add(ANNA)
    world.add(IRIS)
    clock.advance(900.0)
    assert sage.present(900.0) == (ANNA,)  # she came in that time; who is an assistant, or lives there, is no player
    clock.advance(1.0)
    assert (sage.present(900.0), sage.hears(ANNA)) == ((), True)
    for typed in (
        anna.look(),
        anna.who(),
        anna.say("Good day."),
        anna.resolve("get map"),
        anna.inspect("me"),
        anna.emote("nods."),
        anna.whisper("Sage", "Psst."),
        anna.page("Iris", "Hello?"),
        anna.speak_on("public", "Hello."),
    ):
        now(typed)
        assert sage.present(0.0) == (ANNA,)
        clock.advance(1000.0)
    assert not sage.somebody_plays(0.0)
    now(anna.move("south"))
    assert (sage.present(900.0), sage.somebody_plays(0.0)) == ((), True)


def test_without_a_clock_nobody_idles() -> None:
    world = EmbeddedWorld()
    sage = world.add(SAGE)
    world.add(ANNA)
    assert sage.present(0.0) == (ANNA,)
    assert sage.time() is None


def test_who_somebody_is_has_the_permission_of_now_and_outlasts_their_visit() -> None:
    world = EmbeddedWorld()
    sage, anna = world.add(SAGE), world.add(ANNA)
    anna.principal = replace(ANNA, permission=0)
    assert sage.who_is(ANNA.id) == replace(ANNA, permission=0)
    world.remove(anna)
    assert sage.who_is(ANNA.id) == replace(ANNA, permission=0)
    del world.departed[ANNA.id]
    assert sage.who_is(ANNA.id) is None
    assert sage.who_is("resident:mira") == next(one.principal for one in HAMLET.residents)


class OlderWorld:
    """A world that was written before there was a clock."""


def test_a_world_that_can_tell_none_of_it_goes_on() -> None:
    older: World = OlderWorld()  # type: ignore[assignment]  # that it lacks methods is what is tested
    for world in (older, HaltableWorld(older)):
        assert game_time(world) is None
        assert present(world, 900.0) == ()
    assert principal_now(older, ANNA.id, ANNA) == ANNA
    assert principal_now(older, ANNA.id) is None


def test_an_operator_is_who_they_were_and_anybody_else_is_asked_for() -> None:
    world, owner = EmbeddedWorld(), Principal("operator", "operator", Kind.OPERATOR, 5)
    sage = HaltableWorld(world.add(SAGE))
    assert principal_now(sage, owner.id, owner) == owner
    assert principal_now(sage, ANNA.id, ANNA) is None
    world.add(ANNA)
    assert principal_now(sage, ANNA.id, replace(ANNA, permission=5)) == ANNA
