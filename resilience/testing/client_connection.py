"""One client's connection: its requests in order, each with its planned fault."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from mud_assistant.resilience.testing.answers import Status, interval_seconds, pieces
from mud_assistant.resilience.testing.fake import Answered, Fake
from mud_assistant.resilience.testing.fault_writer import FaultWriter, Schedule
from mud_assistant.resilience.testing.faults import PASS, Ending, Record, Shape, shape_of
from mud_assistant.resilience.testing.framing import (
    Body,
    End,
    Framing,
    FramingError,
    Head,
    Part,
    request_length,
    response_length,
    wants_close,
)
from mud_assistant.resilience.testing.server_connection import ConnectionCounter, Listener, ServerConnection

#: With more than this many bytes of later requests waiting, a client is not read.
_HIGH_WATER_BYTES = 64 * 1024
_TEXT = ("Content-Type", "text/plain; charset=utf-8")


def _nothing() -> None:
    """Do nothing: nobody waits for the client."""


class ServerState(typing.Protocol):
    """State shared by all connections of a server. It answers by its `fake`, or passes requests on to `host`:`port`."""

    reactor: IReactorTime
    fake: Fake[Any] | None
    host: str
    port: int
    random: Random
    clients: ConnectionCounter
    servers: ConnectionCounter

    def begin(self, head: bytes) -> Record:
        """Return the record of a new request, with its fault."""
        ...

    def complain(self, error: str, record: Record | None) -> None:
        """Note why a request was not served. Without a record, the request never began."""
        ...


class ClientConnection(Protocol):
    """A connection from a client, and the one to the real server that belongs to it, unless a fake answers.

    `_writer` is set while an answer is under way. A client that sends its next request before it ends has to wait.
    """

    transport: Any

    def __init__(self, server: ServerState) -> None:
        self._server = server
        self._fake = server.fake
        self._clock = server.reactor if server.fake is None else server.fake.clock or server.reactor
        self._asked: tuple[bytes, bytearray] = b"", bytearray()
        self._leave: Callable[[], None] = _nothing
        self._requests = Framing(request_length)
        self._answers: Framing | None = None
        self._upstream: ServerConnection | None = None
        self._writer: FaultWriter | None = None
        self._record: Record | None = None
        self._shape: Shape = shape_of(PASS)
        self._request_ended = False
        self._is_last = False
        self._deaf = False

    def connectionMade(self) -> None:
        """Count the connection."""
        self.transport.setTcpNoDelay(True)
        self._server.clients.add(self)

    def dataReceived(self, data: bytes) -> None:
        """Take what the client sends. Pause the client when too much of later requests is waiting."""
        if self._deaf:
            return
        self._requests.feed(data)
        self._take()
        if self._requests.held_bytes > _HIGH_WATER_BYTES and self._is_waiting():
            self.transport.pauseProducing()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Let the real server know that the client has left."""
        is_idle = self._writer is None
        self._deaf = True
        if self._writer is not None:
            self._writer.stopProducing()
        self._drop_upstream(is_idle=is_idle)
        self._leave()
        self._server.clients.remove(self)

    def abort(self) -> None:
        """Reset the connection."""
        self._deaf = True
        self.transport.abortConnection()

    def _is_waiting(self) -> bool:
        """Tell whether what the client sends now is a request that must wait for the answer to the one before."""
        return self._requests.is_between and self._writer is not None

    def _take(self) -> None:
        """Handle the parts of requests that have arrived."""
        try:
            while not self._deaf and not self._is_waiting() and (part := self._requests.next()) is not None:
                self._handle(part)
        except FramingError as error:
            self._misunderstood(str(error))

    def _handle(self, part: Part) -> None:
        if isinstance(part, Head):
            self._begin(part.data)
        elif isinstance(part, End):
            self._request_ended = True
            self._answer()
        elif self._fake is not None:
            self._asked[1].extend(part.data)
        elif self._upstream is not None and self._shape.asks:
            self._upstream.write(part.data)

    def _begin(self, head: bytes) -> None:
        """Start an exchange."""
        if self._fake is not None and request_length(head) is Body.CHUNKED:
            raise FramingError("a fake reads no chunked body: send Content-Length")
        self._record = self._server.begin(head)
        self._shape = shape_of(self._record.fault)
        self._request_ended = False
        self._is_last = wants_close(head)
        schedule = Schedule(self._shape, self._server.random)
        self._writer = FaultWriter(
            self._clock, self.transport, schedule, self._record, over=self._over, has_room=self._has_room
        )
        self._writer.start()
        if self._fake is not None:
            self._asked = head, bytearray()
        elif self._shape.asks:
            self._ask(head)

    def _ask(self, head: bytes) -> None:
        """Pass the request on to the real server."""
        self._answers = Framing(partial(response_length, method=head.split(b" ", 1)[0]))
        if self._upstream is None:
            listener = Listener(self._received, self._lost, self._unreachable)
            self._upstream = ServerConnection(listener, self.transport, self._server.servers)
            self._upstream.open(self._server.reactor, self._server.host, self._server.port)
        self._upstream.write(head)

    def _answer(self) -> None:
        """Answer without the real server, if the whole request is here, and a fault or a fake has the answer."""
        if not self._request_ended or self._writer is None:
            return
        answer = self._shape.answer
        if answer is not None:
            ending = Ending.CLOSE if self._is_last else Ending.KEEP
            self._writer.pour(pieces(answer), interval_seconds(answer), ending)
        elif self._fake is not None and self._shape.asks:
            head, body = self._asked
            self._leave = self._fake.take(head, bytes(body), self._play)

    def _play(self, answer: Answered) -> None:
        """Write the answer of the fake."""
        if self._writer is not None:
            is_last = self._is_last and answer.ending is Ending.KEEP
            ending = Ending.CLOSE if is_last else answer.ending
            method = self._asked[0].split(b" ", 1)[0].decode("latin-1")
            self._writer.pour(answer.pieces(method), answer.piece_seconds, ending, answer.delay_seconds)

    def _received(self, data: bytes) -> None:
        """Pass on what the real server says, even if no request asked for it, such as a time-out of the connection."""
        writer = self._writer
        if writer is None:
            self.transport.write(data)
        elif self._shape.asks:
            writer.feed(data)
            if self._is_whole(data):
                writer.finish(Ending.KEEP)
            self._has_room()

    def _has_room(self) -> None:
        """Let the real server go on, or let it wait while the client does not take what it has sent."""
        if self._upstream is not None and self._writer is not None:
            self._upstream.read(is_wanted=not self._writer.is_full)

    def _is_whole(self, data: bytes) -> bool:
        """Tell whether the real server's answer ends with this data. An answer that cannot be followed never does."""
        if self._answers is None:
            return False
        self._answers.feed(data)
        try:
            while (part := self._answers.next()) is not None:
                if isinstance(part, End):
                    return True
        except FramingError:
            self._answers = None
        return False

    def _lost(self, reason: Failure) -> None:
        """End the client's connection the way the real server ended ours, after what it sent."""
        self._upstream = None
        if self._writer is None:
            self.transport.loseConnection()
        elif self._shape.asks:
            self._writer.finish(Ending.CLOSE if reason.check(ConnectionDone) else Ending.RESET)

    def _unreachable(self, error: str) -> None:
        """Answer in place of a server that is not there."""
        self._upstream = None
        self._server.complain(error, self._record)
        self._shape = replace(self._shape, answer=Status(502, f"the fault proxy {error}\n".encode(), (_TEXT,)))
        self._answer()

    def _misunderstood(self, error: str) -> None:
        """Refuse a request that cannot be followed, unless its answer has begun, and hang up."""
        self._deaf = True
        record = self._record if self._writer is not None else None
        self._server.complain(error, record)
        if self._writer is not None:
            self._writer.stopProducing()
            self.transport.unregisterProducer()
        self._drop_upstream()
        if record is None or not record.sent_bytes:
            refusal = Status(400, f"{error}\n".encode(), (_TEXT, ("Connection", "close")))
            self.transport.writeSequence(list(pieces(refusal)))
        self.transport.loseConnection()

    def _over(self, ending: Ending) -> None:
        """Keep, close, reset or leave hanging the client's connection, as the ending of the answer says."""
        is_orphan = self._fake is None and self._shape.asks and self._upstream is None
        self._writer = None
        if ending in {Ending.KEEP, Ending.CLOSE}:
            self._leave = _nothing
        if ending is Ending.KEEP and not is_orphan:
            self.transport.resumeProducing()
            self._take()
            return
        self._deaf = True
        self._drop_upstream()
        if ending is Ending.RESET:
            self.transport.abortConnection()
        elif ending is not Ending.HANG:
            self.transport.loseConnection()

    def _drop_upstream(self, *, is_idle: bool = False) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            upstream.drop(is_idle=is_idle)
