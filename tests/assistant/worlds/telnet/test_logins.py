from __future__ import annotations

from random import Random

import pytest

from mud_assistant.assistant.worlds.telnet.profiles.session_tables import read_session
from mud_assistant.assistant.worlds.telnet.session.game_session import STEP_SECONDS
from mud_assistant.assistant.worlds.telnet.session.login import Credentials, Typed
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause
from tests.assistant.worlds.telnet.games import DIKU, EVENNIA, GAMES, MUDPY, RANVIER, WHO
from tests.assistant.worlds.telnet.recorded import load
from tests.assistant.worlds.telnet.scripted import PASSWORD, Stage, script_of, shipped


def wanted(game: str) -> list[str]:
    return [step for step in GAMES[game] if isinstance(step, str)]


@pytest.mark.parametrize("game", GAMES)
def test_a_hundred_logins_with_delays_and_cuts_all_play(game: str) -> None:
    for seed in range(100):
        stage = Stage(shipped(game, WHO.name), WHO)
        typed = stage.follow(GAMES[game], Random(seed))  # noqa: S311  (delays are no secret)
        stage.wait(2)
        assert (typed, stage.state, stage.causes) == (wanted(game), State.PLAYING, []), seed
        told = repr((stage.states, stage.events, stage.recorded, stage.dropped))
        assert PASSWORD not in told


@pytest.mark.parametrize("game", GAMES)
def test_where_the_character_is_is_told_once_it_plays(game: str) -> None:
    stage = Stage(shipped(game, WHO.name), WHO)
    stage.follow(GAMES[game])
    stage.wait()
    assert {"diku": "You are standing.", "ranvier": "White Room", "mudpy": "Center", "moo": "The First Room",
            "evennia": "Limbo"}[game] in stage.texts  # fmt: skip


@pytest.mark.parametrize("game", GAMES)
def test_a_login_that_is_cut_anywhere_ends_quietly(game: str) -> None:
    script = GAMES[game]
    for length in range(len(script)):
        stage = Stage(shipped(game, WHO.name), WHO)
        stage.follow(script[:length])
        stage.end()
        stage.wait(60)
        assert stage.causes == [Cause.LEFT]
        assert [call for call in stage.clock.getDelayedCalls() if call.active()] == []


def test_the_recorded_logins_are_typed_as_recorded() -> None:
    stage = Stage(shipped("evennia", "boss"), Credentials("boss", "Secret99xx"))
    typed = stage.follow(script_of(load("evennia_full_mccp_gmcp"))[:30])
    assert typed[0] == "connect boss Secret99xx"
    assert stage.state is State.PLAYING


def test_mudpys_recorded_account_that_is_taken_over_plays() -> None:
    stage = Stage(shipped("mudpy", "Nahi"), Credentials("Nahi", "secret99X!", "brond"))
    typed = stage.follow(script_of(load("mudpy_play_full"))[:15])
    assert typed[:4] == ["brond", "secret99X!", "a", "1"]
    assert stage.state is State.PLAYING
    assert "secret99X!" not in repr((stage.recorded, stage.events, stage.states))


def test_a_recorded_implementor_is_not_played_unless_it_may_be() -> None:
    script = [*script_of(load("tba_login_none"))[:11], b"You say, 'line 0'\r\n\r\n500H 100M 82V (news) > "]
    who = Credentials("Implor", "secret12")
    stage = Stage(shipped("diku", "Implor"), who)
    assert stage.follow(script) == ["Implor", "secret12"]
    assert stage.causes == [Cause.IMMORTAL]
    stage = Stage(shipped("diku", "Implor"), who, may_play_immortal=True)
    assert stage.follow(script) == ["Implor", "secret12", "", "1", "score"]
    stage.wait()
    assert stage.state is State.PLAYING


def test_an_implementor_is_known_by_the_score() -> None:
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.follow(DIKU[:-1])
    stage.send(b"This ranks you as Maren the Implementor (level 34).\r\n\r\n19H 100M 84V > ")
    assert stage.causes == [Cause.IMMORTAL]


def test_a_wrong_password_is_tried_once() -> None:
    stage = Stage(shipped("diku", "Implor"), Credentials("Implor", "wrongone"))
    typed = stage.follow(script_of(load("tba_wrong_password2")))
    stage.wait(60)
    assert (typed, stage.causes) == (["Implor", "wrongone"], [Cause.LOGIN_DENIED])


