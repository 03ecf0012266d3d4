"""A guest in a game over a real connection on loopback: they log in, hear, answer, walk and come back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, DeferredQueue, maybeDeferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.protocol import Factory

from mud_assistant.assistant.events.events import Event, Noticed, format_event
from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.worlds.telnet.guest import TelnetGuest
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profile
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.session.game_wire import GamePlace
from mud_assistant.assistant.worlds.telnet.session.login import Credentials
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from tests.assistant.worlds.telnet.played_game import ME, START
from tests.assistant.worlds.telnet.tbamud_server import PASSWORD, SmallTba


class Soon(Random):
    """Dice that let a lost connection come back at once."""

    def uniform(self, a: float, b: float) -> float:
        return 0.0


class Played:
    """A game on loopback with a guest in it. `connections` gives each connection that was logged in."""

    def __init__(self, reactor: Any) -> None:
        self.connections: DeferredQueue[SmallTba] = DeferredQueue()
        self.plays: DeferredQueue[None] = DeferredQueue()
        self.events: list[Event] = []
        self.spoken: DeferredQueue[str] = DeferredQueue()
        self.bytes: list[bytes] = []
        self.port = reactor.listenTCP(0, Factory.forProtocol(self._connection), interface="127.0.0.1")
        profile = shipped_profile("diku", ME.name)
        place = GamePlace("127.0.0.1", profile.session, Credentials(ME.name, PASSWORD, ME.name))
        self.guest = TelnetGuest(
            ME, profile, Persons("loopback", lambda: START), place,
            endpoint=TCP4ClientEndpoint(reactor, "127.0.0.1", self.port.getHost().port),
            clock=reactor, dice=Soon(), hear=self._hear, on_bytes=lambda _, data: self.bytes.append(data),
            on_state=self._entered,
        )  # fmt: skip

    def _connection(self) -> SmallTba:
        made = SmallTba()
        made.entered.addCallback(self.connections.put)
        return made

    def _entered(self, state: State, _: str) -> None:
        if state is State.PLAYING:
            self.plays.put(None)

    async def connection(self) -> SmallTba:
        """Return the next connection, when the guest plays on it."""
        server = await self.connections.get()
        await self.plays.get()
        return server

    def _hear(self, make: MakeEvent) -> None:
        event = make(str(len(self.events)), 0.0)
        self.events.append(event)
        if not isinstance(event, Noticed):
            self.spoken.put(format_event(event))


@asynccontextmanager
async def played(reactor: Any) -> AsyncIterator[Played]:
    game = Played(reactor)
    game.guest.start()
    try:
        yield game
    finally:
        game.guest.stop()
        await maybeDeferred(game.port.stopListening)


async def test_a_guest_lives_in_a_game(reactor: Any) -> None:
    async with played(reactor) as game:
        body = game.guest.body
        server = await game.connection()
        server.says("Anna says, 'Hello, Sage!'")
        assert await game.spoken.get() == 'Anna says: "Hello, Sage!"'
        await body.say("Good day, Anna.")
        scene = await body.look()
        assert (scene.room, scene.exits) == ("The Hall", ("north", "east"))
        assert [person.name for person in scene.people] == ["Anna"]
        assert "obey me" in await body.inspect("old map")
        server.says("\x1b[0;31mAnna tells you, 'psst'\x1b[0m")
        assert await game.spoken.get() == 'Anna pages you: "psst"'
        assert server.typed == ["score", "say Good day, Anna.", "look", "look old map"]
        assert (await body.move("north")).room == "The Yard"
        assert [type(event).__name__ for event in game.events if getattr(event, "text", "") == "obey me"] == []
        assert PASSWORD.encode() not in b"".join(game.bytes)


async def test_a_guest_who_is_cut_off_comes_back_and_says_nothing_twice(reactor: Any) -> None:
    async with played(reactor) as game:
        server = await game.connection()
        typed: Deferred[str] = server.types("say")
        spoken = Deferred.fromCoroutine(game.guest.body.say("Good day."))
        assert await typed == "say Good day."
        await spoken
        server.transport.abortConnection()
        again = await game.connection()
        again.says("Anna says, 'You are back.'")
        assert await game.spoken.get() == 'Anna says: "You are back."'
        assert [line for line in again.typed if line.startswith("say")] == []
        assert (await game.guest.body.look()).room == "The Hall"
