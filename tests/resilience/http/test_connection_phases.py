"""A connection and its pool over a transport in memory: what ends them, and when. Time is a `Clock`."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.resilience import Collected, Limits
from mud_assistant.resilience.http.connection import CLOSE_SECONDS, HttpConnection
from mud_assistant.resilience.http.pool import IDLE_SECONDS, ConnectionPool
from mud_assistant.resilience.http.transfer import Transfer
from tests.resilience.http.differential.readings import Wire
from tests.resilience.http.serving import OK


def has_fired(deferred: Deferred[None]) -> bool:
    return bool(deferred.called)


class Pipe:
    """A connection over a transport in memory, with its pool."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = Clock()
        self.pool = ConnectionPool(self.clock, 2)
        self.connection, self.wire = self.open()
        self.limits = limits or Limits()

    def open(self) -> tuple[HttpConnection, Wire]:
        connection = HttpConnection(
            "http://x", self.clock, lambda one: self.pool.put("x", one), lambda one: self.pool.lost("x", one)
        )
        wire = Wire(connection)
        connection.makeConnection(wire)  # type: ignore[no-untyped-call]  # Twisted's has no types
        return connection, wire

    def send(self, sink: Any) -> Deferred[None]:
        transfer = Transfer(sink, self.limits, self.clock, "http://x")
        done = transfer.done
        assert done is not None
        self.connection.send(b"", b"", transfer)
        return done


def test_a_server_that_does_not_let_go_is_reset_after_a_second() -> None:
    pipe = Pipe()
    sink = Collected()
    done = pipe.send(sink)
    pipe.connection.dataReceived(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    assert has_fired(done)
    assert "closing" in pipe.wire.states
    assert "reset" not in pipe.wire.states
    pipe.clock.advance(CLOSE_SECONDS)
    assert "reset" in pipe.wire.states
    pipe.wire.feed([], closes=False)
    assert not pipe.clock.getDelayedCalls()


def test_idle_connections_are_closed_after_a_while_and_no_timer_stays() -> None:
    pipe = Pipe()
    pipe.send(Collected())
    pipe.connection.dataReceived(OK)
    pipe.clock.advance(IDLE_SECONDS - 1)
    assert pipe.pool.take("x") is pipe.connection
    pipe.pool.put("x", pipe.connection)
    pipe.clock.advance(1)
    assert "closing" not in pipe.wire.states
    pipe.clock.advance(IDLE_SECONDS)
    assert "closing" in pipe.wire.states
    assert pipe.pool.take("x") is None
    pipe.wire.feed([], closes=False)
    assert not pipe.clock.getDelayedCalls()


def test_of_too_many_idle_connections_the_one_that_waits_longest_goes() -> None:
    pipe = Pipe()
    made = [pipe.open() for _ in range(3)]
    for connection, _ in made:
        pipe.pool.put("x", connection)
    assert ["closing" in wire.states for _, wire in made] == [True, False, False]
    assert pipe.pool.take("x") is made[2][0]


def test_closing_the_pool_waits_for_idle_connections_and_closes_busy_ones_later() -> None:
    pipe = Pipe()
    idle, wire = pipe.open()
    pipe.pool.put("x", idle)
    done = pipe.send(Collected())
    closed, again = pipe.pool.close(), pipe.pool.close()
    assert "closing" in wire.states
    assert not has_fired(closed)
    assert "closing" not in pipe.wire.states
    wire.feed([], closes=False)
    assert has_fired(closed)
    assert has_fired(again)
    pipe.connection.dataReceived(OK)
    assert has_fired(done)
    assert "closing" in pipe.wire.states
    pipe.wire.feed([], closes=False)
    assert not pipe.clock.getDelayedCalls()


class Slow(Collected):
    """Is ready for more when told."""

    def __init__(self) -> None:
        super().__init__()
        self.busy: list[Deferred[bool]] = []

    def data(self, piece: bytes) -> Any:
        super().data(piece)
        self.busy.append(Deferred())
        return self.busy[-1]


def test_a_busy_sink_lets_the_server_wait_and_the_idle_clock_too() -> None:
    pipe = Pipe(Limits(idle_seconds=5))
    sink = Slow()
    done = pipe.send(sink)
    pipe.connection.dataReceived(OK[:-3])
    assert "paused" in pipe.wire.states
    pipe.clock.advance(500)
    assert not has_fired(done)
    pipe.connection.dataReceived(OK[-3:-1])
    assert sink.body == b"he"
    sink.busy.pop().callback(False)
    assert sink.body == b"hell"
    assert "paused" in pipe.wire.states
    sink.busy.pop().callback(False)
    assert "paused" not in pipe.wire.states
    pipe.connection.dataReceived(OK[-1:])
    assert not has_fired(done)
    assert pipe.pool.take("x") is pipe.connection
    sink.busy.pop().callback(False)
    assert has_fired(done)
    assert not [call for call in pipe.clock.getDelayedCalls() if call.getTime() < 520]


def test_a_busy_sink_that_is_cancelled_ends_the_exchange() -> None:
    pipe = Pipe()
    sink = Slow()
    done = pipe.send(sink)
    failed: list[Failure] = []
    done.addErrback(failed.append)
    pipe.connection.dataReceived(OK[:-3])
    sink.busy[0].addErrback(lambda failure: failure.trap(CancelledError) and None)
    done.cancel()
    pipe.wire.feed([], closes=False)
    assert failed[0].check(CancelledError)
    assert pipe.wire.is_lost
    assert not pipe.clock.getDelayedCalls()


@pytest.mark.parametrize("came", [b"", b"HTTP/1.1 200", OK[:-3]])
def test_cancelling_resets_the_connection_in_every_phase(came: bytes) -> None:
    pipe = Pipe()
    failed: list[Failure] = []
    done = pipe.send(Collected())
    done.addErrback(failed.append)
    if came:
        pipe.connection.dataReceived(came)
    done.cancel()
    assert "reset" in pipe.wire.states
    pipe.wire.feed([], closes=False)
    assert failed[0].check(CancelledError)
    assert not pipe.clock.getDelayedCalls()
