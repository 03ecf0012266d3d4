"""When a character may do something that nobody asked for, and what is kept of the reasons."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec.structs import replace
from twisted.internet.task import Clock

from mud_assistant.assistant.life.impulses import (
    CHANCE,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    ImpulseSigns,
    decide,
    next_pause,
    soonest,
)
from mud_assistant.assistant.life.presence import PRESENT_SECONDS, is_anybody_there, present_players
from mud_assistant.assistant.life.reasons import KEPT, Offered, Reasons
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.tools.trust import Kind, Principal
from tests.chance import Sure

NEVER = float("-inf")
GOOD = ImpulseSigns(now=10_000.0, present=True, spoken_to=NEVER, acted=NEVER, pause=FIRST_PAUSE)
ANN, BEA, GUS = (Principal(f"player:{number}", name) for number, name in enumerate(("Ann", "Bea", "Gus")))


@pytest.mark.parametrize(
    ("signs", "why"),
    [
        (replace(GOOD, present=False), "nobody is present"),
        (replace(GOOD, spoken_to=9_881.0), "somebody spoke to it"),
        (replace(GOOD, acted=9_401.0), "it acted less than 10 minutes ago"),
        (replace(GOOD, acted=8_801.0, pause=1200.0), "it acted less than 20 minutes ago"),
        (replace(GOOD, has_budget=False), "its share of the day's budget is used up"),
        (replace(GOOD, is_free=False), "another character"),
        (replace(GOOD, held="it rests"), "it rests"),
    ],
)
def test_each_thing_that_speaks_against_it_is_named(signs: ImpulseSigns, why: str) -> None:
    verdict = decide(signs, Sure())
    assert (verdict.taken, verdict.why.startswith(why)) == (False, True)


def test_when_nothing_speaks_against_it_the_dice_decide() -> None:
    assert decide(GOOD, Sure()).taken
    assert decide(replace(GOOD, acted=9_400.0, spoken_to=9_880.0), Sure()).taken
    assert decide(GOOD, Sure(CHANCE)).why == "by chance"


def test_the_pause_doubles_up_to_a_day() -> None:
    pauses = [FIRST_PAUSE]
    while len(pauses) < 12:
        pauses.append(next_pause(pauses[-1]))
    assert pauses[:4] == [600.0, 1200.0, 2400.0, 4800.0]
    assert pauses[-1] == LONGEST_PAUSE


def test_it_says_when_an_offer_is_worth_while_again() -> None:
    assert soonest(replace(GOOD, acted=9_900.0)) == 10_500.0
    assert soonest(GOOD) == 10_060.0


def test_who_idles_or_mutes_it_or_wants_no_initiative_is_not_present() -> None:
    clock = Clock()
    world = EmbeddedWorld(seconds=clock.seconds)
    sage = world.add(Principal("assistant:1", "Sage", Kind.ASSISTANT))
    world.add(GUS)
    clock.advance(1.0)
    world.add(ANN)
    world.add(BEA)
    clock.advance(PRESENT_SECONDS)
    assert present_players(sage, set()) == (ANN, BEA)
    assert present_players(sage, {ANN.id}) == (BEA,)
    assert present_players(sage, {ANN.id}, {BEA.id}) == ()


def test_a_character_lives_for_those_in_its_room_and_for_those_who_play_elsewhere() -> None:
    clock = Clock()
    world = EmbeddedWorld(seconds=clock.seconds)
    sage = world.add(Principal("assistant:1", "Sage", Kind.ASSISTANT))
    assert not is_anybody_there(sage, ())
    ann = world.add(ANN, "road")
    assert (present_players(sage, set()), is_anybody_there(sage, ())) == ((), True)
    clock.advance(PRESENT_SECONDS + 1)
    assert not is_anybody_there(sage, ())
    ann.note_typing()
    assert is_anybody_there(sage, ())


def test_the_last_offers_are_kept_with_their_reasons() -> None:
    reasons = Reasons()
    for second in range(3):
        reasons.note(second, "impulse", "nobody is present", taken=False)
    [only] = reasons.latest
    assert (only.times, only.at) == (3, 2)
    for second in range(100):
        reasons.note(second, f"deed {second}", "free life", taken=True)
    assert len(reasons.latest) == KEPT
    assert reasons.latest[0].what == "deed 99"


def test_an_offer_is_carried_out_only_while_its_reason_holds() -> None:
    reasons, undone, holds = Reasons(), list[str](), {"a": True, "b": False}
    for event_id, is_so in holds.items():
        reasons.begin(event_id, Offered(1.0, partial(bool, is_so), partial(undone.append, event_id)))
    assert [reasons.holds(event_id) for event_id in ("a", "b", "from before")] == [True, False, False]
    reasons.end("a", done=True)
    assert reasons.is_open_at()
    reasons.end("b", done=False)
    reasons.end("from before", done=False)
    assert (undone, reasons.is_open_at()) == (["b"], False)
    reasons.begin("c", Offered(10.0, lambda: True, partial(undone.append, "c")))
    reasons.expire(10.0)
    assert reasons.is_open_at()
    reasons.expire(10.1)
    assert (undone, reasons.is_open_at()) == (["b", "c"], False)
