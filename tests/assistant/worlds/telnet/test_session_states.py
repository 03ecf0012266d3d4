from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.assistant.worlds.telnet.profiles.session_tables import read_session
from mud_assistant.assistant.worlds.telnet.session.game_session import MOST_HELD, NO_PROMPT, STALE_AFTER
from mud_assistant.assistant.worlds.telnet.session.session_state import State, shape_of
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, Gmcp, Pause, Prompt
from tests.assistant.worlds.telnet.games import GAMES, POINTS, WHO
from tests.assistant.worlds.telnet.recorded import load
from tests.assistant.worlds.telnet.scripted import PASSWORD, Stage, script_of, shipped

MENU = next(step for step in GAMES["diku"] if isinstance(step, bytes) and b"Make your choice" in step)
PAGER = b"Old credits.\r\n[ Return to continue, (q)uit, (r)efresh, (b)ack, or page number (1/2) ]"


def is_in(stage: Stage, state: State) -> bool:
    """Whether the session is in this state now."""
    return stage.state is state


def playing(game: str = "diku") -> Stage:
    stage = Stage(shipped(game, WHO.name), WHO)
    stage.follow(GAMES[game])
    stage.wait()
    assert stage.state is State.PLAYING
    stage.typed()
    return stage


@pytest.mark.parametrize(
    ("game", "shown", "state"),
    [
        ("diku", MENU, State.MENU),
        ("diku", b"0) Exit from tbaMUD.\r\n", State.MENU),
        ("diku", PAGER, State.PAGER),
        ("diku", b"Do you want to buy it (Y/N)? ", State.QUESTION),
        ("diku", b"Enter text (/s saves /h for help)\r\n] ", State.EDITOR),
        ("diku", b"You go to sleep.\r\n\r\n" + POINTS, State.ASLEEP),
        ("diku", b"Choose your weapon: ", State.UNKNOWN),
        ("ranvier", b"|      Choose your fate\r\n", State.MENU),
        ("ranvier", b"Are you sure? [y/n] ", State.QUESTION),
        ("mudpy", b"\r\nWhat would you like to do? \xff\xef", State.MENU),
        ("moo", b"Email new password? [Enter `yes' or `no']\r\n", State.QUESTION),
        ("moo", b"[Type lines of input; use `.' to end or `@abort' to abort the command.]\r\n", State.EDITOR),
        ("moo", b"*** More ***  12 lines left", State.PAGER),
        ("evennia", b"Are you sure? [Y]/N?", State.QUESTION),
    ],
)
def test_nothing_is_typed_into_what_is_not_the_game(game: str, shown: bytes, state: State) -> None:
    for size in (1, 2, 3, 7, len(shown)):
        stage = playing(game)
        for at in range(0, len(shown), size):
            stage.wire.session.type_line("say half of an answer")
            stage.send(shown[at : at + size])
        stage.wait(0.6)
        assert stage.state is state
        stage.wire.session.type_line("say the other half")
        stage.wait(0.3)
        # What was typed was typed before anything of it had come.
        assert [line for line in stage.typed() if line != "say half of an answer"] == []
        assert "say the other half" in stage.dropped


def test_a_line_waits_while_the_game_speaks_and_is_dropped_when_a_menu_comes() -> None:
    stage = playing()
    stage.send(b"0) Ex")
    stage.wire.session.type_line("say hello")
    stage.wait(0.3)
    assert (stage.typed(), stage.dropped) == ([], [])
    stage.send(b"it from tbaMUD.\r\n")
    assert (stage.state, stage.typed(), stage.dropped) == (State.MENU, [], ["say hello"])


@given(st.integers(0, 10_000))
def test_whatever_comes_in_the_middle_of_an_answer_gets_none_of_it(seed: int) -> None:
    dice = Random(seed)  # noqa: S311  (which of them come is no secret)
    stage = playing()
    for shown in dice.sample([MENU, PAGER, b"Sure (Y/N)? ", b"Enter text (/s saves /h for help)\r\n] ", b"Huh: "], 3):
        for cut in range(0, len(shown), 5):
            stage.send(shown[cut : cut + 5])
            stage.wire.session.type_line("say x")
            stage.wait(dice.choice([0.0, 0.1]))
        stage.wait(0.6)
        stage.wire.session.type_line("say x")
        stage.typed()
        stage.wait(3)
        assert "say x" not in stage.typed()
        stage.send(b"\r\n" + POINTS)
        assert stage.state is State.PLAYING


