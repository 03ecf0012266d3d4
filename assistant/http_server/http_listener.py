"""READ FIRST: listens, and keeps each connection within its bounds. No request is logged: it could hold a secret."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.internet.interfaces import IAddress, IListeningPort, IReactorTime
from twisted.internet.protocol import ServerFactory
from twisted.web.http import RESPONSES, Request

from mud_assistant.assistant.http_server.bounds import HeldBytes, UnreadRequest
from mud_assistant.assistant.http_server.channel import ReceivedRequest, ServerChannel, Serving
from mud_assistant.assistant.http_server.request_head import RequestHead

#: Seconds in which answers that wait to be sent may still go out when the listener closes.
CLOSING_SECONDS = 1.0


class HttpListener(ServerFactory):
    """Listens on one port. Call `start` once, and `close` before the process ends.

    `reactor` opens the port, `clock` times the connections. A body has at most `max_body` bytes, and all that are held
    at a time have `max_held`. `judge`, `render_refusal` and `on_request` are as `Serving` has them. `stop_answering`
    cancels every answer, and returns when all are over.
    """

    noisy = False

    def __init__(
        self,
        reactor: Any,  # Any: the reactor has no one interface for connections
        clock: IReactorTime,
        *,
        max_body: int,
        max_held: int,
        render_refusal: Callable[[UnreadRequest, RequestHead | None], bytes],
        on_request: Callable[[ReceivedRequest], object],
        stop_answering: Callable[[], Awaitable[object]],
        judge: Callable[[RequestHead, str], object] = lambda _head, _local: None,
    ) -> None:
        self._reactor = reactor
        self._stop_answering = stop_answering
        self._serving = Serving(
            clock, max_body, HeldBytes(max_held), judge, render_refusal, on_request, on_lost=self._forget
        )
        #: The connections, each with what fires when it has ended.
        self._connections: dict[ServerChannel, Deferred[None]] = {}
        self._port: IListeningPort | None = None

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    @property
    def held_bytes(self) -> int:
        """The bytes of all bodies that are held now."""
        return self._serving.held.held

    def start(self, port: int, interface: str = "127.0.0.1") -> IPv4Address | IPv6Address:
        """Listen and return the address; port 0 takes a free one. Raises twisted's CannotListenError."""
        self._port = cast("IListeningPort", self._reactor.listenTCP(port, self, interface=interface))
        return cast("IPv4Address | IPv6Address", self._port.getHost())

    def close(self) -> Deferred[None]:
        """Take no further request, stop answering, and close every connection.

        Fires when all of that is over. Connections that a client keeps open are cut a second after the last answer.
        """
        return Deferred.fromCoroutine(self._close())

    async def _close(self) -> None:
        port, self._port = self._port, None
        if port is not None:
            await maybeDeferred(port.stopListening)
        for channel in list(self._connections):
            channel.end()
        await self._stop_answering()
        cut = self._serving.clock.callLater(CLOSING_SECONDS, self._cut)
        try:
            await DeferredList(list(self._connections.values()))
        finally:
            if cut.active():
                cut.cancel()

    # Twisted's channel is a Protocol at run time.
    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Return what serves a new connection."""
        channel = ServerChannel(self._serving)
        channel.factory = self
        self._connections[channel] = Deferred()
        return channel

    def log(self, request: Request) -> None:
        """Write nothing."""

    def _forget(self, channel: ServerChannel) -> None:
        self._connections.pop(channel).callback(None)

    def _cut(self) -> None:
        for channel in list(self._connections):
            channel.abort()


def render_whole(status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes, *, is_head: bool) -> bytes:
    """Return the bytes of an answer that does not go through a request of Twisted."""
    lines = [b"HTTP/1.1 %d %s" % (status, RESPONSES.get(status, b"Unknown"))]
    lines += [name + b": " + value for name, value in with_length(headers, body)]
    return b"\r\n".join([*lines, b"", b"" if is_head else body])


def with_length(headers: Sequence[tuple[bytes, bytes]], body: bytes) -> list[tuple[bytes, bytes]]:
    """Return headers that say how long the body is."""
    if any(name.lower() == b"content-length" for name, _ in headers):
        return list(headers)
    return [*headers, (b"Content-Length", b"%d" % len(body))]
