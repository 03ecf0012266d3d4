"""The load of a gateway: requests over connections made once, from ready bytes, and a look at what came."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from benchmarks.gateways import Running
from benchmarks.paired import Turn

#: Requests on each connection between two looks at the clock of the gateway.
EACH = 4
#: Returns whether these are all bytes of an answer. Raises AssertionError when it is not the expected one.
Whole = Callable[[bytes], bool]


class Wire(Protocol):
    """One connection with one request at a time. Tells when the first byte of the answer came."""

    def __init__(self, is_whole: Whole) -> None:
        self._is_whole = is_whole
        self._held = b""
        self._waiting: Deferred[bytes] | None = None
        self.first_byte_at = 0.0

    def ask(self, request: bytes) -> Deferred[bytes]:
        """All bytes of the answer. Fails with ConnectionError when the connection ends before."""
        self._held, self.first_byte_at = b"", 0.0
        self._waiting = Deferred()
        assert self.transport is not None
        self.transport.write(request)
        return self._waiting

    def connectionMade(self) -> None:
        """Send at once."""
        self.transport.setTcpNoDelay(True)  # type: ignore[union-attr]  # a TCP connection

    def dataReceived(self, data: bytes) -> None:
        """Collect until all is there."""
        if not self._held:
            self.first_byte_at = time.perf_counter()
        self._held += data
        try:
            is_whole = self._is_whole(self._held)
        except AssertionError as error:
            self._fail(error)
            return
        if self._waiting is not None and is_whole:
            waiting, self._waiting = self._waiting, None
            waiting.callback(self._held)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell who waits."""
        self._fail(ConnectionError(f"{reason.value}, after {self._held[:300]!r}"))

    def _fail(self, error: Exception) -> None:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            waiting.errback(error)


def whole_json(answer: bytes) -> bool:
    """Whether a document is there to its end."""
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    assert answer.startswith(b"HTTP/1.1 200"), answer[:600]
    lower = answer[:end].lower()
    at = lower.find(b"content-length:")
    if at < 0:
        return answer.endswith(b"0\r\n\r\n")
    return len(answer) - end - 4 >= int(lower[at + 15 :].split(b"\r\n", 1)[0])


def whole_stream(answer: bytes) -> bool:
    """Whether a chunked answer is there to its end."""
    assert answer.startswith(b"HTTP/1.1 200"), answer[:600]
    return answer.endswith(b"0\r\n\r\n")


def post(port: int, path: str, body: bytes, key: str = "any") -> bytes:
    """All bytes of a request."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
    head += f"Content-Type: application/json\r\nAccept: */*\r\nUser-Agent: benchmark\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


async def connected(reactor: Any, port: int, count: int, is_whole: Whole) -> list[Wire]:
    """So many connections."""
    endpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", port)
    return list(await gatherResults([connectProtocol(endpoint, Wire(is_whole)) for _ in range(count)]))


def hang_up(wires: list[Wire]) -> None:
    """Close them."""
    for wire in wires:
        assert wire.transport is not None
        wire.transport.loseConnection()


class Asked:
    """One kind of request to one gateway, as a subject; what is metered is the CPU of the gateway's process."""

    def __init__(self, reactor: Any, gateway: Running, request: bytes, is_whole: Whole, callers: int = 8) -> None:
        self._reactor = reactor
        self._gateway = gateway
        self._request = request
        self._is_whole = is_whole
        self._callers = callers
        self._wires: list[Wire] = []

    async def answers(self) -> bool:
        """Whether one request gets the expected answer. What comes in its place is told on standard error."""
        (wire,) = await connected(self._reactor, self._gateway.port, 1, self._is_whole)
        try:
            await wire.ask(self._request)
        except (AssertionError, ConnectionError) as error:
            print(f"{self._gateway.name} is left out: {str(error)[:600]}", file=sys.stderr)
            return False
        finally:
            hang_up([wire])
        return True

    async def turn(self, seconds: float) -> Turn:
        """Requests on all connections until the gateway has used so many seconds of CPU."""
        if not self._wires:
            self._wires = await connected(self._reactor, self._gateway.port, self._callers, self._is_whole)
        began, done, used = self._gateway.cpu_seconds(), 0, 0.0
        while used < seconds:
            await gatherResults([self._several(wire) for wire in self._wires], consumeErrors=True)
            done += EACH * self._callers
            used = self._gateway.cpu_seconds() - began
        return Turn(used, done)

    async def close(self) -> None:
        """Hang up."""
        hang_up(self._wires)

    def _several(self, wire: Wire) -> Deferred[None]:
        async def ask() -> None:
            for _ in range(EACH):
                await wire.ask(self._request)

        return Deferred.fromCoroutine(ask())