@pytest.mark.parametrize(
    ("game", "length", "answer", "cause"),
    [
        ("diku", 4, b"Did I get that right, Maren (Y/N)? ", Cause.NEW_CHARACTER),
        ("diku", 2, b"Sorry, this site is banned.\r\n", Cause.REFUSED),
        ("ranvier", 2, b"Do you want your account's username to be Keeper? [y/n] ", Cause.NEW_CHARACTER),
        ("moo", 3, b"Either that player does not exist, or has a different password.\r\n", Cause.LOGIN_DENIED),
        ("evennia", 4, b"Username and/or password is incorrect.\r\n", Cause.LOGIN_DENIED),
        ("evennia", 4, b"You have been banned and cannot continue from here.\r\n", Cause.REFUSED),
        ("diku", 0, b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n", Cause.NOT_A_GAME),
        ("diku", 0, b"<!DOCTYPE html>\r\n", Cause.NOT_A_GAME),
    ],
)
def test_who_is_not_let_in_stays_away(game: str, length: int, answer: bytes, cause: Cause) -> None:
    stage = Stage(shipped(game, WHO.name), WHO)
    before = stage.follow(GAMES[game][:length])
    stage.send(answer)
    stage.wait(60)
    assert (stage.causes, stage.typed()) == ([cause], [])
    assert cause.ends
    assert before == [step for step in GAMES[game][:length] if isinstance(step, str)]


@pytest.mark.parametrize("script", [DIKU, RANVIER, MUDPY])
def test_a_password_is_not_typed_where_it_would_be_shown(script: list[bytes | str]) -> None:
    game = next(name for name, each in GAMES.items() if each is script)
    stage = Stage(shipped(game, WHO.name), WHO)
    shown = [step.replace(b"\xff\xfb\x01", b"") if isinstance(step, bytes) else step for step in script]
    typed = stage.follow(shown[:7])
    stage.wait(STEP_SECONDS + 1)
    assert PASSWORD not in typed
    assert stage.causes == [Cause.LOGIN_UNHIDDEN]


def test_a_password_waits_until_the_game_hides_it() -> None:
    stage = Stage(shipped("mudpy", WHO.name), WHO)
    stage.follow(MUDPY[:4])
    stage.wait(5)
    assert stage.typed() == []
    stage.send(b"\xff\xfb\x01")
    assert stage.typed() == [PASSWORD]


def test_a_game_that_does_not_go_on_is_left() -> None:
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.follow(DIKU[:4])
    stage.send(b"What is this? ")
    stage.wait(STEP_SECONDS + 1)
    assert stage.causes == [Cause.LOGIN]
    assert not Cause.LOGIN.ends


def test_a_game_that_says_nothing_is_woken_once() -> None:
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.wait(STEP_SECONDS + 1)
    assert stage.typed() == [""]
    stage.follow(DIKU)
    stage.wait()
    assert stage.state is State.PLAYING
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.wait(2 * STEP_SECONDS + 1)
    assert (stage.typed(), stage.causes) == ([""], [Cause.LOGIN])


def test_a_game_that_shows_the_password_is_not_repeated() -> None:
    stage = Stage(shipped("evennia", WHO.name), WHO)
    stage.follow(EVENNIA[:4])
    stage.send(f"You typed connect keeper {PASSWORD}\r\nYou become Maren.\r\n".encode())
    stage.wait()
    stage.send(f"Bob says: {PASSWORD}\r\n".encode())
    assert stage.texts == ["You typed connect keeper ...", "You become Maren.", "Bob says: ..."]


def test_the_banner_of_a_game_is_no_refusal() -> None:
    stage = Stage(shipped("lp", WHO.name), WHO)
    stage.send(
        b"New character. See the rules. Cheaters are banned.\r\nWrong password means no entry.\r\nWhat is your name: "
    )
    stage.wait()
    assert (stage.typed(), stage.causes) == ([WHO.name], [])


def test_nobody_sees_a_password() -> None:
    assert PASSWORD not in repr((WHO, Typed(PASSWORD, is_secret=True)))


def test_a_login_without_steps_needs_nothing_but_the_prompt() -> None:
    stage = Stage(read_session({"prompt": {"forms": ["ready>"]}}), Credentials("Maren", ""))
    stage.send(b"Hello.\r\nready> ")
    stage.wait()
    assert stage.state is State.PLAYING
