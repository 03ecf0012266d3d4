from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.evennia.body.body import NO_ACCOUNT, NOBODY_HEARS, PIECE_SECONDS, EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.border import FAILED
from mud_assistant.assistant.worlds.evennia.body.identity import principal_of
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import World
from mud_assistant.tools.testing import now
from mud_assistant.tools.trust import Principal
from tests.evennia.village import Player, Village
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("db")

LONG = " ".join(f"This is sentence number {number} of a long answer, which goes on and on." for number in range(1, 16))


@pytest.fixture
def anna(village: Village, body: EvenniaBody) -> Player:
    return village.player("Anna")


def test_it_is_a_world(body: EvenniaBody) -> None:
    world: World = body
    assert now(world.look()).room == "Hall"


def test_the_scene_is_what_the_character_may_see(village: Village, body: EvenniaBody, anna: Player) -> None:
    hidden = village.thing("hidden door")
    hidden.locks.add("view:perm(Builder)")
    village.thing("|rred|n stone", "It |yglows|n.")
    village.assistant("Other")
    village.hall.db.desc = "x" * 100_000
    scene = now(body.look())
    assert [thing.name for thing in scene.things] == ["red stone"]
    assert scene.things[0].description == "It glows."
    assert [(person.name, person.is_ai) for person in scene.people] == [("Anna", False), ("Other", True)]
    assert scene.exits == ("north",)
    assert len(scene.description) <= 2000


def test_in_a_room_it_may_not_view_it_sees_no_description(village: Village, body: EvenniaBody) -> None:
    village.hall.locks.add("view:perm(Builder)")
    assert now(body.look()).description == "You cannot see here."


def test_nowhere_is_said(sage: Any, body: EvenniaBody) -> None:
    sage.location = None
    for act in (body.look(), body.inspect("map"), body.move("north"), body.emote("smiles")):
        with pytest.raises(ToolFailed, match="nowhere"):
            now(act)
    with pytest.raises(ToolFailed, match=NOBODY_HEARS):
        now(body.say("Hello"))


@pytest.mark.parametrize(("target", "seen"), [("me", "An old man."), ("here", "A wide hall."), ("north", "north")])
def test_itself_the_room_and_the_exits_can_be_inspected(sage: Any, body: EvenniaBody, target: str, seen: str) -> None:
    sage.db.desc = "An old man."
    assert seen in now(body.inspect(target))


def test_looking_at_a_thing_goes_through_its_hooks(village: Village, body: EvenniaBody) -> None:
    thing = village.thing("mirror", "It shows you.")
    thing.aliases.add("looking glass")
    looks: list[Any] = []
    thing.at_desc = lambda looker=None, **_: looks.append(looker)
    assert "It shows you." in now(body.inspect("looking glass"))
    assert looks == [body.character]


def test_who_lists_the_connected_and_the_living(village: Village, body: EvenniaBody, anna: Player) -> None:
    village.player("Ben", where=village.garden).logs_out()
    hidden = village.player("Spy")
    hidden.character.locks.add("search:perm(Builder)")
    village.assistant("Empty")
    other = village.assistant("Other")
    village.hearing(other)
    assert [(person.name, person.is_ai) for person in now(body.who())] == [
        ("Sage", True),
        ("Anna", False),
        ("Other", True),
    ]
    other.detach()


def test_nobody_there_is_not_spoken_to(village: Village, body: EvenniaBody) -> None:
    village.figure("Statue")
    with pytest.raises(ToolFailed, match=NOBODY_HEARS):
        now(body.say("Hello"))
    village.assistant("Other")
    now(body.say("Hello"))


def test_who_hears_is_who_is_connected_here(village: Village, body: EvenniaBody, anna: Player) -> None:
    who = principal_of(anna.character, body.character)
    assert body.hears(who)
    anna.does("north")
    assert not body.hears(who)
    anna.does("south")
    anna.logs_out()
    assert not body.hears(who)
    assert not body.hears(Principal("character:999999", "Nobody"))
    assert body.hears(principal_of(village.assistant("Other"), body.character))


