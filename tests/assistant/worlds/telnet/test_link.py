"""A character stays connected, over loopback and in time that a `Clock` tells."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint
from twisted.internet.error import ConnectionRefusedError as Refused
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import deferLater
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure

from mud_assistant.assistant.worlds.telnet.session.game_wire import KEEP_ALIVE, MOST_LINES, NOP, GamePlace, LinkListener
from mud_assistant.assistant.worlds.telnet.session.link import ASK_AFTER, FIRST_WAIT, MAY_IT, MOST_WAIT, GameLink
from mud_assistant.assistant.worlds.telnet.session.session_state import State
from mud_assistant.assistant.worlds.telnet.wire.wire_events import Cause, HeardLine
from tests.assistant.worlds.telnet.games import GAMES, MOO, POINTS, WHO
from tests.assistant.worlds.telnet.scripted import NEGOTIATION, PASSWORD, Stage, Step, Transport, shipped


class Most(Random):
    """Dice that always show the most."""

    def uniform(self, a: float, b: float) -> float:
        """Return the most."""
        return b


class Town:
    """A link, and the connections that it makes in memory."""

    def __init__(self, host: str = "127.0.0.1", dice: Random | None = None, **place: Any) -> None:
        self.reactor = MemoryReactorClock()
        self.told: list[tuple[State, str]] = []
        self.lines: list[str] = []
        self.dropped: list[str] = []
        self.sent: list[bytes] = []
        listener = LinkListener(
            on_event=lambda event: self.lines.append(event.text) if isinstance(event, HeardLine) else None,
            on_state=lambda state, why: self.told.append((state, why)),
            on_dropped=self.dropped.append,
            on_bytes=lambda by_server, data: None if by_server else self.sent.append(data),
        )
        settings = GamePlace(host, shipped("moo", WHO.name), WHO, **place)
        endpoint = TCP4ClientEndpoint(self.reactor, host, 4000)
        self.link = GameLink(endpoint, self.reactor, dice or Most(), settings, listener)

    @property
    def asked(self) -> int:
        """How many connections were asked for."""
        return len(self.reactor.tcpClients)

    def accept(self) -> tuple[Any, Any]:
        """Accept the last connection that was asked for; return its protocol and transport."""
        factory = self.reactor.tcpClients[-1][2]
        protocol: Any = factory.buildProtocol(None)
        transport = Transport(lambda: protocol.connectionLost(Failure(connectionDone.value)))
        protocol.makeConnection(transport)
        return protocol, transport

    def play(self) -> Any:
        """Accept the last connection and log in."""
        protocol, _ = self.accept()
        for step in MOO:
            if isinstance(step, bytes):
                protocol.dataReceived(step)
                self.reactor.pump([0.1] * 6)
        assert self.link.state is State.PLAYING
        return protocol

    def refuse(self) -> None:
        """Refuse the last connection that was asked for."""
        self.reactor.tcpClients[-1][2].clientConnectionFailed(self.reactor.connectors[-1], Failure(Refused()))


def test_it_comes_back_slower_each_time_up_to_ten_minutes() -> None:
    town, waits = Town(), list[float]()
    town.link.start()
    for _ in range(12):
        town.refuse()
        before, asked = town.reactor.seconds(), town.asked
        while town.asked == asked:
            town.reactor.advance(1)
        waits.append(town.reactor.seconds() - before)
    assert waits[:4] == [FIRST_WAIT, 10, 20, 40]
    assert waits[-1] == MOST_WAIT
    assert "the game cannot be reached" in town.told[1][1]


def test_it_comes_back_by_chance() -> None:
    town = Town(dice=Random(3))  # noqa: S311  (when it comes back is no secret)
    town.link.start()
    town.refuse()
    town.reactor.advance(FIRST_WAIT)
    assert town.asked == 2


def test_after_a_time_of_play_the_first_wait_counts_again() -> None:
    town = Town()
    town.link.start()
    for _ in range(5):
        town.refuse()
        town.reactor.pump([1] * 100)
    protocol = town.play()
    town.reactor.advance(61)
    asked = town.asked
    protocol.connectionLost(Failure(connectionDone.value))
    assert town.link.state is State.CLOSED
    town.reactor.advance(FIRST_WAIT)
    assert town.asked == asked + 1


@pytest.mark.parametrize("shown", [b"*** Redirecting connection to new port ***\r\n", b"*** Booted ***\r\n"])
def test_who_is_put_out_stays_away_until_the_owner_says_otherwise(shown: bytes) -> None:
    town = Town()
    town.link.start()
    town.play().dataReceived(shown)
    town.reactor.pump([60] * 100)
    assert town.asked == 1
    ended = town.link.ended
    assert ended in {Cause.USURPED, Cause.REMOVED}
    assert town.told[3] == (State.CLOSED, ended)
    town.link.start()
    assert (town.asked, town.link.ended) == (2, None)


def test_ten_minutes_after_it_was_usurped_the_owner_is_asked() -> None:
    town = Town()
    town.link.start()
    town.play().dataReceived(b"*** Redirecting connection to new port ***\r\n")
    town.reactor.advance(ASK_AFTER)
    assert town.told[-1] == (State.CLOSED, MAY_IT)
    assert town.asked == 1


def test_nobody_is_visited_without_permission() -> None:
    away, here = "192.0.2.7", "127.0.0.1"
    for host, permission, visited in [(away, "", 0), (away, " ", 0), (away, "Ann, by mail", 1), (here, "", 1)]:
        town = Town(host, permission=permission)
        town.link.start()
        assert town.asked == visited
        assert (town.link.ended is Cause.PERMISSION) is not bool(visited)


def test_a_stream_that_cannot_be_read_is_asked_for_no_more() -> None:
    town = Town()
    town.link.start()
    protocol, transport = town.accept()
    protocol.dataReceived(b"\xff\xfb\x56\xff\xfa\x56\xff\xf0no stream")
    assert b"\xff\xfd\x56" in transport.value()
    town.reactor.advance(FIRST_WAIT)
    protocol, transport = town.accept()
    protocol.dataReceived(b"\xff\xfb\x56")
    assert transport.value() == b"\xff\xfe\x56"


def test_a_link_that_is_stopped_does_nothing_more() -> None:
    for moment in ("connecting", "playing", "waiting", "never"):
        town = Town()
        if moment != "never":
            town.link.start()
        if moment == "playing":
            town.play()
        if moment == "waiting":
            town.refuse()
        town.link.stop()
        town.link.type_line("say hello")
        town.reactor.pump([60] * 100)
        assert (town.link.ended, town.link.may_speak, town.dropped) == (Cause.STOPPED, False, ["say hello"])
        assert town.asked == (moment != "never")
        assert town.told[-1] == (State.CLOSED, Cause.STOPPED)
        assert [call for call in town.reactor.getDelayedCalls() if call.active()] == []


def test_a_second_start_makes_no_second_connection() -> None:
    town = Town()
    for _ in range(3):
        town.link.start()
    town.play()
    town.link.start()
    assert town.asked == 1


def test_a_silent_game_is_kept_alive_without_a_command() -> None:
    town = Town()
    town.link.start()
    town.play()
    town.sent.clear()
    town.reactor.advance(KEEP_ALIVE - 10)
    assert town.sent == []
    town.reactor.advance(10)
    assert town.sent == [NOP]


def test_passwords_are_not_recorded() -> None:
    town = Town()
    town.link.start()
    town.play()
    assert PASSWORD not in repr((town.sent, town.told, town.lines))
    assert b"(a secret)\r\n" in town.sent


def test_a_game_that_does_not_read_is_left() -> None:
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.wire.pauseProducing()
    for _ in range(120):
        stage.send(b"\xff\xfb\x01\xff\xfc\x01A line.\r\n" * 100)
    assert stage.causes == [Cause.UNREAD]
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.wire.pauseProducing()
    stage.wire.resumeProducing()
    for _ in range(120):
        stage.send(b"\xff\xfb\x01\xff\xfc\x01A line.\r\n" * 100)
    assert stage.causes == []


def test_more_lines_than_anybody_reads_end_the_connection() -> None:
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.send(b"\r\n" * MOST_LINES)
    assert stage.causes == []
    stage.send(b"\r\n" * (MOST_LINES + 1))
    assert stage.causes == [Cause.FLOOD]


def test_many_lines_at_once_are_taken_turn_by_turn_and_none_is_lost() -> None:
    stage = Stage(shipped("diku", WHO.name), WHO)
    stage.follow(GAMES["diku"])
    stage.wait()
    told = len(stage.texts)
    stage.wire.dataReceived(b"".join(b"line %d\r\n" % number for number in range(450)))
    assert (stage.transport.producerState, len(stage.texts) - told) == ("paused", 200)
    stage.wire.dataReceived(b"line 450\r\n")
    stage.wait(0.3)
    assert stage.texts[told:] == [f"line {number}" for number in range(451)]
    assert stage.transport.producerState == "producing"


def test_a_link_that_is_cut_two_hundred_times_says_nothing_twice() -> None:
    dice = Random(5)  # noqa: S311  (where it is cut is no secret)
    said: list[str] = []
    for cut in range(200):
        stage = Stage(shipped("diku", WHO.name), WHO)
        stage.follow(GAMES["diku"])
        stage.wait()
        stage.typed()
        stage.wire.session.type_line(f"say {cut}")
        stage.wire.session.type_line(f"say {cut} more")
        answer = f"You say, '{cut}'\r\n\r\n".encode() + POINTS
        stage.send(answer[: dice.randrange(len(answer) + 1)])
        stage.wait(dice.choice([0.0, 1.0]))
        said += stage.typed()
        stage.end()
        stage.wait(30)
        assert stage.typed() == []
    assert len(said) == len(set(said))
    assert set(said) <= {f"say {cut}{more}" for cut in range(200) for more in ("", " more")}


class Game(Protocol):
    """A game over loopback that follows a script, and cuts the connection where it is told to."""

    def __init__(self, script: list[Step], on_line: Callable[[str], None]) -> None:
        self._script, self._on_line = list(script), on_line
        self._heard = b""

    def connectionMade(self) -> None:
        """Begin."""
        self._go_on()

    def dataReceived(self, data: bytes) -> None:
        """Take the lines."""
        self._heard += data
        *lines, self._heard = self._heard.split(b"\r\n")
        for line in lines:
            self._on_line(NEGOTIATION.sub(b"", line).decode())
            if self._script and isinstance(self._script[0], str):
                del self._script[0]
                self._go_on()

    def _go_on(self) -> None:
        while self._script and isinstance(self._script[0], bytes):
            assert self.transport is not None
            self.transport.write(self._script.pop(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("game", GAMES)
async def test_the_games_are_logged_in_to_over_loopback(reactor: Any, game: str) -> None:
    typed: list[str] = []
    playing: Deferred[None] = Deferred()
    factory = Factory.forProtocol(lambda: Game(GAMES[game], typed.append))
    port = await TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(factory)
    endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", port.getHost().port)
    place = GamePlace("127.0.0.1", shipped(game, WHO.name), WHO)
    listener = LinkListener(
        on_event=lambda _: None,
        on_state=lambda state, _: playing.callback(None) if state is State.PLAYING else None,
    )
    link = GameLink(endpoint, reactor, Random(1), place, listener)  # noqa: S311  (jitter)
    link.start()
    await playing.addTimeout(20, reactor)
    assert [line for line in typed if line or game == "diku"] == [step for step in GAMES[game] if isinstance(step, str)]
    link.stop()
    await port.stopListening()
    await deferLater(reactor, 0, lambda: None)
    assert (link.ended, link.state) == (Cause.STOPPED, State.CLOSED)
