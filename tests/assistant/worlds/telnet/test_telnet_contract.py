"""The tests of the world's contract that fit a guest in somebody else's game, by name, and a guest's own."""

from contextlib import suppress
from functools import partial
from random import Random

import pytest
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mud_assistant.assistant.worlds.telnet.guest_rights import GuestRights
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profile, shipped_profiles
from mud_assistant.assistant.worlds.telnet.reading.answer_window import UNCONFIRMED_AFTER
from mud_assistant.assistant.worlds.telnet.telnet_body import TelnetBody
from mud_assistant.assistant.worlds.telnet.typing_lines import AT_ONCE, HELD_BACK, MOST_WAITING
from mud_assistant.tools.errors import ToolFailed, Unconfirmed
from mud_assistant.tools.game import GameCommand
from mud_assistant.tools.testing import Act, now
from mud_assistant.tools.trust import Principal
from tests.assistant.worlds.telnet.played_game import WORDINGS, Heard, PlayedGame, hearing, hearing_by
from tests.contracts.test_world import (
    Subject,
    test_a_clock_has_an_hour_and_goes_forward,
    test_a_player_is_present_who_hears_and_does_not_idle,
    test_everything_in_the_scene_can_be_inspected,
    test_inspecting_what_is_not_there_says_what_is,
    test_look_shows_the_room_without_oneself,
    test_looking_changes_nothing,
    test_moving_leads_to_another_room_that_is_then_seen,
    test_moving_where_no_exit_is_lists_the_exits_and_stays,
    test_paging_who_is_not_in_the_game_is_refused,
    test_whispering_to_who_is_not_there_is_refused,
    test_who_lists_oneself_as_an_ai_and_the_others,
    test_who_somebody_is_can_be_told_wherever_they_are,
)

__all__ = [
    "test_a_clock_has_an_hour_and_goes_forward",
    "test_a_player_is_present_who_hears_and_does_not_idle",
    "test_everything_in_the_scene_can_be_inspected",
    "test_inspecting_what_is_not_there_says_what_is",
    "test_look_shows_the_room_without_oneself",
    "test_looking_changes_nothing",
    "test_moving_leads_to_another_room_that_is_then_seen",
    "test_moving_where_no_exit_is_lists_the_exits_and_stays",
    "test_paging_who_is_not_in_the_game_is_refused",
    "test_whispering_to_who_is_not_there_is_refused",
    "test_who_lists_oneself_as_an_ai_and_the_others",
    "test_who_somebody_is_can_be_told_wherever_they_are",
]


def played(name: str) -> Subject:
    """Return Sage in the hall with Anna, who spoke to him."""
    game = PlayedGame(name)
    now(game.heard.body.look())
    anna_speaks(game)
    return Subject(game.heard.body, lambda: game.witnessed)


def anna_speaks(game: PlayedGame) -> None:
    say = next(form for form in game.heard.profile.speech.say if isinstance(form, str))
    line = say.replace("{who}", "Anna").replace("{verb}", "says").replace("{text}", "Hello, Sage.")
    assert [type(event).__name__ for event in game.heard.lines(line)] == ["Said"]


@pytest.fixture(params=list(WORDINGS))
def subject(request: pytest.FixtureRequest) -> Subject:
    return played(request.param)


@pytest.fixture
def diku() -> PlayedGame:
    game = PlayedGame("diku", '[verbs.others]\nget = "get {thing}"\ngive = "give {thing} {who}"\n')
    now(game.heard.body.look())
    anna_speaks(game)
    return game


def test_what_is_done_is_perceived_once_and_in_order(subject: Subject) -> None:
    now(subject.world.say("Hello {world}"))
    now(subject.world.emote("smiles"))
    assert subject.witnessed() == [Act("say", "Hello {world}"), Act("emote", "smiles")]


def test_who_is_in_the_scene_hears_and_nobody_else_does(subject: Subject) -> None:
    (anna,) = subject.world.present(900.0)
    assert subject.world.hears(anna)
    assert not subject.world.hears(Principal("player:zoe", "Zoe"))
    assert not subject.world.hears(Principal("player:anna", "Anna"))
    now(subject.world.move("north"))
    assert not subject.world.hears(anna)


