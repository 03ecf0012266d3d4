"""`mud-assistant game` as its user runs it: one command, a game in which Sage answers, and nothing left behind."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.surfaces.game.folder import GameFolder, Ports
from mud_assistant.assistant.surfaces.game.processes import family
from mud_assistant.llm.testing import FakeOllama, serve
from tests.evennia.live.living import heard
from tests.evennia.live.telnet import connected
from tests.live.command import Command, Result, reactor, start
from tests.ports import free_first_port
from tests.wheel import installed

#: How long each part of a start may take on a busy machine, in seconds.
PATIENCE = 300.0
LOGIN = re.compile(r"connect \w+ \w{14}")

pytestmark = pytest.mark.slow  # a game is made and started


@asynccontextmanager
async def playing(folder: Path, *arguments: str, python: str = sys.executable) -> AsyncIterator[Command]:
    """The command, run until the block ends; then it is asked to end, if it has not."""
    at = None if python == sys.executable else str(folder.parent)  # a wheel is run where the tree is not
    command = start("game", "--folder", str(folder), *arguments, folder=at, python=python)
    try:
        yield command
    finally:
        if not command.ended.called:
            await ended(command, "TERM")


async def ended(command: Command, how: str) -> Result:
    """How the command ended on a signal."""
    transport: Any = command.transport
    transport.signalProcess(how)
    return await command.ended.addTimeout(PATIENCE, reactor)


async def told(command: Command, text: str) -> None:
    """Returns when the command has printed this; fails when it ends before."""
    await command.saw(text).addTimeout(PATIENCE, reactor)


def left_of(folder: Path, first_port: int) -> list[object]:
    """The processes and the taken ports of a game."""
    return [*family(GameFolder(folder)), *Ports(first_port).taken()]


def listening(first_port: int) -> set[str]:
    """The addresses at which the ports of a game take connections, as the system writes them: 0100007F is 127.0.0.1."""
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            address, _, port = line.split()[1].partition(":")
            if line.split()[3] == "0A" and int(port, 16) in Ports(first_port).all():
                found.add(address)
    return found


async def test_one_command_of_a_wheel_makes_a_game_with_sage_and_the_next_one_starts_it_again(tmp_path: Path) -> None:
    python = str(installed(tmp_path))
    folder, port = tmp_path / "game", free_first_port(10)
    async with serve(FakeOllama(reactor, heard), reactor) as url:
        model = ("--provider", "ollama", "--url", url)
        async with playing(folder, *model, "--port", str(port), python=python) as command:
            await told(command, "Ctrl-C")
            await told(command, "Sage thinks with Ollama")
            (login,) = LOGIN.findall(command.out.decode())
            assert login.startswith("connect Owner ")
            assert listening(port) == {"0100007F"}
            assert oct((folder / "login.txt").stat().st_mode) == "0o100600"
            telnet = await connected(port)
            await telnet.asks(login, "The Old Library")
            assert 'Sage says, "I heard 7."' in await telnet.asks("say Sage, 7", "I heard 7.")
            await telnet.leave()
            result = await ended(command, "TERM")
        assert (result.status, left_of(folder, port)) == (0, [])
        async with playing(folder, python=python) as command:
            await told(command, "Sage thinks with Ollama")
            await told(command, "Ctrl-C")
            assert LOGIN.findall(command.out.decode()) == [login]
            assert "Making" not in command.err.decode()
            telnet = await connected(port)
            await telnet.asks(login, "The Old Library")
            await telnet.asks("say Sage, 8", "I heard 8.")
            await telnet.leave()
            result = await ended(command, "INT")
        assert (result.status, left_of(folder, port)) == (0, [])


async def test_ctrl_c_while_the_game_starts_leaves_nothing_behind(tmp_path: Path) -> None:
    folder, port = tmp_path / "game", free_first_port(10)
    async with playing(folder, "--provider", "ollama", "--url", "http://127.0.0.1:9", "--port", str(port)) as command:
        await told(command, "Starting the game")
        result = await ended(command, "INT")
    assert (result.status, left_of(folder, port)) == (0, [])
