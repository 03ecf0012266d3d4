"""Listens for a page of its own, outside a game's web server. No request line is logged: it could hold a secret."""

from __future__ import annotations

from io import BytesIO
from typing import Any, cast

from twisted.internet.interfaces import IListeningPort, ITCPTransport
from twisted.web.http import HTTPChannel, datetimeToString
from twisted.web.http import Request as HttpRequest
from twisted.web.resource import IResource
from twisted.web.server import Request, Site

from assistant.page.http.incoming import MAX_BODY_BYTES

#: A connection on which nothing is sent between two answers is closed after this many seconds.
IDLE_SECONDS = 60
#: What is sent beyond this is no body that was too long by mistake: the connection is cut.
_CUT_BYTES = 1024 * 1024


class _Request(Request):
    """A request of which at most a little over 64 KiB is kept, and whose every path goes to the one resource."""

    _received = 0

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  (Twisted's name)
        """Keep what is sent up to the limit and one byte, by which it is refused; cut off who sends on."""
        room = MAX_BODY_BYTES + 1 - min(self._received, MAX_BODY_BYTES + 1)
        self._received += len(data)
        if room:
            super().handleContentChunk(data[:room])  # type: ignore[no-untyped-call]  # Request has no types
        if self._received > _CUT_BYTES:
            cast("ITCPTransport", self.channel.transport).abortConnection()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:  # noqa: N802  (Twisted's name)
        """Begin to answer. twisted's own way would read forms too, in whatever shape they are."""
        if self.content is not None:
            self.content.seek(0)
        self.args: dict[bytes, list[bytes]] = {}
        self.method, self.uri, self.clientproto = command, path, version
        self.path = path.partition(b"?")[0]
        self.process()

    def process(self) -> None:
        """Hand the request to the page: without a header that names the server, and without paths of its own."""
        site: PageSite = self.channel.site  # type: ignore[attr-defined]  # Site sets it on each channel
        self.site = site
        self.prepath: list[bytes] = []
        self.postpath: list[bytes] = []
        self.responseHeaders.setRawHeaders(b"Date", [datetimeToString()])
        self.render(site.resource)  # type: ignore[no-untyped-call]  # Request has no types


class _Channel(HTTPChannel):
    """A connection that takes no folded header: a proxy before it may read one in another way (RFC 9112, 5.2)."""

    _is_refused = False

    def lineReceived(self, line: bytes) -> None:
        """Read a line of the head, but nothing after one that was refused."""
        if self._is_refused:
            return
        if line.startswith((b" ", b"\t")):
            self._is_refused = True
            self._respondToBadRequestAndDisconnect()  # type: ignore[no-untyped-call]  # HTTPChannel has no types
        else:
            super().lineReceived(line)  # type: ignore[no-untyped-call]  # the same


class PageSite(Site):
    """A site that writes no log of requests, and lets go of idle connections. Streams are not idle."""

    protocol = _Channel  # type: ignore[assignment]  # a maker of any protocol
    requestFactory = _Request  # noqa: N815  (Twisted's name)
    noisy = False

    def __init__(self, resource: IResource, reactor: Any) -> None:
        super().__init__(resource, timeout=IDLE_SECONDS, reactor=reactor)  # type: ignore[no-untyped-call]  # the same

    def getContentFile(self, length: int | None) -> BytesIO:
        """Return what keeps a body: memory, whatever length was announced."""
        return BytesIO()

    def log(self, request: HttpRequest) -> None:
        """Write nothing."""


# Any: the reactor has no one interface for time and connections.
def listen(reactor: Any, resource: IResource, port: int, interface: str = "127.0.0.1") -> IListeningPort:
    """Serve a resource and return the port; 0 takes a free one. Raises twisted's CannotListenError.

    The port's `stopListening` takes no new connections; those that are open end by themselves.
    """
    return cast("IListeningPort", reactor.listenTCP(port, PageSite(resource, reactor), interface=interface))
