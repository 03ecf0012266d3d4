"""What whole guests cost: memory, time for what they hear, and what a game can do to them that means harm.

MUD_GUESTS=200 MUD_GUEST_CUTS=200 shows the figures of many; a few are enough for every run.
"""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterable
from random import Random
from time import process_time
from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.assistant.runtime.listener import MakeEvent
from mud_assistant.assistant.worlds.telnet.guest import TelnetGuest
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profile
from mud_assistant.assistant.worlds.telnet.reading.name_holders import Persons
from mud_assistant.assistant.worlds.telnet.session.game_wire import GamePlace
from mud_assistant.assistant.worlds.telnet.session.login import Credentials
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause
from mud_assistant.tools.errors import ToolFailed, Unconfirmed
from mud_assistant.tools.trust import Kind, Principal
from tests.assistant.worlds.telnet.attacks import ATTACKS, MEGABYTE
from tests.assistant.worlds.telnet.games import GAMES
from tests.assistant.worlds.telnet.scripted import PASSWORD, Transport
from tests.assistant.worlds.telnet.tbamud_server import SmallTba
from tests.assistant.worlds.telnet.test_telnet_guest import played

GUESTS, CUTS = int(os.environ.get("MUD_GUESTS", "20")), int(os.environ.get("MUD_GUEST_CUTS", "6"))
#: How many functions may be called for a KB that is heard: 20,000 take 2 to 5 ms.
MOST_CALLS = 20_000
#: What is heard most, in each game: speech, a tell or more speech, a coming or a going.
WORDS = "Good day to you. The inn is full tonight"
TALK = {
    "diku": "Anna says, '{0}.'\r\n\x1b[0;31mBob tells you, '{0}.'\x1b[0m\r\nCid has arrived.\r\n",
    "ranvier": "Anna says: '{0}.'\r\n\x1b[36mBob tells you, '{0}.'\x1b[0m\r\nCid leaves.\r\n",
    "mudpy": 'Anna says, "{0}."\r\nBob asks, "{0}?"\r\nCid exits to the north.\r\n',
    "moo": 'Anna says, "{0}."\r\nBob pages, "{0}."\r\nCid has arrived.\r\n',
    "evennia": 'Anna says, "{0}."\r\nBob whispers: "{0}."\r\nCid has arrived.\r\n',
}


class InMemory:
    """An endpoint whose connection is in memory."""

    wire: Any

    def connect(self, factory: Any) -> Deferred[Any]:
        self.wire = factory.buildProtocol(None)
        self.wire.makeConnection(Transport(lambda: self.wire.connectionLost(Failure(ConnectionLost()))))
        return succeed(self.wire)


class Guest:
    """A guest that plays; the time is a `Clock`."""

    def __init__(self, game: str, name: str) -> None:
        self.clock, self.heard = Clock(), 0
        self.endpoint = cast("Any", InMemory())
        self.states: list[str] = []
        profile = shipped_profile(game, name)
        who = Credentials(name, PASSWORD, "keeper")
        self.guest = TelnetGuest(
            Principal(f"assistant:{name}", name, Kind.ASSISTANT), profile, Persons("game", self.clock.seconds),
            GamePlace("127.0.0.1", profile.session, who), endpoint=self.endpoint, clock=self.clock,
            on_state=lambda _, why: self.states.append(why), dice=Random(1), hear=self._hear,  # noqa: S311  (jitter)
        )  # fmt: skip
        self.guest.start()
        for step in GAMES[game]:
            if isinstance(step, bytes):
                self.hears(step.replace(b"Maren", name.encode()))
                self.clock.advance(0.5)
        self.endpoint.wire.transport.clear()
        assert self.guest.link.state is State.PLAYING

    def hears(self, data: bytes) -> None:
        """Send bytes as the game does, and let all of them be taken."""
        self.endpoint.wire.dataReceived(data)
        while self.endpoint.wire.is_open and self.endpoint.wire.transport.producerState == "paused":
            self.clock.advance(0)

    def _hear(self, _: MakeEvent) -> None:
        self.heard += 1


def tell(figure: str) -> None:
    sys.stdout.write(f"\n{figure}\n")


@pytest.mark.parametrize("game", GAMES)
def test_a_guest_takes_little_memory(game: str) -> None:
    Guest(game, "Warm")
    gc.collect()
    tracemalloc.start()
    guests = [Guest(game, f"Sage{number}") for number in range(GUESTS)]
    gc.collect()
    each = tracemalloc.get_traced_memory()[0] / GUESTS / 1024
    tracemalloc.stop()
    tell(f"{game}: {len(guests)} guests take {each:.1f} KiB each")
    assert each < 64


@pytest.mark.parametrize("game", TALK)
def test_what_is_heard_becomes_events_in_few_calls(game: str) -> None:
    guest, rounds, talk = Guest(game, "Sage"), 50, TALK[game].format(WORDS).encode()
    before, size, made = guest.heard, len(talk) * rounds / 1024, 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal made
        made += event in {"call", "c_call"}

    def hear() -> float:
        begun = process_time()
        for _ in range(rounds):
            guest.hears(talk)
            guest.clock.advance(1.0)
        return (process_time() - begun) * 1000 / size

    spent = hear()
    sys.setprofile(count)
    hear()
    sys.setprofile(None)
    heard = guest.heard - before
    tell(f"{game}: {spent:.2f} ms of CPU and {made / size:.0f} calls for a KB that is heard, {heard} events")
    assert heard == 3 * 2 * rounds
    assert made / size <= MOST_CALLS


@pytest.mark.parametrize(("attack", "cause"), ATTACKS)
def test_an_attack_on_a_guest_is_ended_with_its_cause_and_takes_little_memory(
    attack: Callable[[], Iterable[bytes]], cause: Cause
) -> None:
    guest, cuts = Guest("diku", "Sage"), iter(attack())
    first = next(cuts)
    tracemalloc.start()
    for cut in (first, *cuts):
        guest.hears(cut)
        if not guest.endpoint.wire.is_open:
            break
    most = tracemalloc.get_traced_memory()[1] / MEGABYTE
    tracemalloc.stop()
    tell(f"{most:.1f} MB more at most: {guest.states[-1]}")
    # Of too many lines at once more is known, however they came.
    assert guest.states[-1].startswith((cause.value, Cause.FLOOD.value))
    assert most < 16


async def test_who_is_cut_off_again_and_again_says_nothing_twice(reactor: Any) -> None:
    """Whatever is typed into the log-in or the menu of this game fails the test."""
    dice = Random(7)  # noqa: S311  (when it is cut is no secret)
    typed: list[str] = []
    ends = {"done": 0, "unconfirmed": 0, "refused": 0}
    async with played(reactor) as game:
        server: SmallTba = await game.connection()
        for number in range(CUTS):
            moment = dice.choice(["before", "typed", "answered"])
            server.holds_echo = moment != "answered"
            waiting = server.types("say")
            saying = Deferred.fromCoroutine(game.guest.body.say(f"Line {number}."))
            if moment != "before":
                await waiting
            if moment == "answered":
                await saying
            server.transport.abortConnection()
            try:
                await saying
                ends["done"] += 1
            except Unconfirmed:
                ends["unconfirmed"] += 1
            except ToolFailed:
                ends["refused"] += 1
            typed += server.typed
            server = await game.connection()
        typed += server.typed
    said = [line for line in typed if line.startswith("say")]
    tell(f"{CUTS} cuts: {len(said)} lines said, {ends}")
    assert sorted(set(said)) == sorted(said)
    assert sum(ends.values()) == CUTS