def test_a_pager_is_left_when_it_is_the_last_thing_seen() -> None:
    stage = playing()
    stage.send(PAGER)
    stage.wait(3)
    assert stage.typed() == ["q"]
    stage.send(POINTS)
    assert stage.state is State.PLAYING
    stage.send(PAGER)
    stage.wait(0.2)
    stage.send(b"\r\n" + POINTS)
    stage.wait(3)
    assert stage.typed() == []


def test_the_recorded_pagers_are_left_and_never_twice() -> None:
    stage = Stage(shipped("diku", "Implor"), WHO)
    script = [step for step in script_of(load("tba_second_player_refuse")) if isinstance(step, bytes)]
    stage.follow(GAMES["diku"])
    stage.wait()
    stage.typed()
    left = 0
    first = next(at for at, step in enumerate(script) if b"May your visit" in step)
    for step in script[first:-2]:
        stage.send(step)
        stage.wait(2)
        left += (lines := stage.typed()).count("q")
        assert set(lines) <= {"q"}
        assert bool(lines) is (stage.state is State.PAGER)
    assert left == 4
    assert {state for state, _ in stage.states} <= {State.LOGIN, State.PLAYING, State.PAGER}


def test_a_question_of_a_moo_is_aborted_and_speech_goes_on() -> None:
    stage = playing("moo")
    stage.send(b"Email new password? [Enter `yes' or `no']\r\n")
    stage.wait(3)
    assert stage.typed() == ["@abort"]
    assert is_in(stage, State.QUESTION)
    stage.send(b">> Command Aborted <<\r\n")
    assert is_in(stage, State.PLAYING)


def test_half_a_line_that_comes_late_is_no_prompt() -> None:
    stage = playing()
    stage.send(b"\r\nBob says, 'Hel")
    stage.wait()
    assert is_in(stage, State.UNKNOWN)
    stage.send(b"lo.'\r\n\r\n" + POINTS)
    assert is_in(stage, State.PLAYING)
    assert "Bob says, 'Hello.'" in stage.texts


def test_words_of_others_are_no_state_of_the_game() -> None:
    stage = playing()
    for words in (b"Is it ok (Y/N)?", b"This body has been usurped!", b"0) Exit from tbaMUD.", b"Enter text (/s saves"):
        stage.send(b"\r\nBob says, '" + words + b"'\r\nBob " + words + b"\r\n\r\n" + POINTS)
        stage.wait()
        assert (stage.state, stage.causes) == (State.PLAYING, [])


@pytest.mark.parametrize(
    ("game", "shown", "cause"),
    [
        ("diku", b"\r\nThis body has been usurped!\r\n", Cause.USURPED),
        ("ranvier", b"Replaced by a new session.\r\n", Cause.USURPED),
        (
            "mudpy",
            b"\r\n\x1b[31mNew connection from 127.0.0.1. Terminating old connection...\x1b[0m\r\n",
            Cause.USURPED,
        ),
        ("moo", b"*** Redirecting connection to new port ***\r\n", Cause.USURPED),
        ("evennia", b"Logged in from elsewhere. Disconnecting.\r\n", Cause.USURPED),
        ("diku", b"You have been frozen by an immortal.\r\n", Cause.REMOVED),
        ("diku", b"Rebooting.. come back in a minute.\r\n", Cause.RESTART),
        ("moo", b"*** Booted ***\r\n", Cause.REMOVED),
        ("diku", b"This ranks you as Maren the Implementor (level 34).\r\n", Cause.IMMORTAL),
        ("diku", b"\xff\xfa\xc9" + b"x" * 70_000, Cause.SUBNEGOTIATION),
    ],
)
def test_what_ends_a_session_closes_it_for_its_cause(game: str, shown: bytes, cause: Cause) -> None:
    stage = playing(game)
    stage.wire.session.type_line("say hello")
    stage.typed()
    stage.send(shown)
    stage.wire.session.type_line("say more")
    stage.wait(60)
    assert (stage.causes, stage.typed(), stage.dropped) == ([cause], [], ["say more"])


def test_asleep_nothing_is_said_until_it_wakes() -> None:
    stage = playing()
    stage.send(b"You go to sleep.\r\n\r\n" + POINTS)
    stage.send(b"The sun rises.\r\n\r\n" + POINTS)
    assert is_in(stage, State.ASLEEP)
    stage.send(b"You awaken, and sit up.\r\n\r\n" + POINTS)
    assert is_in(stage, State.PLAYING)


def test_nothing_is_said_while_a_secret_is_asked_for() -> None:
    stage = playing()
    stage.send(b"New password: \xff\xfb\x01")
    assert not stage.wire.session.may_speak
    stage.send(b"\xff\xfc\x01\r\n" + POINTS)
    assert stage.wire.session.may_speak


