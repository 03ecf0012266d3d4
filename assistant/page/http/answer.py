"""Writes an answer with the headers that keep a browser from being used against us."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import cast

from twisted.internet.interfaces import IDelayedCall, IPushProducer, IReactorTime, ITCPTransport
from twisted.web.http import Request
from zope.interface import implementer

from assistant.page.http.call import Reply

#: On each answer that does not say otherwise. Nothing is loaded from elsewhere, no script or style stands in a page,
#: and no site frames us.
EVERY_HEADER = (
    (
        "Content-Security-Policy",
        (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
    ),
    ("X-Content-Type-Options", "nosniff"),
    # With `no-referrer` a browser sends `Origin: null` with our own forms too: they look like those of others.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
    ("Cache-Control", "no-store"),
)
#: A longer body is written piece by piece, as the client takes it.
_WHOLE_BYTES = 100 * 1024
_PIECE_BYTES = 64 * 1024
#: A client that takes nothing for this long is let go of.
_STALLED_SECONDS = 60.0
_WITHOUT_BODY = frozenset({204, 304})


def set_safety_headers(request: Request) -> None:
    """Set what is on each answer, and take the server's name off."""
    headers = request.responseHeaders
    headers.removeHeader(b"Server")
    for name, value in EVERY_HEADER:
        headers.setRawHeaders(name.encode("ascii"), [value.encode("ascii")])


def write_reply(request: Request, reply: Reply, clock: IReactorTime) -> None:
    """Write an answer and end it, in pieces where it is long. HEAD gets the headers alone."""
    headers = request.responseHeaders
    request.setResponseCode(reply.status, _phrase(reply.status))
    set_safety_headers(request)
    if reply.status not in _WITHOUT_BODY:
        headers.setRawHeaders(b"Content-Type", [reply.content_type.encode("ascii")])
        headers.setRawHeaders(b"Content-Length", [b"%d" % len(reply.body)])
    own: dict[str, list[bytes]] = {}
    for name, value in reply.headers:
        own.setdefault(name, []).append(value.encode("utf-8"))
    for name, values in own.items():
        headers.setRawHeaders(name.encode("ascii"), values)
    if request.method == b"HEAD" or reply.status in _WITHOUT_BODY:
        request.write(b"")
        request.finish()
    elif len(reply.body) <= _WHOLE_BYTES:
        request.write(reply.body)
        request.finish()
    else:
        _Pieces(request, reply.body, clock).start()


def _phrase(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode("ascii")
    except ValueError:
        return b"Unknown"


@implementer(IPushProducer)
class _Pieces:
    """Writes a long body as the client takes it, a piece a turn of the reactor; ends a client that takes nothing."""

    def __init__(self, request: Request, body: bytes, clock: IReactorTime) -> None:
        self._request = request
        self._clock = clock
        self._left: Iterator[bytes] = (body[at : at + _PIECE_BYTES] for at in range(0, len(body), _PIECE_BYTES))
        self._next: IDelayedCall | None = None
        self._stalled: IDelayedCall | None = None

    def start(self) -> None:
        """Begin to write. The request ends by itself."""
        self._request.registerProducer(self, True)
        self._next = self._clock.callLater(0, self._write)

    def pauseProducing(self) -> None:
        """Wait until the client has taken what is written, for at most a minute."""
        self._cancel()
        self._stalled = self._clock.callLater(_STALLED_SECONDS, self._give_up)

    def resumeProducing(self) -> None:
        """Go on."""
        self._cancel()
        self._next = self._clock.callLater(0, self._write)

    def stopProducing(self) -> None:
        """Forget the rest: the client is gone."""
        self._cancel()
        self._left = iter(())

    def _write(self) -> None:
        self._next = None
        piece = next(self._left, None)
        if piece is None:
            self._request.unregisterProducer()
            self._request.finish()
            return
        # Before the piece: writing it may pause us, which cancels this.
        self._next = self._clock.callLater(0, self._write)
        self._request.write(piece)

    def _give_up(self) -> None:
        self._stalled = None
        cast("ITCPTransport", self._request.channel.transport).abortConnection()

    def _cancel(self) -> None:
        for call in (self._next, self._stalled):
            if call is not None and call.active():
                call.cancel()
        self._next = self._stalled = None