@pytest.mark.parametrize(("verb", "act"), [("whisper", "whisper"), ("page", "page")])
def test_what_is_for_one_person_reaches_nobody_else_of_the_name(diku: PlayedGame, verb: str, act: str) -> None:
    body = diku.heard.body
    anna = next(one.id for one in now(body.look()).people)
    speak = getattr(body, verb)
    for only in (frozenset[str](), frozenset({"zoe@game"}), frozenset({"channel:gossip"})):
        with pytest.raises(ToolFailed):
            now(speak("anna", "psst", only=only))
    assert diku.witnessed == []
    now(speak("the ANNA", "psst", only=frozenset({anna})))
    assert diku.witnessed == [Act(act, "psst", "Anna")]


def test_nobody_is_spoken_to_in_private_who_did_not_speak_first(diku: PlayedGame) -> None:
    with pytest.raises(ToolFailed, match="Zed has not spoken to you yet"):
        now(diku.heard.body.page("Zed", "psst"))
    assert diku.witnessed == []


def test_a_channel_of_the_profile_is_spoken_on_and_no_other(diku: PlayedGame) -> None:
    now(diku.heard.body.speak_on("Gossip", "Good day."))
    assert diku.witnessed == [Act("channel", "Good day.", "gossip")]
    for channel in ("staff", ""):
        with pytest.raises(ToolFailed, match="Your channels: gossip, shout"):
            now(diku.heard.body.speak_on(channel, "psst"))
    assert len(diku.witnessed) == 1


def test_home_is_refused(subject: Subject) -> None:
    with pytest.raises(ToolFailed, match="You are a guest"):
        now(subject.world.go_home())
    assert not subject.world.is_left_alone()


def test_the_way_is_found_over_the_rooms_that_were_walked(subject: Subject) -> None:
    with pytest.raises(ToolFailed, match="No way to 'Yard' is known from here"):
        now(subject.world.route("Yard"))
    now(subject.world.move("north"))
    now(subject.world.move("south"))
    found = now(subject.world.route("the yard"))
    assert (found.room, found.steps) == ("Yard", ("north",))
    assert now(subject.world.look()).behind == {"north": "Yard"}
    assert now(subject.world.move("Yard")).room == "Yard"


def test_a_line_is_resolved_by_the_table_of_the_profile_and_nothing_is_typed(diku: PlayedGame) -> None:
    body, sent = diku.heard.body, len(diku.heard.sent)
    assert now(body.resolve("GIVE coin to anna")) == GameCommand("give coin to anna", "give")
    assert now(body.resolve("get old map")) == GameCommand("get old map", "get")
    for line in ("frobnicate", "", "quit", "tell anna hi", "say hi", "shutdown", "gi ve", "kill anna", "alias x y"):
        with pytest.raises(ToolFailed, match="There is no command"):
            now(body.resolve(line))
    for line in ("give coin", "get", "time now"):
        with pytest.raises(ToolFailed):
            now(body.resolve(line))
    assert len(diku.heard.sent) == sent


def test_a_resolved_command_is_typed_as_the_profile_says(diku: PlayedGame) -> None:
    body = diku.heard.body
    assert now(body.execute(now(body.resolve("give coin to anna")))) == "It is old, and somebody has written on it."
    assert diku.heard.sent[-1] == "give coin anna"
    with pytest.raises(ToolFailed, match="There is no command"):
        now(body.execute(GameCommand("quit", "quit")))
    assert diku.heard.sent[-1] == "give coin anna"


def failing(heard: Heard, act: str = "say") -> list[BaseException]:
    """Speak, and return how it fails later."""
    found: list[BaseException] = []

    def note(failure: Failure) -> None:
        assert failure.value is not None
        found.append(failure.value)

    Deferred.fromCoroutine(getattr(heard.body, act)("Hello there.")).addErrback(note)
    return found


