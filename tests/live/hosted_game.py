"""A small tbaMUD that the real command plays: who is in it, what was typed, and how many were in it at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, DeferredQueue, maybeDeferred
from twisted.internet.protocol import Factory, connectionDone
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from tests.assistant.worlds.telnet.tbamud_server import PASSWORD, SmallTba
from tests.live.command import reactor

#: A model that is asked plainly, and settings that need no more than they must.
_MODEL = '[model]\nprovider = "ollama"\nurl = "{url}"\nmodel = "sage"\nexamples = false\nasking = "tools"\n'
VARIABLE = "SAGES_PASSWORD"
ENVIRONMENT = {VARIABLE: PASSWORD}
#: How long anything may take on a busy machine, in seconds.
PATIENCE = 60.0
T = TypeVar("T")


def soon(awaited: Deferred[T]) -> Deferred[T]:
    """Return what is awaited, or fail when that takes too long."""
    return awaited.addTimeout(PATIENCE, reactor)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so."""
    began = reactor.seconds()
    while not is_so():
        assert reactor.seconds() - began < PATIENCE
        await deferLater(reactor, 0.05)


class Connection(SmallTba):
    """One connection to the game, which counts with the others."""

    def __init__(self, game: HostedGame) -> None:
        super().__init__()
        self.game = game

    def connectionMade(self) -> None:
        self.game.connected(self)
        super().connectionMade()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.game.lost(self)


class HostedGame:
    """The game. `entered` gives each connection whose character is in it."""

    def __init__(self) -> None:
        self.there: list[Connection] = []
        self.most = self.count = 0
        self.entered: DeferredQueue[SmallTba] = DeferredQueue()
        self.typed: list[str] = []
        #: Whether every password is wrong.
        self.says_wrong = False
        self._port = reactor.listenTCP(0, Factory.forProtocol(self._make), interface="127.0.0.1")

    @property
    def address(self) -> str:
        """Where it is."""
        return f"127.0.0.1:{self._port.getHost().port}"

    def _make(self) -> Connection:
        made = Connection(self)
        made.says_wrong = self.says_wrong
        made.entered.addCallback(self.entered.put)
        return made

    def connected(self, one: Connection) -> None:
        """Count a connection."""
        self.there.append(one)
        self.count += 1
        self.most = max(self.most, len(self.there))

    def lost(self, one: Connection) -> None:
        """Keep what was typed over a connection that is gone."""
        self.there.remove(one)
        self.typed += one.typed

    def settings(self, url: str, more: str = "") -> str:
        """Return settings with which Sage lives here."""
        world = f'[world]\ntelnet = "{self.address}"\nprofile = "diku"\npassword = "env:{VARIABLE}"\n'
        return f"{_MODEL.format(url=url)}{world}[page]\nport = 0\n{more}"

    async def close(self) -> None:
        """Close the game."""
        for one in list(self.there):
            one.transport.abortConnection()
        await maybeDeferred(self._port.stopListening)


class Speaker:
    """A model that says or does what is in `calls`, one a request, and nothing else."""

    def __init__(self, *calls: Call) -> None:
        self.calls = list(calls)
        self.prompts: list[str] = []

    def __call__(self, request: RecordedRequest) -> Step:
        self.prompts.append(str(request.messages))
        return Reply(calls=(self.calls.pop(0),)) if self.calls else Reply("")


@asynccontextmanager
async def hosted(folder: Path, brain: Any, more: str = "") -> AsyncIterator[HostedGame]:
    """A game, a model, and settings in the folder with which Sage lives in the one and thinks with the other."""
    game = HostedGame()
    async with serve(FakeOllama(reactor, brain), reactor) as url:
        (folder / "assistant.toml").write_text(game.settings(url, more))
        try:
            yield game
        finally:
            await game.close()