def test_a_question_about_a_broken_room_has_an_answer(
    village: Village, body: EvenniaBody, anna: Player, flush_failures: FlushFailures
) -> None:
    who = principal_of(anna.character, body.character)
    anna.character.get_display_name = _broken
    assert body.hears(who)
    assert (body.present(900.0), body.who_is(who.id)) == ((), None)
    assert len(flush_failures(ZeroDivisionError)) == 2
    anna.character.sessions.count = _broken
    assert (body.hears(who), body.present(900.0)) == (False, ())
    assert len(flush_failures(ZeroDivisionError)) == 2


def test_what_is_left_to_answer_waits_for_somebody_but_not_for_ever(village: Village, sage: Any, clock: Clock) -> None:
    over: list[str] = []

    def waits(body: EvenniaBody, name: str) -> None:
        Deferred.fromCoroutine(body.wait_for_listener(10.0)).addCallback(lambda _: over.append(name))

    body = EvenniaBody(sage, clock)
    waits(body, "nobody yet")
    clock.pump([1.0] * 5)
    assert over == []
    village.player("Late")
    clock.advance(1.0)
    waits(body, "somebody is there")
    assert over == ["nobody yet", "somebody is there"]
    waits(EvenniaBody(village.assistant("Hermit", village.room("Cave")), clock), "nobody came")
    clock.pump([1.0] * 10)
    assert over[2:] == ["nobody came"]
    assert clock.getDelayedCalls() == []


def test_a_long_answer_comes_in_pieces_with_pauses(body: EvenniaBody, clock: Clock, anna: Player) -> None:
    anna.raw()
    saying = Deferred.fromCoroutine(body.say(LONG))
    pieces = anna.heard()
    assert len(pieces) == 1
    while not saying.called:
        clock.advance(PIECE_SECONDS / 2)
        assert anna.heard() == []
        clock.advance(PIECE_SECONDS / 2)
        pieces += anna.heard()
    assert " ".join(piece.removeprefix('Sage says, "').removesuffix('"') for piece in pieces) == LONG
    assert clock.getDelayedCalls() == []


def test_what_it_says_has_the_colour_the_owner_chose(village: Village, clock: Clock) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    anna.raw()
    now(EvenniaBody(sage, clock, None, 0.0, "cyan").say("Is |rred|n a colour?"))
    (raw,) = anna.raw()
    assert '"|cIs |' in raw
    assert raw.endswith('a colour?|n"')
    assert "|rred" not in raw


@pytest.mark.parametrize(("seconds", "pauses"), [(0.0, 0), (3.0, 1)])
def test_the_owner_sets_the_pause_between_pieces(village: Village, clock: Clock, seconds: float, pauses: int) -> None:
    anna, sage = village.player("Anna"), village.assistant()
    saying = Deferred.fromCoroutine(EvenniaBody(sage, clock, None, seconds).say(LONG))
    anna.heard()
    assert len(clock.getDelayedCalls()) == pauses
    assert saying.called is (pauses == 0)
    clock.advance(2.9)
    assert anna.heard() == []
    clock.pump([3.0] * 10)
    assert saying.called


@pytest.mark.parametrize("whispered", [False, True])
def test_a_cancelled_answer_is_said_to_its_end_at_once(
    body: EvenniaBody, clock: Clock, anna: Player, whispered: bool
) -> None:
    anna.raw()
    failures: list[Any] = []
    speaking = body.whisper("Anna", LONG) if whispered else body.say(LONG)
    saying = Deferred.fromCoroutine(speaking)
    saying.addErrback(failures.append)
    clock.advance(PIECE_SECONDS)
    assert len(anna.heard()) == 2
    saying.cancel()
    assert anna.heard()[-1].rstrip('"').endswith("number 15 of a long answer, which goes on and on.")
    assert failures[0].check(CancelledError)
    assert clock.getDelayedCalls() == []


def test_a_pose_may_be_possessive(body: EvenniaBody, anna: Player) -> None:
    anna.raw()
    now(body.emote("'s eyes\nwiden"))
    assert anna.heard() == ["Sage's eyes widen"]


