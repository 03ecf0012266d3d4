"""One connection of a client: Twisted's own reading of HTTP, with limits of size and time, and refusals that arrive.

A request that is refused before its body was read is answered at once, and the connection ends after it. What the
client still sends is dropped for a while: closed at once, the connection would lose the answer on its way.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure as Reason
from twisted.web.http import HTTPChannel, Request

from mud_assistant.assistant.http_server.bounds import (
    BODY_SECONDS,
    HEAD_SECONDS,
    IDLE_SECONDS,
    LINGER_SECONDS,
    MAX_HEAD,
    SYSTEM_BYTES,
    ClientGone,
    Expectation,
    HeldBytes,
    ProgressWatch,
    UnreadRequest,
    no_room,
    too_large,
)
from mud_assistant.assistant.http_server.request_head import RequestHead, check_form, check_line, read_head


class ReceivedRequest(Request):
    """A request as it comes in. Its body is kept in memory, as it was sent."""

    channel: ServerChannel | None  # type: ignore[assignment]  # None once the connection is lost
    head: RequestHead

    def __init__(self, channel: ServerChannel, queued: object = False) -> None:
        super().__init__(channel, queued)
        self._held = channel.serving.held
        self._pieces: list[bytes] = []
        #: The bytes that are counted as held for this request.
        self.size = 0
        #: Called when the connection is lost before the request was answered.
        self.on_gone: Callable[[], object] = bool

    def gotLength(self, length: int | None) -> None:  # noqa: N802  (Twisted's name)
        """Open no file for the body."""

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  (Twisted's name)
        """Take a piece of the body."""
        assert self.channel is not None
        if self.size + len(data) > self.channel.serving.max_body:
            self.channel.refuse(too_large(self.channel.serving.max_body), self.head)
        elif not self.hold(len(data)):
            self.channel.refuse(no_room(), self.head)
        else:
            self._pieces.append(data)

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802  (Twisted's name)
        """Hand the request on. Twisted's own way would read forms."""
        self.method, self.uri, self.clientproto = command, path, version
        assert self.channel is not None
        self.channel.serving.on_request(self)

    def connectionLost(self, reason: Reason) -> None:
        """Tell who answers that nobody waits for it."""
        super().connectionLost(reason)  # type: ignore[no-untyped-call]  # Request has no types
        on_gone = self.on_gone
        self.release()
        on_gone()

    def finish(self) -> None:
        """End the answer. Nothing is held any more when the next request begins."""
        self.release()
        super().finish()  # type: ignore[no-untyped-call]  # Request has no types

    def take_body(self) -> bytes:
        """Return the body, once."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)

    def hold(self, size: int) -> bool:
        """Count `size` more bytes as held. Return False, and count nothing, when there is no room for them."""
        if not self._held.add(size):
            return False
        self.size += size
        return True

    def release(self) -> None:
        """Hold nothing for this request any more."""
        self.on_gone = bool  # it refers to this request
        self._held.remove(self.size)
        self.size = 0
        self._pieces.clear()


class Serving(Struct, frozen=True):
    """What the connections of one listener share.

    A body has at most `max_body` bytes. `judge` is given each head and the address that was connected to, and raises
    UnreadRequest for one whose body must not be read. `render_refusal` returns the bytes of a whole answer.
    `on_request` is called with each request that has arrived, and `on_lost` with each connection that has ended.
    """

    clock: IReactorTime
    max_body: int
    held: HeldBytes
    judge: Callable[[RequestHead, str], object]
    render_refusal: Callable[[UnreadRequest, RequestHead | None], bytes]
    on_request: Callable[[ReceivedRequest], object]
    on_lost: Callable[[ServerChannel], object]


class ServerChannel(HTTPChannel):
    """A connection. Requests are answered one after the other; further ones wait unread."""

    requestFactory = ReceivedRequest  # type: ignore[assignment]  # noqa: N815  (Twisted's name; it takes a subclass)
    totalHeadersSize = MAX_HEAD  # noqa: N815  (Twisted's name)
    timeOut = None  # noqa: N815  (Twisted's name: its timer does not tell a head from a body)
    requests: list[ReceivedRequest]
    transport: Any  # a TCP connection, of which no interface has everything

    def __init__(self, serving: Serving) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # HTTPChannel has no types
        self.serving = serving
        self._due = Expectation(serving.clock)
        self._is_idle = True
        #: Whether a request is being answered.
        self.is_answering = False
        #: Whether a refusal was sent, after which nothing counts.
        self._is_refused = False
        self._is_full = False
        self._undrained: list[Deferred[None]] = []

    # What Twisted calls while a request comes in.

    def connectionMade(self) -> None:
        """Begin: the first head is due."""
        super().connectionMade()  # type: ignore[no-untyped-call]  # HTTPChannel has no types
        self._watch = ProgressWatch(self.serving.clock, self.transport)
        self.transport.getHandle().setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BYTES)
        self._due.begin(HEAD_SECONDS, self.loseConnection)

    def dataReceived(self, data: bytes) -> None:
        """Read on, but nothing after a refusal."""
        if self._is_refused:
            return
        self._begin_head()
        super().dataReceived(data)  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    def lineReceived(self, line: bytes) -> None:
        """Read a line of the head. It may have arrived together with the request before."""
        if self._is_refused:
            return
        self._begin_head()
        if line.startswith((b" ", b"\t")):
            self.refuse(UnreadRequest(400, "a header must stand in one line"))
        else:
            super().lineReceived(line)  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    def headerReceived(self, line: bytes) -> bool:  # noqa: N802  (Twisted's name)
        """Keep a header. Return False for one that ends the request."""
        if self._is_refused:
            return False
        try:
            check_line(line)
        except UnreadRequest as refused:
            self.refuse(refused)
            return False
        return bool(super().headerReceived(line))  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    def lineLengthExceeded(self, line: bytes) -> None:
        """Refuse a head without an end."""
        self.refuse(UnreadRequest(400, f"the head has more than {MAX_HEAD // 1024} KiB"))

    def checkPersistence(self, request: Request, version: bytes) -> bool:  # noqa: N802  (Twisted's name)
        """Tell whether another request may follow. Twisted's own way overlooks `close` before a comma."""
        said = b",".join(request.requestHeaders.getRawHeaders(b"connection") or ()).lower()
        return version == b"HTTP/1.1" and b"close" not in {word.strip() for word in said.split(b",")}

    def allHeadersReceived(self) -> None:  # noqa: N802  (Twisted's name)
        """Judge the head, before the client is told to send its body."""
        if self._is_refused:
            return
        request = self.requests[-1]
        request.head = read_head(self._command, self._path, request.requestHeaders)
        try:
            check_form(self._version, request.requestHeaders)
            self.serving.judge(request.head, self.transport.getHost().host)
            if int(request.head.headers.get("content-length") or 0) > self.serving.max_body:
                raise too_large(self.serving.max_body)
        except UnreadRequest as refused:
            self.refuse(refused, request.head)
            return
        self._due.begin(BODY_SECONDS, self._refuse_slow_body)
        super().allHeadersReceived()  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    def allContentReceived(self) -> None:  # noqa: N802  (Twisted's name)
        """Hand the request on."""
        if self._is_refused:
            return
        self._due.end()
        self.is_answering = True
        super().allContentReceived()  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    def requestDone(self, request: Request) -> None:  # noqa: N802  (Twisted's name)
        """Wait for the next request, which may be here already."""
        self.is_answering = False
        self._is_idle = True
        self._due.begin(IDLE_SECONDS, self.loseConnection)
        super().requestDone(request)  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    def connectionLost(self, reason: Reason = connectionDone) -> None:
        """End everything of this connection."""
        self._due.end()
        self._watch.end()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]  # HTTPChannel has no types
        undrained, self._undrained = self._undrained, []
        for waiter in undrained:
            if not waiter.called:
                waiter.errback(ClientGone("the client has left"))
                waiter.addErrback(lambda _: None)  # nobody may be waiting
        self.serving.on_lost(self)

    # What Twisted calls while an answer goes out.

    def pauseProducing(self) -> None:
        """Note that more waits to be sent than should."""
        self._is_full = True
        self._watch.begin()
        super().pauseProducing()  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    def resumeProducing(self) -> None:
        """Let go on who waits: everything was sent."""
        self._is_full = False
        self._watch.end()
        super().resumeProducing()  # type: ignore[no-untyped-call]  # HTTPChannel has no types
        undrained, self._undrained = self._undrained, []
        for waiter in undrained:
            if not waiter.called:
                waiter.callback(None)

    def loseConnection(self) -> None:  # noqa: N802  (Twisted's name)
        """Close when everything was sent, or nothing was for too long."""
        self._due.end()
        self._watch.begin()
        super().loseConnection()  # type: ignore[no-untyped-call]  # HTTPChannel has no types

    # What a server calls.

    def when_drained(self) -> Deferred[None] | None:
        """Return None while more may be written, else what fires when everything was sent."""
        if not self._is_full:
            return None
        waiter: Deferred[None] = Deferred()
        self._undrained.append(waiter)
        return waiter

    def refuse(self, refused: UnreadRequest, head: RequestHead | None = None) -> None:
        """Answer a request that was not read to its end, and let the connection end."""
        if self._is_refused:
            return
        self._is_refused = True
        for request in self.requests:
            request.release()
        self._due.begin(LINGER_SECONDS, self.abort)
        self.transport.write(self.serving.render_refusal(refused, head))
        self.transport.loseWriteConnection()

    def end(self) -> None:
        """Take no further request, and close when the one that is being answered is over."""
        self.persistent = False
        if self._is_refused:
            self.abort()
        elif not self.is_answering:
            self.loseConnection()

    def abort(self) -> None:
        """Cut the connection, whatever waits to be sent."""
        self.transport.abortConnection()

    def _begin_head(self) -> None:
        if self._is_idle:
            self._is_idle = False
            self._due.begin(HEAD_SECONDS, self.loseConnection)

    def _refuse_slow_body(self) -> None:
        said = f"the body did not arrive within {BODY_SECONDS:.0f} seconds"
        self.refuse(UnreadRequest(408, said), self.requests[-1].head)

    def _respondToBadRequestAndDisconnect(self) -> None:  # noqa: N802  (Twisted's name)
        """Refuse what is no HTTP. Twisted's own answer has no headers and no words."""
        self.refuse(UnreadRequest(400, "the request is not well-formed HTTP, or its head is too large"))