def test_lines_are_typed_one_at_a_time_and_the_oldest_gives_way() -> None:
    stage = playing()
    for number in range(100):
        stage.wire.session.type_line(f"say {number}")
    assert stage.typed() == ["say 0"]
    assert stage.dropped == [f"say {number}" for number in range(1, 100 - MOST_HELD)]
    stage.send(b"You say, '0'\r\n\r\n" + POINTS)
    assert stage.typed() == ["say 96"]
    stage.wait(STALE_AFTER + 1)
    stage.send(b"You say, '96'\r\n\r\n" + POINTS)
    assert (stage.typed(), stage.dropped[-3:]) == ([], ["say 97", "say 98", "say 99"])


def test_a_prompt_that_does_not_come_is_not_waited_for() -> None:
    stage = playing()
    stage.wire.session.type_line("say 1")
    stage.send(b"You say, '1'\r\n")
    stage.wire.session.type_line("say 2")
    stage.wait(NO_PROMPT)
    assert stage.typed() == ["say 1"]
    stage.wait(0.6)
    assert stage.typed() == ["say 2"]
    stage.wire.session.type_line("say 3")
    stage.wait(STALE_AFTER - 1)
    assert stage.typed() == []


def test_a_game_without_prompts_is_spoken_to_when_it_is_silent() -> None:
    stage = playing("moo")
    stage.send(b'Bob says, "Hi."\r\n')
    stage.wire.session.type_line("say Hello.")
    assert stage.typed() == []
    stage.wait(0.5)
    assert stage.typed() == ["say Hello."]


def test_a_prompt_that_no_profile_names_is_learned() -> None:
    profile = read_session({"login": {"steps": [{"expect": "Name:", "send": "{name}"}], "playing": ["Welcome."]}})
    stage = Stage(profile, WHO)
    stage.follow([b"Name: ", WHO.name, b"Welcome.\r\n<12hp 3mv> "])
    stage.wait()
    stage.send(b"\r\nBob arrives.\r\n<7hp 99mv> ")
    stage.wait()
    assert (stage.state, stage.events[-1]) == (State.PLAYING, Prompt("<7hp 99mv>"))
    stage.send(b"\r\nBob leaves.\r\n<7hp 99mv> ")
    stage.wait()
    assert stage.texts == ["Welcome.", "Bob arrives.", "Bob leaves."]
    stage.send(b"\r\nReally? ")
    stage.wait()
    assert stage.state is State.UNKNOWN


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("500H 100M 82V (news) (motd) >", "1H 2M 3V >", True),
        ("[ 101/101 hp 100/100 energy ]", "[ 1/101 hp 300/300 mana ]", True),
        (">", "Your choice:", False),
    ],
)
def test_the_shape_of_a_prompt_stays(one: str, other: str, *, same: bool) -> None:
    assert (shape_of(one) == shape_of(other)) is same


def test_values_of_the_game_are_told_in_any_state() -> None:
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.send(b"\xff\xfb\xc9\xff\xfa\xc9Core.Goodbye\xff\xf0")
    assert stage.events == [Gmcp("Core.Goodbye")]


def test_the_operator_is_told_of_each_state_and_why() -> None:
    stage = playing()
    stage.send(b"Choose your weapon, " + PASSWORD.encode() + b": ")
    stage.wait()
    told = [(State.LOGIN, "connected"), (State.PLAYING, "logged in"), (State.UNKNOWN, "Choose your weapon, ...:")]
    assert stage.states == told


def _many(stage: Stage, count: int, line: Callable[[int], str]) -> None:
    for number in range(count):
        stage.wire.session.type_line(line(number))
        stage.wait(0.1)


def test_after_the_end_every_line_is_dropped() -> None:
    stage = playing()
    stage.end()
    _many(stage, 3, lambda number: f"say {number}")
    assert (stage.typed(), stage.dropped) == ([], ["say 0", "say 1", "say 2"])


def test_the_last_words_of_a_game_that_closes_say_that_it_is_for_good() -> None:
    stage = playing("ranvier")
    stage.send(b"\r\nConnection taken over by another client. Goodbye.")
    stage.end()
    assert stage.causes == [Cause.USURPED]
    stage = playing("ranvier")
    stage.send(b"\r\nBertil says: 'Connection taken over by another client. Goodbye.'")
    stage.end()
    assert stage.causes == [Cause.LEFT]


@pytest.mark.parametrize("game", GAMES)
def test_where_the_room_that_is_shown_at_login_ends_is_told(game: str) -> None:
    stage = Stage(shipped(game, WHO.name), WHO)
    stage.follow(GAMES[game])
    stage.wait()
    assert stage.events[-1] == Pause()
