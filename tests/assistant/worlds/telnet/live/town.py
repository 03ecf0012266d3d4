"""A real game that a guest visits: Sage is the guest, Anna a player at a telnet client, and between Sage and the game
stands a relay that notes every byte and cuts the connection when a test says so."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.protocol import connectionDone
from twisted.protocols.portforward import ProxyFactory, ProxyServer
from twisted.python.failure import Failure

from mud_assistant.assistant.events.events import Event, format_event
from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.worlds.telnet.guest import TelnetGuest
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profile
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.session.game_wire import GamePlace
from mud_assistant.assistant.worlds.telnet.session.login import Credentials
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from tests.assistant.worlds.telnet.played_game import ME, START
from tests.assistant.worlds.telnet.scripted import NEGOTIATION
from tests.evennia.live.telnet import PATIENCE, Telnet, connected

#: The password of everybody in the games of the tests.
PASSWORD = "Passw0rd X"


@dataclass(frozen=True)
class Town:
    """A game that takes players. `anna` is what Anna types to be in it, each line after what the game asks; then the
    game shows `entered`."""

    profile: str
    port: int
    account: str
    anna: tuple[tuple[str, str], ...]
    entered: str = "xits"
    channel: str = ""


class Relayed(ProxyServer):
    """One connection of the guest, as the relay sees it. `sent` is what the guest sent."""

    factory: Any
    # Any: those of Twisted have no types.
    transport: Any
    peer: Any

    def connectionMade(self) -> None:
        """Note the connection."""
        self.sent = b""
        self.factory.connections.append(self)
        self.factory.open.add(self)
        self.factory.most_open = max(self.factory.most_open, len(self.factory.open))
        super().connectionMade()

    def dataReceived(self, data: bytes) -> None:
        """Note what the guest sends, and pass it on."""
        self.sent += data
        self.peer.transport.write(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Note that it is gone."""
        self.factory.open.discard(self)
        if self.peer is not None:
            self.peer.transport.loseConnection()

    def cut(self) -> None:
        """Cut the connection on both sides."""
        self.factory.open.discard(self)
        for side in (self, self.peer):
            if side is not None:
                side.transport.abortConnection()

    @property
    def lines(self) -> list[str]:
        """Return the lines that the guest typed."""
        return NEGOTIATION.sub(b"", self.sent).decode().split("\r\n")[:-1]


class Relay(ProxyFactory):
    """Passes connections on to a game. `connections` holds them all, `most_open` how many there were at once."""

    protocol = Relayed
    noisy = False

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port)
        self.connections: list[Relayed] = []
        self.open: set[Relayed] = set()
        self.most_open = 0


class Soon(Random):
    """Dice that let a lost connection come back at once."""

    def uniform(self, a: float, b: float) -> float:
        """Return the least."""
        return a


@dataclass
class Visit:
    """Sage in a town, and Anna. `spoken` is what Sage heard others say."""

    town: Town
    relay: Relay
    anna: Telnet
    reactor: Any
    port: int
    events: list[Event] = field(default_factory=list)
    states: list[tuple[State, str]] = field(default_factory=list)
    recorded: list[bytes] = field(default_factory=list)
    _waiting: list[tuple[Callable[[], object], Deferred[None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        profile = shipped_profile(self.town.profile, ME.name)
        who = Credentials(ME.name, PASSWORD, self.town.account)
        place = GamePlace("127.0.0.1", profile.session, who, channel=self.town.channel)
        self.guest = TelnetGuest(
            ME, profile, Persons("loopback", lambda: START), place,
            endpoint=TCP4ClientEndpoint(self.reactor, "127.0.0.1", self.port), clock=self.reactor, dice=Soon(),
            hear=self._hear, on_state=self._entered, on_bytes=lambda _, data: self.recorded.append(data),
        )  # fmt: skip

    @property
    def spoken(self) -> list[str]:
        """Return what Sage heard."""
        return [format_event(event) for event in self.events]

    async def until(self, condition: Callable[[], object]) -> None:
        """Return when the condition holds after an event or a state."""
        if not condition():
            waiting: Deferred[None] = Deferred()
            self._waiting.append((condition, waiting))
            try:
                await waiting.addTimeout(PATIENCE, self.reactor)
            except Exception as error:
                error.add_note(f"Sage heard {self.spoken[-10:]}; states {self.states[-6:]}")
                error.add_note(f"Anna saw ...{self.anna.text[-400:]!r}; bytes ...{b''.join(self.recorded)[-600:]!r}")
                raise

    async def plays(self, times: int = 1) -> None:
        """Return when Sage plays on so many connections."""
        await self.until(lambda: [state for state, _ in self.states].count(State.PLAYING) >= times)

    async def hears(self, line: str) -> None:
        """Return when Sage heard this."""
        await self.until(lambda: line in self.spoken)

    def seen_by_anna(self, words: str) -> int:
        """Return how often Anna saw these words."""
        return len(re.findall(rf"(?i){re.escape(words)}", self.anna.text))

    def _hear(self, make: MakeEvent) -> None:
        self.events.append(make(str(len(self.events)), 0.0))
        self._look()

    def _entered(self, state: State, why: str) -> None:
        self.states.append((state, why))
        self._look()

    def _look(self) -> None:
        due = [one for one in self._waiting if one[0]()]
        self._waiting = [one for one in self._waiting if one not in due]
        for _, waiting in due:
            waiting.callback(None)


@asynccontextmanager
async def visited(reactor: Any, town: Town) -> AsyncIterator[Visit]:
    """Let Anna in, then Sage; both have left when the block ends."""
    anna = await connected(town.port)
    relay = Relay(town.port)
    port = reactor.listenTCP(0, relay, interface="127.0.0.1")
    visit = Visit(town, relay, anna, reactor, port.getHost().port)
    try:
        await enter(anna, town)
        visit.guest.start()
        await visit.plays()
        yield visit
    finally:
        visit.guest.stop()
        await maybeDeferred(port.stopListening)
        for connection in relay.connections:
            if connection.connected:
                connection.cut()
        await anna.leave()


async def enter(anna: Telnet, town: Town) -> None:
    """Log Anna in."""
    mark = 0
    for asked, line in town.anna:
        await anna.saw(asked, mark)
        mark = anna.type(line)
    await anna.saw(town.entered, mark)
