"""A game as a child process on loopback: started, waited for, and ended with the test that started it."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

#: How long a game may take to begin and to end on a busy machine, in seconds.
PATIENCE = 60.0


class GameProcess(ProcessProtocol):
    """A child process. `printed` is all that it printed; `begun` gives the line that says that it takes players."""

    transport: Any

    def __init__(self, ready: str) -> None:
        self._ready = re.compile(ready)
        self.printed = ""
        self.begun: Deferred[re.Match[str]] = Deferred()
        self.ended: Deferred[None] = Deferred()

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        """Read what it prints."""
        self.printed += data.decode("utf-8", "replace")
        if not self.begun.called and (found := self._ready.search(self.printed)):
            self.begun.callback(found)

    def processEnded(self, reason: Failure) -> None:
        """Tell who waits."""
        if not self.begun.called:
            self.begun.errback(AssertionError(f"the game did not begin: {self.printed[-2000:]}"))
        self.ended.callback(None)


@asynccontextmanager
async def game_process(
    reactor: Any, line: Sequence[str], folder: Path, ready: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[GameProcess, re.Match[str]]]:
    """Run a game in its folder until the block ends; give it with the line that says it takes players."""
    game = GameProcess(ready)
    env = {**os.environ, **(environment or {}), "PYTHONUNBUFFERED": "1"}
    reactor.spawnProcess(game, line[0], line, env=env, path=str(folder))
    try:
        yield game, await game.begun.addTimeout(PATIENCE, reactor)
    finally:
        if not game.ended.called:
            game.transport.signalProcess("KILL")
        await game.ended.addTimeout(PATIENCE, reactor)
