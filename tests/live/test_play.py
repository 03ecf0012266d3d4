"""`mud-assistant play` as its user has it: a character in a game, what it would do, a recording, and a replay of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profiles
from mud_assistant.llm.testing import Call
from tests.assistant.worlds.telnet.tbamud_server import PASSWORD
from tests.live.command import Command, run, start
from tests.live.hosted_game import ENVIRONMENT, HostedGame, Speaker, hosted, soon

HELLO = Call("say", {"text": "Good day, Anna."})
SAID = "say Good day, Anna. (I am an AI character, not a person.)"


async def end(command: Command) -> Any:
    transport: Any = command.transport
    transport.signalProcess("INT")
    return await soon(command.ended)


async def test_what_a_character_hears_and_types_is_shown(tmp_path: Path) -> None:
    async with hosted(tmp_path, Speaker(HELLO)) as game:
        playing = start("play", folder=str(tmp_path), environment=ENVIRONMENT)
        server = await soon(game.entered.get())
        await soon(playing.saw("thinks with"))
        server.says("Anna says, 'Hello, Sage!'")
        await soon(playing.saw(f"> {SAID}"))
        ended = await end(playing)
        assert '  Anna says: "Hello, Sage!"' in ended.out
        assert f"(Sage is in the game at {game.address}" in ended.out
        assert (ended.status, PASSWORD in ended.out + ended.err) == (0, False)


async def test_dry_shows_what_would_be_typed_and_types_nothing(tmp_path: Path) -> None:
    async with hosted(tmp_path, Speaker(HELLO)) as game:
        playing = start("play", "--dry", folder=str(tmp_path), environment=ENVIRONMENT)
        server = await soon(game.entered.get())
        await soon(playing.saw("thinks with"))
        server.says("Anna says, 'Hello, Sage!'")
        await soon(playing.saw(f"would type> {SAID}"))
        await end(playing)
        assert server.typed == ["score"]


async def test_a_session_is_recorded_without_its_secret_and_replayed(tmp_path: Path) -> None:
    game = HostedGame()
    address = game.address
    try:
        recording = start("play", game.address, "--record", "walk.jsonl", folder=str(tmp_path))
        transport: Any = recording.transport
        await soon(recording.saw("known?"))
        for line, seen in (
            ("Sage", "Password:"), (PASSWORD, "PRESS RETURN"), ("", "Make your choice"), ("1", "(motd)"),
            ("north", "The Yard"), ("score", "This ranks you"),
        ):  # fmt: skip
            transport.write(f"{line}\n".encode())
            await soon(recording.saw(seen))
        (there,) = game.there
        there.says("Anna says, 'Hello, Sage!'")
        await soon(recording.saw("Hello, Sage!"))
        there.transport.loseConnection()
        ended = await soon(recording.ended)
    finally:
        await game.close()
    assert ended.status == 0
    text = (tmp_path / "walk.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    assert (rows[0]["meta"]["game"], rows[-1]) == (address, {"end": True})
    assert PASSWORD not in text
    assert any(row.get("bytes") == "(a secret)\r\n" for row in rows)
    replayed = await run(
        ["play", "--replay", "walk.jsonl", "--profile", "diku", "--name", "Sage"], b"", folder=str(tmp_path)
    )
    assert 'Anna says: "Hello, Sage!"' in replayed.out
    assert "Rooms: " in replayed.out


async def test_what_is_missing_is_said(tmp_path: Path) -> None:
    asked = await run(["play", "localhost:4000", "--profile", "diku"], b"", folder=str(tmp_path))
    assert (asked.status, "--password env:NAME" in asked.err) == (2, True)
    where = await run(["play", "--password", "env:NONE"], b"", folder=str(tmp_path))
    assert (where.status, 'telnet = "HOST:PORT"' in where.err) == (2, True)
    profile = await run(["play", "localhost:4000", "--password", "env:NONE"], b"", folder=str(tmp_path))
    assert (profile.status, 'profile = "diku"' in profile.err) == (2, True)
    replay = await run(["play", "--replay", "none.jsonl", "--profile", "diku"], b"", folder=str(tmp_path))
    assert (replay.status, "none.jsonl cannot be read" in replay.err) == (2, True)
    taught = await run(["play", "--help"], b"", folder=str(tmp_path))
    assert "examples:" in taught.out
    assert "--dry" in taught.out
    assert [name for name in shipped_profiles() if name not in taught.out] == []


async def test_setup_asks_for_the_game_and_matches_its_profile(tmp_path: Path) -> None:
    async with hosted(tmp_path, Speaker()) as game:
        url = str((tmp_path / "assistant.toml").read_text().split('url = "')[1].split('"')[0])
        (tmp_path / "assistant.toml").unlink()
        answers = (
            "ollama", url, "no", "sage", "no", "none", "game", game.address, "Sage", "", "", "env", "SAGES_PASSWORD",
            "yes",
        )  # fmt: skip
        asked = await run(["setup"], "".join(f"{one}\n" for one in answers).encode(), ENVIRONMENT, str(tmp_path))
        assert [name for name in shipped_profiles() if f"  {name:<8}  \n" in asked.out] == []
        assert "It is there. It shows: 'By what name do you wish to be known?'" in asked.out
        written = tomllib.loads((tmp_path / "assistant.toml").read_text())
        assert "ok       world: the game at" in asked.out
        assert written["world"] == {"telnet": game.address, "profile": "diku", "password": "env:SAGES_PASSWORD"}
        assert written["assistant"] == {"name": "Sage"}
        assert PASSWORD not in asked.out + asked.err


async def test_the_doctor_looks_at_the_game_and_logs_in_where_it_is_asked_to(tmp_path: Path) -> None:
    async with hosted(tmp_path, Speaker()) as game:
        looked = await run(["doctor"], b"", environment=ENVIRONMENT, folder=str(tmp_path))
        assert f"ok       world: the game at {game.address} is there, and the profile knows how to log in" in looked.out
        assert "world log-in" not in looked.out
        tried = await run(["doctor", "--login"], b"", environment=ENVIRONMENT, folder=str(tmp_path))
        assert "world log-in: Sage was in the game; its prompt was found:" in tried.out
        game.says_wrong = True
        wrong = await run(["doctor", "--login"], b"", environment=ENVIRONMENT, folder=str(tmp_path))
        assert "world log-in: Sage did not get into the game: the game does not take the password" in wrong.out
        address = game.address
    gone = await run(["doctor"], b"", environment=ENVIRONMENT, folder=str(tmp_path))
    assert f"wrong    world: the game at {address} cannot be reached" in gone.out
