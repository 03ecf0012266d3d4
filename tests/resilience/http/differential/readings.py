"""What a client makes of some bytes: ours, h11's and Twisted's, in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import h11
from twisted.internet.error import ConnectionAborted, ConnectionDone
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.web._newclient import HTTP11ClientProtocol, ResponseDone
from twisted.web._newclient import Request as TwistedRequest
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers

from mud_assistant.resilience import Collected, Limits
from mud_assistant.resilience.http.connection import HttpConnection
from mud_assistant.resilience.http.transfer import Transfer

#: Twisted keeps these apart from the headers of a response.
HIDDEN = frozenset(
    {b"connection", b"content-length", b"keep-alive", b"proxy-connection", b"te", b"trailers"}
    | {b"transfer-encoding", b"upgrade"}
)


class End(Enum):
    """How a response ended: whole, refused or cut, or not yet."""

    COMPLETE = auto()
    FAILED = auto()
    WAITING = auto()


@dataclass(frozen=True)
class Case:
    """A request's method, the bytes that answer it, and whether the server then closes the connection."""

    method: str
    data: bytes
    closes: bool


@dataclass(frozen=True)
class Reading:
    """What was read. A response that is not complete has no more than its end to compare."""

    end: End
    status: int = 0
    headers: tuple[tuple[bytes, tuple[bytes, ...]], ...] = ()
    body: bytes = b""
    #: Whether another request could be sent on the connection.
    is_kept: bool = False
    #: Why it was refused or cut, in our own words.
    why: str = field(default="", compare=False)


class Wire:
    """A transport in memory. It loses its connection when it is told to, after what is under way."""

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._reason: Exception | None = None
        self.is_lost = False
        #: What it was told: "closing", "reset", and "paused" for as long as it is.
        self.states: set[str] = set()
        self.disconnecting = False

    def write(self, data: bytes) -> None:
        """Take what is sent: nobody looks at it."""

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Take what is sent."""

    def setTcpNoDelay(self, is_on: bool) -> None:  # noqa: N802  (Twisted's name)
        """Do nothing: there is no TCP."""

    def pauseProducing(self) -> None:
        """Take note that nothing more is to come."""
        self.states.add("paused")

    def resumeProducing(self) -> None:
        """Take note that more may come."""
        self.states.discard("paused")

    def loseConnection(self) -> None:  # noqa: N802  (Twisted's name)
        """Close the connection."""
        self._reason = self._reason or ConnectionDone()
        self.disconnecting = True
        self.states.add("closing")

    def abortConnection(self) -> None:  # noqa: N802  (Twisted's name)
        """Reset the connection."""
        self._reason = ConnectionAborted()
        self.states.add("reset")

    def feed(self, pieces: Iterable[bytes], *, closes: bool) -> None:
        """Let the bytes arrive, then the server's farewell."""
        for piece in pieces:
            self._look()
            if self.is_lost:
                return
            self._protocol.dataReceived(piece)
        self._look()
        if closes:
            self.loseConnection()
            self._look()

    def _look(self) -> None:
        if self._reason is not None and not self.is_lost:
            self.is_lost = True
            self._protocol.connectionLost(Failure(self._reason))


def _grouped(pairs: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, tuple[bytes, ...]], ...]:
    found: dict[bytes, list[bytes]] = {}
    for name, value in pairs:
        found.setdefault(name.lower(), []).append(value)
    return tuple(sorted((name, tuple(values)) for name, values in found.items()))


def ours(case: Case, pieces: Sequence[bytes]) -> Reading:
    """Read with our own connection."""
    free: list[HttpConnection] = []
    connection = HttpConnection("http://test", Clock(), free.append, lambda _: None)
    wire = Wire(connection)
    connection.makeConnection(wire)  # type: ignore[no-untyped-call]  # Twisted's has no types
    sink = Collected()
    transfer = Transfer(sink, Limits(), Clock(), "http://test")
    done = transfer.done
    assert done is not None
    ends: list[tuple[End, str]] = []
    done.addCallbacks(
        lambda _: ends.append((End.COMPLETE, "")),
        lambda failure: ends.append((End.FAILED, failure.getErrorMessage().partition("not HTTP: ")[2])),
    )
    connection.send(b"", b"", transfer, expects_body=case.method != "HEAD")
    wire.feed(pieces, closes=case.closes)
    end, why = ends[0] if ends else (End.WAITING, "")
    if end is not End.COMPLETE:
        return Reading(end, why=why)
    pairs = [(name, value) for name, values in sink.headers.getAllRawHeaders() for value in values]
    return Reading(end, sink.status, _grouped(pairs), sink.body, bool(free) and connection.is_open)


def h11s(case: Case, pieces: Sequence[bytes]) -> Reading:  # noqa: C901  (one branch for each event)
    """Read with h11."""
    client = h11.Connection(h11.CLIENT, max_incomplete_event_size=2**30)
    client.send(h11.Request(method=case.method, target="/", headers=[("Host", "test")]))
    client.send(h11.EndOfMessage())
    head: h11.Response | None = None
    body = b""
    is_complete = False
    try:
        for piece in [*pieces, b""] if case.closes else pieces:
            client.receive_data(piece)
            while not is_complete:
                event = client.next_event()
                if isinstance(event, h11.Response):
                    head = event
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    is_complete = True
                elif event is h11.NEED_DATA:
                    break
                elif not isinstance(event, h11.InformationalResponse):
                    return Reading(End.FAILED)
            if is_complete and piece == b"":
                break
    except h11.RemoteProtocolError:
        if not is_complete:
            return Reading(End.FAILED)
    if not is_complete:
        return Reading(End.WAITING)
    assert head is not None
    is_kept = client.their_state is h11.DONE and not client.trailing_data[0] and not case.closes
    return Reading(End.COMPLETE, head.status_code, _grouped(head.headers), bytes(body), is_kept)


class _Reader(Protocol):
    """Collects what Twisted reads of a body."""

    def __init__(self) -> None:
        self.body = b""
        self.end = End.WAITING

    def dataReceived(self, data: bytes) -> None:
        """Keep it."""
        self.body += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Take note of the end. PotentialDataLoss is that of a body that ends with the connection."""
        self.end = End.COMPLETE if reason.check(ResponseDone, PotentialDataLoss) else End.FAILED


def twisteds(case: Case, pieces: Sequence[bytes]) -> Reading:
    """Read with Twisted's client."""
    free: list[object] = []
    client = HTTP11ClientProtocol(free.append)
    wire = Wire(client)
    client.makeConnection(wire)
    reader = _Reader()
    heads: list[Any] = []

    def begun(response: Any) -> None:
        heads.append(response)
        response.deliverBody(reader)

    def failed(_: Failure) -> None:
        reader.end = End.FAILED

    method = case.method.encode("ascii")
    request = TwistedRequest(method, b"/", Headers({b"Host": [b"test"]}), None, persistent=True)
    client.request(request).addCallbacks(begun, failed)
    wire.feed(pieces, closes=case.closes)
    if reader.end is not End.COMPLETE:
        return Reading(reader.end)
    pairs = [(name, value) for name, values in heads[0].headers.getAllRawHeaders() for value in values]
    is_kept = bool(free) and not wire.is_lost
    return Reading(End.COMPLETE, heads[0].code, _grouped(pairs), reader.body, is_kept)
