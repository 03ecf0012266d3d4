"""The game of an evening: the command that makes, starts and stops it, and the players who log in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.defer import TimeoutError as TimedOut
from twisted.internet.task import deferLater

from benchmarks.evening_players import EveningError, Visitor
from mud_assistant.assistant.surfaces.game.folder import GameFolder
from mud_assistant.assistant.surfaces.game.processes import processes
from tests.evennia.live.telnet import Telnet, connected
from tests.live.command import Command, start

ROOT = Path(__file__).parent.parent
#: Seconds for a start, in which a model may be fetched, for a stop, until the model is found, and for a login.
_START_SECONDS, _STOP_SECONDS, _MODEL_SECONDS, _LOGIN_SECONDS = 1800.0, 120.0, 120.0, 60.0
_UP, _THINKS = "Ctrl-C", " thinks with "
_IN, _REFUSED, _ASKED, _MADE = "You become", "incorrect", "[Y]/N", "was created"


class EveningGame:
    """A game in a folder, run by the command as its owner runs it."""

    # Any: the reactor.
    def __init__(
        self, reactor: Any, folder: Path, python: str, options: Sequence[str], tell: Callable[[str], None]
    ) -> None:
        self._reactor = reactor
        self._folder = GameFolder(folder)
        self._python = python
        #: What the first start is given.
        self._options = options
        self._tell = tell
        self._command: Command | None = None
        self._telnets: list[Telnet] = []

    async def enter(self, people: Sequence[str]) -> dict[str, Visitor]:
        """Start the game, or stop it first, and let these people log in; the first of them owns it.

        Raises EveningError.
        """
        options, self._options = self._options, ()
        if self._command is None and processes(self._folder):
            raise EveningError(f"the game in {self._folder.path} is running: stop it, the evening starts its own")
        await self.stop()
        self._tell("the game starts ...")
        self._command = start(
            "game", "--folder", str(self._folder.path), *options, python=self._python, folder=str(ROOT)
        )
        await self._printed(_UP, _START_SECONDS)
        try:
            await self._printed(_THINKS, _MODEL_SECONDS)
        except EveningError as error:
            self._tell(f"no model yet: {error}")
        return {name: await self._log_in(name) for name in people}

    async def stop(self) -> None:
        """Stop the game, if it runs. Raises EveningError when it does not end."""
        telnets, self._telnets = self._telnets, []
        for telnet in telnets:
            if not telnet.closed.called:
                await telnet.leave()
        command, self._command = self._command, None
        if command is None or command.ended.called:
            return
        transport: Any = command.transport
        transport.signalProcess("TERM")
        try:
            await command.ended.addTimeout(_STOP_SECONDS, self._reactor)
        except TimedOut as error:
            raise EveningError(
                f"the game did not stop: mud-assistant game --folder {self._folder.path} --stop"
            ) from error

    async def _printed(self, words: str, seconds: float) -> None:
        """Wait until the command has printed this."""
        assert self._command is not None
        if self._command.ended.called:
            raise EveningError(f"the game ended: {bytes(self._command.err[-1500:]).decode(errors='replace')}")
        try:
            await self._command.saw(words).addTimeout(seconds, self._reactor)
        except CancelledError:
            raise
        except (AssertionError, TimedOut) as error:
            end = bytes(self._command.err[-1500:]).decode(errors="replace")
            raise EveningError(f"the game never said '{words}'; its last words: {end}") from error

    async def _log_in(self, name: str) -> Visitor:
        """Log in at a telnet prompt, with a new account where there is none. All have the owner's password."""
        telnet = await connected(self._folder.ports().telnet)
        self._telnets.append(telnet)
        await self._saw(telnet, 0, "connect")
        password = self._folder.password()
        if await self._saw(telnet, telnet.type(f"connect {name} {password}"), _IN, _REFUSED) == _REFUSED:
            await self._saw(telnet, telnet.type(f"create {name} {password}"), re.escape(_ASKED))
            await self._saw(telnet, telnet.type("y"), _MADE)
            await self._saw(telnet, telnet.type(f"connect {name} {password}"), _IN)
        return Visitor(name, telnet)

    async def _saw(self, telnet: Telnet, after: int, *patterns: str) -> str:
        """Wait for one of these, and return it. Raises EveningError."""
        begun = self._reactor.seconds()
        while not (found := re.search("|".join(patterns), telnet.text[after:])):
            if self._reactor.seconds() - begun > _LOGIN_SECONDS or telnet.closed.called:
                raise EveningError(f"the game did not show {' or '.join(patterns)}, but: {telnet.text[after:][-500:]}")
            await deferLater(self._reactor, 0.05)
        return found[0]