def test_silence_after_an_act_is_unconfirmed_and_not_done_again() -> None:
    heard = hearing()
    failed = failing(heard)
    heard.clock.advance(UNCONFIRMED_AFTER - 0.1)
    assert failed == []
    heard.clock.advance(0.2)
    assert [type(one) for one in failed] == [Unconfirmed]
    assert heard.sent == ["say Hello there."]


def test_the_game_refuses_in_its_own_words() -> None:
    heard = hearing()
    failed = failing(heard)
    heard.lines("The walls seem to absorb your words.")
    assert [str(one) for one in failed] == ["The walls seem to absorb your words."]
    assert [one.authority for one in failed if isinstance(one, ToolFailed)] == [0]


@pytest.mark.parametrize("echo", ["You say, 'hello THERE'", "You say, 'Hello there.'", "You say, 'Hello'"])
def test_an_echo_is_compared_loosely(echo: str) -> None:
    heard = hearing()
    failed = failing(heard)
    heard.lines("Anna says, 'Hello there.'", echo)
    heard.clock.advance(10)
    assert failed == []


def test_another_echo_confirms_nothing() -> None:
    heard = hearing()
    failed = failing(heard)
    heard.lines("You say, 'Something else.'", "You tell Anna, 'Hello there.'")
    heard.clock.advance(10)
    assert [type(one) for one in failed] == [Unconfirmed]


def test_nothing_is_typed_when_the_character_does_not_play() -> None:
    heard = hearing()
    heard.may_speak = False
    failed = failing(heard)
    assert [type(one) for one in failed] == [ToolFailed]
    assert heard.sent == []


def test_lines_are_never_typed_faster_than_a_person_types_and_the_oldest_is_dropped() -> None:
    heard = hearing()
    heard.answer = lambda line: heard.ears.line(f"You say, '{line.removeprefix('say ')}'")
    failed = [failing(heard) for _ in range(100)]
    assert len(heard.sent) == AT_ONCE
    while heard.clock.getDelayedCalls() and heard.clock.seconds() < 60:
        heard.clock.advance(0.1)
        assert len(heard.sent) <= AT_ONCE + heard.clock.seconds() + 1e-6
    assert len(heard.sent) == AT_ONCE + MOST_WAITING
    dropped = [one for each in failed for one in each]
    assert len(dropped) == 100 - AT_ONCE - MOST_WAITING
    assert {str(one) for one in dropped} == {"Too many lines waited to be typed, so this one was dropped."}


def test_what_is_said_is_one_line_without_what_the_game_takes_for_another_command() -> None:
    heard = hearing_by('based_on = "diku"\n[verbs]\nseparators = ";|"\nlongest = 40\n')
    failing_words = "Hello;quit\nshout now|shutdown " + "and so on " * 20
    done = Deferred.fromCoroutine(heard.body.say(failing_words))
    done.addErrback(lambda _: None)
    (line,) = heard.sent
    assert line.startswith("say Hello,quit shout now,shutdown")
    assert len(line) <= 44
    assert not set(line) & set(";|\n\r")


def test_words_cannot_end_before_their_end() -> None:
    heard = hearing("moo")
    heard.lines('Anna says, "hello"')
    done = Deferred.fromCoroutine(heard.body.whisper("Anna", 'psst" to Zed'))
    done.addErrback(lambda _: None)
    assert heard.sent == ['whisper "psst\' to Zed" to Anna']


def test_a_shipped_profile_types_nothing_but_what_harms_nobody() -> None:
    for name in shipped_profiles():
        assert set(shipped_profile(name).verbs.others) <= {
            "exits",
            "ways",
            "time",
            "weather",
            "map",
            "sit",
            "stand",
            "rest",
        }


def test_what_the_profile_has_no_line_for_has_no_tool_and_an_act_of_the_program_is_told() -> None:
    """Without a line for acts, people are told in words that the character is waking up, and the like."""
    heard = hearing("mudpy")
    assert heard.body.without_use == {"emote", "whisper", "page", "channel", "home", "take", "drop", "give"}
    told = Deferred.fromCoroutine(heard.body.emote("is waking up."))
    assert heard.sent == ["say (Sage is waking up.)"]
    heard.ears.line('You say, "(Sage is waking up.)."')
    assert now(told) is None


