"""Two workers with the same list and one game: never two connections, nothing said twice, the other is soon there."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.llm.testing import Call
from tests.live.command import Command, reactor, start
from tests.live.hosted_game import ENVIRONMENT, Speaker, hosted, soon, until
from tests.postgres import PostgresServer

#: Within so many seconds the other worker has logged in.
TAKEN_OVER = 30.0


def work(folder: Path, name: str) -> Command:
    log = str(folder / f"{name}.log")
    return start("worker", "--name", name, "--log", log, folder=str(folder), environment=ENVIRONMENT)


def send(command: Command, name: str) -> None:
    transport: Any = command.transport
    transport.signalProcess(getattr(signal, f"SIG{name}"))


@pytest.mark.slow("a lease of a process that was killed takes its time")
async def test_who_takes_over_logs_in_alone_and_says_nothing_twice(
    tmp_path: Path, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    words = [f"This is the {number}." for number in ("first", "second", "third", "fourth")]
    brain = Speaker(*(Call("say", {"text": text}) for text in words))
    journal = f'[journal]\nurl = "{postgres_server.url(postgres_schema)}"\n[worker]\nassistants = ["Sage"]\n'
    async with hosted(tmp_path, brain, journal) as game:
        workers = {name: work(tmp_path, name) for name in ("cellar", "attic")}
        try:
            for ending in ("TERM", "KILL", "TERM"):
                server = await soon(game.entered.get())
                await until(lambda: any(lives_in(one, game.address) for one in workers.values()))
                home = next(name for name, one in workers.items() if lives_in(one, game.address))
                said = server.types("say")
                server.says("Anna says, 'Hello, Sage!'")
                await soon(said)
                began = reactor.seconds()
                send(workers[home], ending)
                await soon(workers[home].ended)
                taken = game.entered.get()
                server = await taken.addTimeout(TAKEN_OVER, reactor)
                assert reactor.seconds() - began < TAKEN_OVER
                workers[home] = work(tmp_path, home)
                game.entered.put(server)
        finally:
            for one in workers.values():
                if not one.ended.called:
                    send(one, "KILL")
                    await one.ended
    assert game.most == 1
    said_lines = [line.removesuffix(" (I am an AI character, not a person.)") for line in game.typed]
    spoken = [line.removeprefix("say ") for line in said_lines if line.startswith("say")]
    assert spoken == words[: len(spoken)]
    assert len(spoken) == 3


def lives_in(command: Command, address: str) -> bool:
    """Tell whether the character lives in this process, by what it told last."""
    told = command.err.decode()
    here = told.rfind(f"Sage is in the game at {address}")
    return here >= 0 and not command.ended.called