def test_a_sign_is_seen_where_somebody_is_and_never_fails(
    village: Village, sage: Any, body: EvenniaBody, anna: Player, flush_failures: FlushFailures
) -> None:
    anna.raw()
    body.sign("thinks ...")
    assert anna.heard() == ["Sage thinks ..."]
    anna.does("north")
    village.hall.msg_contents = _broken
    body.sign("thinks ...")
    village.player("Ben")
    body.sign("thinks ...")
    assert len(flush_failures(ZeroDivisionError)) == 1


def test_a_game_that_forbids_speech_is_obeyed(sage: Any, body: EvenniaBody, anna: Player) -> None:
    sage.at_pre_say = lambda message, **kwargs: None
    anna.raw()
    for act in (body.say("Hello"), body.whisper("Anna", "psst")):
        with pytest.raises(ToolFailed, match="does not let you speak"):
            now(act)
    assert anna.raw() == []


def test_a_game_may_change_what_is_said(sage: Any, body: EvenniaBody, anna: Player) -> None:
    sage.at_pre_say = lambda message, **kwargs: message.upper()
    anna.raw()
    now(body.say("Hello"))
    assert anna.heard() == ['Sage says, "HELLO"']


def test_where_people_have_descriptions_speech_refers_to_nobody(village: Village, clock: Clock, anna: Player) -> None:
    speaker = village.figure("Mage", typeclass="evennia.contrib.rpg.rpsystem.ContribRPCharacter")
    speaker.sdesc.add("a grey mage")
    anna.raw()
    now(EvenniaBody(speaker, clock).say('Ask /me or /anna, 10/12 {0} langname"x"'))
    assert anna.heard() == ['a grey mage says, "Ask /me or /anna, 10/12 {0} langname"x""']


def _broken(*_: Any, **__: Any) -> Any:
    return 1 / 0


@pytest.mark.parametrize(
    ("hook", "act"),
    [
        ("at_pre_say", lambda body: body.say("Hello")),
        ("at_say", lambda body: body.whisper("Anna", "psst")),
        ("at_look", lambda body: body.inspect("Anna")),
        ("get_display_name", lambda body: body.who()),
    ],
)
def test_a_game_that_breaks_is_one_sentence(
    sage: Any, body: EvenniaBody, anna: Player, flush_failures: FlushFailures, *, hook: str, act: Callable[[Any], Any]
) -> None:
    setattr(sage, hook, _broken)
    with pytest.raises(ToolFailed, match=FAILED):
        now(act(body))
    assert len(flush_failures(ZeroDivisionError)) == 1


@pytest.mark.parametrize("direction", ["north", "N", "go north", "to the garden", "Garden"])
def test_a_way_has_many_names(body: EvenniaBody, direction: str) -> None:
    assert now(body.move(direction)).room == "Garden"


def test_a_closed_way_says_why(village: Village, sage: Any, body: EvenniaBody) -> None:
    village.way.locks.add("traverse:perm(Builder)")
    village.way.db.err_traverse = "The door is |rlocked|n."
    with pytest.raises(ToolFailed, match=r"The door is locked\."):
        now(body.move("north"))
    village.way.db.err_traverse = None
    with pytest.raises(ToolFailed, match="You cannot go there"):
        now(body.move("north"))
    assert sage.location is village.hall


def test_a_room_that_refuses_is_not_entered(village: Village, sage: Any, body: EvenniaBody) -> None:
    village.garden.at_pre_object_receive = lambda *_, **__: False
    with pytest.raises(ToolFailed, match="cannot go"):
        now(body.move("north"))
    assert sage.location is village.hall


def test_an_unseen_way_is_no_way(village: Village, body: EvenniaBody) -> None:
    village.way.locks.add("view:perm(Builder)")
    with pytest.raises(ToolFailed, match="Exits: nothing"):
        now(body.move("north"))


def test_a_way_that_breaks_is_one_sentence(village: Village, body: EvenniaBody) -> None:
    village.way.at_traverse = _broken
    with pytest.raises(ToolFailed, match=FAILED):
        now(body.move("north"))


def test_without_an_account_it_can_neither_page_nor_use_channels(body: EvenniaBody) -> None:
    for act in (body.page("Anna", "Hello"), body.speak_on("Public", "Hello")):
        with pytest.raises(ToolFailed, match=NO_ACCOUNT):
            now(act)
