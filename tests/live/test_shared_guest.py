"""Two workers with the same list and one game: never two connections, nothing said twice, the other is soon there."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.error import ProcessExitedAlready

from mud_assistant.llm.testing import Call
from tests.live.command import Command, reactor, start
from tests.live.hosted_game import ENVIRONMENT, PATIENCE, Speaker, hosted, soon, until
from tests.postgres import PostgresServer

#: Within so many seconds the other worker has logged in.
TAKEN_OVER = 30.0
#: How often the worker that has the character is stopped or killed: MUD_GUEST_KILLS=100 takes half an hour.
ENDINGS = [("TERM", "KILL", "TERM")[number % 3] for number in range(int(os.environ.get("MUD_GUEST_KILLS", "3")))]


def work(folder: Path, name: str) -> Command:
    log = str(folder / f"{name}.log")
    return start("worker", "--name", name, "--log", log, folder=str(folder), environment=ENVIRONMENT)


def send(command: Command, name: str) -> None:
    transport: Any = command.transport
    with suppress(ProcessExitedAlready):
        transport.signalProcess(getattr(signal, f"SIG{name}"))


@pytest.mark.slow("a lease of a process that was killed takes its time")
async def test_who_takes_over_logs_in_alone_and_says_nothing_twice(
    tmp_path: Path, postgres_server: PostgresServer, postgres_schema: str
) -> None:
    # Who is killed while it speaks is asked once more by who takes over, and has other words then.
    words = [f"This is number {number}." for number in range(3 * len(ENDINGS) + 1)]
    seconds: dict[str, list[float]] = {"TERM": [], "KILL": []}
    brain = Speaker(*(Call("say", {"text": text}) for text in words))
    journal = f'[journal]\nurl = "{postgres_server.url(postgres_schema)}"\n[worker]\nassistants = ["Sage"]\n'
    async with hosted(tmp_path, brain, journal) as game:
        workers = {name: work(tmp_path, name) for name in ("cellar", "attic")}
        try:
            for ending in ENDINGS:
                server = await game.entered.get().addTimeout(3 * PATIENCE, reactor)
                await until(lambda: any(lives_in(one, game.address) for one in workers.values()))
                home = next(name for name, one in workers.items() if lives_in(one, game.address))
                said = server.types("say")
                server.says("Anna says, 'Hello, Sage!'")
                await said.addTimeout(3 * PATIENCE, reactor)
                for one in workers.values():
                    await one.saw("or waits for them").addTimeout(3 * PATIENCE, reactor)
                began = reactor.seconds()
                send(workers[home], ending)
                await soon(workers[home].ended)
                taken = game.entered.get()
                server = await taken.addTimeout(TAKEN_OVER, reactor)
                seconds[ending].append(reactor.seconds() - began)
                workers[home] = work(tmp_path, home)
                await soon(workers[home].saw("or waits for them"))
                game.entered.put(server)
        finally:
            for one in workers.values():
                if not one.ended.called:
                    send(one, "KILL")
                    await one.ended
    assert game.most == 1
    said_lines = [line.removesuffix(" (I am an AI character, not a person.)") for line in game.typed]
    spoken = [line.removeprefix("say ") for line in said_lines if line.startswith("say")]
    assert spoken == [one for one in words if one in spoken]
    assert len(spoken) >= len(ENDINGS)
    told = {ending: f"{len(taken)}, at most {max(taken):.1f} s" for ending, taken in seconds.items() if taken}
    sys.stdout.write(f"\ntaken over: {told}; connections at once: {game.most}; lines said: {len(spoken)}, each once\n")


def lives_in(command: Command, address: str) -> bool:
    """Tell whether the character lives in this process, by what it told last."""
    told = command.err.decode()
    here = told.rfind(f"Sage is in the game at {address}")
    return here >= 0 and not command.ended.called
