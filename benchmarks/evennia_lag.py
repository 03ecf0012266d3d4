"""Whether assistants slow a real Evennia game down: lateness of its reactor, and its longest callbacks, printed.

    python benchmarks/evennia_lag.py [--python PYTHON_WITH_EVENNIA] [--assistants 50] [--seconds 30] [--json FILE]

A game made by `evennia --init` runs as its owner would run it, and the assistants think with the stub model server in
a process of its own, each with a tick every second. Players at telnet prompts speak to them at a steady rate. First
the same players talk to nobody, for comparison. How it is measured: `evennia_probe.py`. The line "this machine" is the
lateness of a process that only waits: what the machine itself adds. --profile shows what was long at work.
--as-shipped leaves the SQLite pragmas as Evennia has them (6.1 loses them; the doctor then says so). About two minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evennia_path import ROOT
from evennia_report import Report, printed
from evennia_talk import Talk, names
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import LoopingCall, deferLater, react

from tests.evennia.live.game import INSTALL_LINE, Game, free_ports, made

_PROBE = "SERVER_SERVICES_PLUGIN_MODULES = [*SERVER_SERVICES_PLUGIN_MODULES, 'server.conf.lag_probe']"
_FAST_SQLITE = (
    'DATABASES["default"]["OPTIONS"] = '
    '{"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=2"}'
)
#: How long answers may still come after the last question, in seconds.
_SETTLING_SECONDS = 20.0

_CONFIG = """
[model]
provider = "ollama"
url = "http://127.0.0.1:{port}"
model = "sage"
max_in_flight = 32

[assistant]
awake_seconds = 1
asleep_seconds = 1
"""


class Stub(ProcessProtocol):
    """The stub model server, in a process of its own."""

    def __init__(self) -> None:
        self.ready: Deferred[None] = Deferred()
        self.over: Deferred[None] = Deferred()
        self.said = b""

    def outReceived(self, data: bytes) -> None:
        """Ready once it has said where it is."""
        self.said += data
        if b"http://" in self.said and not self.ready.called:
            self.ready.callback(None)

    errReceived = outReceived

    def processEnded(self, reason: Any) -> None:
        """Dead; when it never was ready, that is told."""
        if not self.ready.called:
            self.ready.errback(RuntimeError(f"the stub model server ended: {self.said.decode()[-500:]}"))
        self.over.callback(None)


class Lateness:
    """How late a process is that does nothing but wait."""

    def __init__(self, reactor: Any) -> None:
        self.late: list[float] = []
        self._reactor = reactor
        self._due = 0.0
        self._loop = LoopingCall(self._tick)

    def begin(self) -> None:
        """Measure from now on."""
        self.late.clear()
        self._due = time.perf_counter()
        if not self._loop.running:
            self._loop.start(0.01)

    def stop(self) -> None:
        """Measure no more."""
        self._loop.stop()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.late.append(max(0.0, now - self._due))
        self._due = now + 0.01


async def measured(reactor: Any, talk: Talk, name: str, options: argparse.Namespace, idle: Lateness) -> Report:
    """What the probe and the players saw while they talked for the time."""
    first = talk.number
    await talk.run("lag_probe", "PROBES[0].begin()")
    idle.begin()
    speaking = talk.begin(reactor, options.rate)
    await deferLater(reactor, options.seconds)
    speaking.stop()
    late = sorted(idle.late)
    await talk.run("lag_probe", f"PROBES[0].end({name!r})")
    seen = json.loads((talk.game.folder / f"lag-{name}.json").read_text())
    deadline = reactor.seconds() + (_SETTLING_SECONDS if name != "baseline" else 0)
    asked = {number for number in talk.asked if number >= first}
    while reactor.seconds() < deadline and asked - talk.answered():
        await deferLater(reactor, 0.5)
    return Report(name, seen, late, len(asked), len(asked & talk.answered()))


async def living(talk: Talk, reactor: Any) -> None:
    """Returns when all assistants are awake."""
    for _ in range(120):
        if int(await talk.run("lag_people", "awake()")) == len(talk.assistants):
            return
        await deferLater(reactor, 0.5)
    raise RuntimeError(f"not all assistants are awake: {talk.game.log()[-2000:]}")


async def in_the_game(reactor: Any, game: Game, port: int, options: argparse.Namespace) -> dict[str, Any]:
    """Everything that is measured in one game."""
    (game.folder / "server/conf/assistant.toml").write_text(_CONFIG.format(port=port))
    for name in ("probe", "people"):
        shutil.copy(Path(__file__).parent / f"evennia_{name}.py", game.folder / f"server/conf/lag_{name}.py")
    if options.profile:
        (game.folder / "server/conf/lag_profile").touch()
    game.settle("\n".join([*([] if options.as_shipped else [_FAST_SQLITE]), INSTALL_LINE, _PROBE]))
    await game.start()
    await game.logged("successfully restarted in 'reset' mode")  # as every game does once in its life
    talk = Talk(game, await game.owner(), options.rooms, names(options.assistants))
    idle = Lateness(reactor)
    await talk.make_rooms()
    await deferLater(reactor, 2)  # the logins are over
    baseline = await measured(reactor, talk, "baseline", options, idle)
    await talk.make_assistants()
    await living(talk, reactor)
    await deferLater(reactor, 3)  # first looks round are over
    busy = await measured(reactor, talk, "assistants", options, idle)
    left = int(await talk.run("lag_people", "waiting()"))
    idle.stop()
    return printed([baseline, busy], options, left, game.log())


async def run(reactor: Any, options: argparse.Namespace) -> None:
    """Make the game, measure, print, and leave nothing behind."""
    port = free_ports(1)[0]
    stub = Stub()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-m", "mud_assistant.llm.testing", "ollama", "--port", str(port)]
    process = reactor.spawnProcess(stub, sys.executable, arguments, env=environment)
    with tempfile.TemporaryDirectory(prefix="evennia-lag-") as folder:
        game = Game(made(Path(folder) / "game"))
        try:
            await stub.ready
            result = await in_the_game(reactor, game, port, options)
        finally:
            await game.put_away()
            process.signalProcess("TERM")
            await stub.over
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1))  # noqa: ASYNC240  (nothing waits for it)


def main() -> None:
    """Read the options, and go on in the interpreter that has Evennia."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="", help="an interpreter that has Evennia, when this one has not")
    parser.add_argument("--assistants", type=int, default=50)
    parser.add_argument("--rooms", type=int, default=5, help="each has one player")
    parser.add_argument("--rate", type=float, default=5.0, help="lines a second, of all players together")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--as-shipped", action="store_true", help="leave the SQLite pragmas as they are")
    parser.add_argument("--profile", action="store_true", help="look what is at work when something takes long")
    parser.add_argument("--json", default="", help="write the numbers there as well")
    options = parser.parse_args()
    if options.python:
        os.execv(options.python, [options.python, *sys.argv, "--python="])  # noqa: S606  (which then runs it itself)
    react(lambda reactor: Deferred.fromCoroutine(run(reactor, options)))


if __name__ == "__main__":
    main()
