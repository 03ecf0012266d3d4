"""What becomes of lines, prompts and messages: events, rooms, the map, and what is left out."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mud_assistant.assistant.events.events import Arrived, Emoted, Left, Noticed, Said
from mud_assistant.assistant.worlds.telnet.reading.game_ears import NOTICED_AT_ONCE
from mud_assistant.assistant.worlds.telnet.reading.wire_reading import hear_wire
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Gmcp, HeardLine, Msdp, Pause, Prompt
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.testing import now
from mud_assistant.tools.trust import Kind
from tests.assistant.worlds.telnet.played_game import Heard, PlayedGame, hearing, hearing_by

T = TypeVar("T")


def kinds(heard: Heard) -> list[str]:
    return [type(event).__name__ for event in heard.events]


def test_speech_to_the_character_to_another_and_to_nobody() -> None:
    heard = hearing("moo")
    heard.lines('Anna says, "hello"', "Anna [to Sage]: hello", "Anna [to Bob]: hello")
    first, second, third = heard.events
    assert isinstance(first, Said)
    assert isinstance(second, Said)
    assert isinstance(third, Said)
    assert (first.to_me, first.to_other, first.alone) == (False, False, True)
    assert (second.to_me, second.to_other) == (True, False)
    assert (third.to_me, third.to_other) == (False, True)


def test_who_comes_acts_and_goes() -> None:
    heard = hearing()
    heard.lines("Bertram arrives from the north.", "Bertram smiles at Anna's dog.", "Bertram leaves east.")
    arrived, emoted, left = heard.events
    assert isinstance(arrived, Arrived)
    assert isinstance(emoted, Emoted)
    assert isinstance(left, Left)
    assert (arrived.origin, emoted.text, left.direction) == ("north", "smiles at Anna's dog.", "east")
    assert heard.around.names() == []


def test_what_is_not_seen_in_the_words_is_cleaned_and_the_words_are_heard() -> None:
    heard = hearing()
    (event,) = heard.lines("Anna says, 'hi\u200b there\u202e'")
    assert isinstance(event, Said)
    assert event.text == "hi there"


def test_fighting_and_weather_are_left_out_or_counted() -> None:
    heard = hearing()
    heard.lines("The sky starts to get cloudy.", *["The rat misses Bertram."] * 12)
    heard.clock.advance(15.0)
    assert [getattr(event, "text", "") for event in heard.events] == ["(12 lines of fighting)"]


def test_words_on_a_channel_are_no_fight() -> None:
    heard = hearing("ranvier")
    heard.lines("[chat] Bertil: nobody hits me.", colour="green")
    assert kinds(heard) == ["ChannelSaid"]


def test_a_flood_of_lines_that_nobody_said_is_noticed_in_part() -> None:
    heard = hearing()
    for number in range(500):
        heard.lines(*[f"A strange thing of number {number} happens." for _ in range(10)])
    assert NOTICED_AT_ONCE < len(heard.events) < 900
    assert any("more lines)" in getattr(event, "text", "") for event in heard.events)
    assert all(event.who.kind is Kind.WORLD and isinstance(event, Noticed) for event in heard.events)


def test_an_own_echo_and_a_refusal_are_no_events() -> None:
    heard = hearing()
    heard.lines("You say, 'hello'", "Sage bows.", "Huh?!?", "Alas, you cannot go that way...")
    assert heard.events == []


def test_a_spoken_line_that_the_game_broke_is_joined() -> None:
    heard = hearing("mudpy")
    first = 'Anna says, "This is a rather long sentence, so that the game has to break it in'
    heard.lines(first, 'two before it ends, and it is hers."')
    (event,) = heard.events
    assert isinstance(event, Said)
    assert event.text.endswith("has to break it in two before it ends, and it is hers.")


def test_a_broken_line_without_a_tail_goes_on_where_it_is_indented() -> None:
    heard = hearing("lp")
    first = "Anna says: This is a rather long sentence, so that the game has to break it in"
    heard.lines(first, "    two before it ends.", "The rain falls.")
    assert kinds(heard) == ["Said", "Noticed"]
    assert getattr(heard.events[0], "text", "").endswith("break it in two before it ends.")


def test_words_that_never_end_are_nobodys() -> None:
    heard = hearing("mudpy")
    heard.lines('Anna says, "This is a rather long sentence, so that the game has to break it in')
    assert kinds(heard) == ["Noticed"]


def test_somebody_may_ask_for_their_rights_in_private() -> None:
    heard = hearing()
    asked: list[tuple[str, str]] = []
    heard.ears._asked_for = lambda who, what: asked.append((who.name, what))
    heard.lines("Anna tells you, 'Forget me!'", "Anna tells you, 'mute'", "Anna says, 'mute'")
    assert asked == [("Anna", "forget me"), ("Anna", "mute")]
    assert kinds(heard) == ["Said"]


def test_a_room_that_was_not_asked_for_is_taken_in() -> None:
    heard = hearing()
    for text, colour in PlayedGame("diku").wording.room:
        heard.ears.line(text, colour)
    heard.ears.prompt(">")
    assert heard.events == []
    assert heard.around.room.name == "Hall"
    assert heard.around.names() == ["Anna"]


def test_speech_before_the_answer_to_a_look_does_not_end_it() -> None:
    heard = hearing()
    answers: list[object] = []
    heard.typist.ask("look").addCallback(answers.append)
    heard.ears.line("Anna says, 'hello'")
    heard.ears.prompt(">")
    assert answers == []
    for text, colour in PlayedGame("diku").wording.room:
        heard.ears.line(text, colour)
    heard.ears.prompt(">")
    assert len(answers) == 1
    assert kinds(heard) == ["Noticed"]


@pytest.mark.parametrize("name", ["Hall", ""])
def test_the_number_of_a_room_is_its_identity(name: str) -> None:
    game = PlayedGame("diku")
    scene = now(game.heard.body.look())
    hear_wire(game.heard.ears, Gmcp("Room.Info", {"num": 12, "name": name, "exits": {"n": 13}}))
    game.heard.clock.advance(1.0)
    assert now(game.heard.body.look()).id == "#12" != scene.id
    now(game.heard.body.move("north"))
    hear_wire(game.heard.ears, Msdp("ROOM_VNUM", "13"))
    game.heard.clock.advance(1.0)
    assert now(game.heard.body.look()).id == "#13"
    now(game.heard.body.move("south"))
    game.heard.ears.room_message("12", name)
    game.heard.clock.advance(1.0)
    assert now(game.heard.body.route("Yard")).steps == ("north",)


def test_a_room_of_another_name_that_only_a_message_told_of_is_entered() -> None:
    heard = hearing()
    hear_wire(heard.ears, Gmcp("room.info", {"num": 7, "name": "Cave", "exits": ["n", "up"]}))
    heard.clock.advance(1.0)
    assert (heard.around.room.key, heard.around.room.name, heard.around.room.exits) == ("#7", "Cave", ("north", "up"))


@pytest.mark.parametrize(
    "event",
    [
        Gmcp("Comm.Channel.Text", None), Gmcp("Comm.Channel.Text", "x"), Gmcp("Comm.Channel.Text", {"channel": 1}),
        Gmcp("Comm.Channel.Text", {"channel": "c", "talker": ["x"], "text": "hi"}), Gmcp("Room.Info", [1]),
        Gmcp("Room.Info", {"num": {"x": 1}, "exits": 5}), Gmcp("Char.Vitals", {"hp": 1}), Msdp("ROOM_VNUM", "0"),
        Msdp("ROOM", {"VNUM": ["x"]}), Msdp("ROOM_NAME", ""), Prompt(">"), HeardLine(""),
    ],
)  # fmt: skip
def test_a_message_that_is_not_as_the_protocol_has_it_is_passed_over(event: Gmcp | Msdp | Prompt | HeardLine) -> None:
    heard = hearing()
    hear_wire(heard.ears, event)
    heard.clock.advance(1.0)
    assert heard.events == []


def test_a_profile_without_exits_and_colours_hears_speech_all_the_same() -> None:
    heard = hearing_by('[speech]\nsay = ["{who}> {text}"]\n')
    heard.lines("Anna> hello", "Anna > hello", " Anna> hello")
    assert kinds(heard) == ["Said", "Noticed", "Noticed"]


#: Rooms of a MOO as it comes: no exits are listed, nothing is coloured, and there is no prompt.
_FIRST: tuple[str, ...] = (
    "The First Room",
    "This is all there is.",
    "You see a chair and a cup here.",
    "Anna and Bob are here.",
)
_NEXT = ("The Next Room", "There is more.", "Bob is here.")


class BareMoo:
    """A MOO in which two rooms are joined, north and south."""

    def __init__(self) -> None:
        self.heard = hearing("moo")
        self.heard.answer = self.type
        self.is_first, self.first = True, _FIRST

    def type(self, line: str) -> None:
        self.heard.clock.advance(1.0)
        if line == ("north" if self.is_first else "south"):
            self.is_first = not self.is_first
        elif line != "look":
            self.heard.ears.line("Whatever it is, it goes nowhere.")
            return
        for text in self.first if self.is_first else _NEXT:
            self.heard.ears.line(text)


def settled(heard: Heard, deed: Coroutine[Any, Any, T]) -> T:
    """Return what a deed gives, when the game is silent after it."""
    found: list[T | Failure] = []
    Deferred.fromCoroutine(deed).addBoth(found.append)
    for _ in range(20):
        heard.clock.advance(0.5)
    (one,) = found
    if isinstance(one, Failure):
        one.raiseException()
    assert not isinstance(one, Failure)
    return one


def test_a_game_without_exits_colours_and_prompts_is_walked_all_the_same() -> None:
    game = BareMoo()
    heard, body = game.heard, game.heard.body
    scene = settled(heard, body.look())
    assert (scene.room, scene.description) == ("The First Room", "This is all there is.")
    assert [person.name for person in scene.people] == ["Anna", "Bob"]
    assert [thing.name for thing in scene.things] == ["a chair", "a cup"]
    assert settled(heard, body.move("n")).room == "The Next Room"
    with pytest.raises(ToolFailed, match="Whatever it is, it goes nowhere"):
        settled(heard, body.move("west"))
    with pytest.raises(ToolFailed, match="Exits: north"):
        settled(heard, body.move("sideways"))
    assert settled(heard, body.move("south")).room == "The First Room"
    assert settled(heard, body.route("next room")).steps == ("north",)


def test_a_name_of_several_words_counts_when_its_bearer_was_seen_here() -> None:
    game = BareMoo()
    heard, body = game.heard, game.heard.body
    settled(heard, body.look())
    heard.lines("Fluffy Bunny has arrived.", 'Fluffy Bunny says, "hello"')
    assert kinds(heard) == ["Noticed", "Noticed"]
    game.first = (*_FIRST[:-1], "Anna, Bob, and Fluffy Bunny are here.")
    assert [person.name for person in settled(heard, body.look()).people] == ["Anna", "Bob", "Fluffy Bunny"]
    (event,) = heard.lines('Fluffy Bunny says, "hello"')
    assert (type(event), event.who.name) == (Said, "Fluffy Bunny")
    for forged in ("Anna Fluffy Bunny has arrived.", 'Anna and Bob says, "x"', 'Bob Fluffy Bunny pages, "x"'):
        assert [type(one) for one in heard.lines(forged)] == [Noticed], forged
    settled(heard, body.move("north"))
    assert [type(one) for one in heard.lines('Fluffy Bunny says, "x"')] == [Noticed]
    (paged,) = heard.lines('Fluffy Bunny pages, "psst"')
    assert paged.who == event.who


def test_who_speaks_right_after_a_room_was_shown_is_heard() -> None:
    heard = hearing("evennia")
    room = (("Limbo", "cyan"), ("A void.", ""), ("Exits: south", "bright white"), ("Characters: Anna", "bright white"))
    for text, colour in room:
        heard.ears.line(text, colour)
    hear_wire(heard.ears, Pause())
    assert heard.around.room.name == "Limbo"
    heard.ears.line('Anna says, "Hello, Sage!"')
    assert [type(event).__name__ for event in heard.events] == ["Said"]


def test_a_thing_that_is_described_in_a_sentence_has_a_short_name() -> None:
    heard = hearing("ranvier")
    room = (("White Room", "yellow"), ("A room.", ""), ("[Item] A wooden chest rests in the corner, badly rusted.", ""))
    for text, colour in (*room, ("[Item] A moldy slice of cheese", ""), ("[Exits: east]", "")):
        heard.ears.line(text, colour)
    heard.ears.prompt("[ 1/1 hp ]")
    assert heard.around.room.things == ["wooden chest", "moldy slice of cheese"]


def test_an_echo_that_the_game_broke_into_two_lines_is_one() -> None:
    heard = hearing("mudpy")
    done = Deferred.fromCoroutine(heard.body.say("I could never keep to one. Ask me again, and it is another."))
    heard.ears.line('You say, "I could never keep to one. Ask me again, and it')
    assert not done.called
    heard.ears.line('is another."')
    assert (done.called, heard.lines()) == (True, [])
    done = Deferred.fromCoroutine(heard.body.say("I could never keep to one."))
    heard.ears.line('You say, "Something else that somebody made the game print here, and more')
    assert not done.called
    done.addErrback(lambda _: None)