def test_a_thousand_orders_type_nothing_but_speech_looks_and_the_table(diku: PlayedGame) -> None:
    """Whatever a model makes of what it was told, only lines of the profile are typed."""
    game = diku
    dice = Random(5)  # noqa: S311 - any numbers will do
    body = game.heard.body
    allowed = ("say ", "emote ", "whisper Anna ", "tell Anna ", "gossip ", "look", "who", "get ")
    evil = ("quit", "shutdown", "\r\nquit", "\nalias l quit", "kill anna", "drop all", "\x00quit", "delete", "@chown")
    ends = ("", "all", "anna", "; quit", "|| quit", "\xff\xf4")
    for number in range(1_000):
        order = f"{dice.choice(evil)} {dice.choice(ends)} {number}"
        deed = dice.choice(
            (
                partial(body.say, order), partial(body.emote, order), partial(body.speak_on, "gossip", order),
                partial(body.page, "Anna", order), partial(body.whisper, "Anna", order), partial(body.inspect, order),
                partial(body.move, order), partial(body.speak_on, order, "hi"), partial(body.page, order, "hi"),
                partial(body.resolve, order), partial(body.execute, GameCommand(order, "get")),
                partial(body.execute, GameCommand(f"get {order}", "get")), partial(body.route, order),
            )
        )  # fmt: skip
        with suppress(ToolFailed):
            now(deed())
        game.heard.clock.advance(3.0)
    assert len(game.heard.sent) > 300
    for line in game.heard.sent:
        assert line.startswith(allowed), line
        assert line.isprintable() or "\xff" in line, line
        assert not set(line) & set("\r\n\x00"), line


def test_a_line_that_the_session_dropped_was_not_typed_and_the_next_one_is() -> None:
    heard = hearing()
    first, second = failing(heard), failing(heard)
    heard.typist.dropped("say something else")
    assert (first, second) == ([], [])
    heard.typist.dropped("say Hello there.")
    assert [str(one) for one in first] == [HELD_BACK]
    heard.lines("You say, 'Hello there.'")
    heard.clock.advance(10.0)
    assert (heard.sent, second) == (["say Hello there."] * 2, [])


def test_what_waits_when_the_connection_is_gone_is_not_typed_and_what_was_typed_is_unconfirmed() -> None:
    heard = hearing()
    typed, waiting = failing(heard), failing(heard)
    heard.typist.stop()
    heard.ears.stop()
    heard.around.leave()
    assert [type(one) for one in typed] == [Unconfirmed]
    assert [str(one) for one in waiting] == [HELD_BACK]
    heard.clock.advance(10.0)
    assert heard.sent == ["say Hello there."]
    assert [type(event).__name__ for event in heard.lines("Anna says, 'hello'")] == ["Said"]


def test_everybody_is_told_once_that_a_machine_speaks() -> None:
    game = PlayedGame("diku")
    heard = game.heard
    body = TelnetBody(
        heard.me, heard.profile, persons=heard.persons, around=heard.around, ears=heard.ears, typist=heard.typist,
        clock=heard.clock, introduction="(A machine plays me.)",
    )  # fmt: skip
    now(body.look())
    anna_speaks(game)
    now(body.say("Hello."))
    now(body.say("Good day."))
    now(body.page("Anna", "psst"))
    assert [act.text for act in game.witnessed] == ["Hello. (A machine plays me.)", "Good day.", "psst"]
    heard.lines("Bob tells you, 'and me?'", colour="red")
    now(body.page("Bob", "And you."))
    assert game.witnessed[-1] == Act("page", "And you. (A machine plays me.)", "Bob")


def test_who_asked_is_told_in_the_words_that_are_meant_for_them(diku: PlayedGame) -> None:
    anna = next(diku.heard.persons.meet(one.name) for one in now(diku.heard.body.look()).people)
    rights = GuestRights(diku.heard.body, "Sage")
    now(rights.tell(anna, 'Sage tells you, "I must ask first."'))
    now(rights.tell(anna, "Sage has forgotten you."))
    assert [act.text for act in diku.witnessed] == ["I must ask first.", "(Sage has forgotten you.)"]
