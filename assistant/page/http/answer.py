"""Writes an answer with the headers that keep a browser from being used against us."""

from __future__ import annotations

from io import BytesIO

from twisted.protocols.basic import FileSender
from twisted.web.http import Request

from mud_assistant.assistant.page.http.call import Reply

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
_WITHOUT_BODY = frozenset({204, 304})


def set_safety_headers(request: Request) -> None:
    """Set what is on each answer, and take the server's name off."""
    headers = request.responseHeaders
    headers.removeHeader(b"Server")
    for name, value in EVERY_HEADER:
        headers.setRawHeaders(name.encode("ascii"), [value.encode("ascii")])


def write_reply(request: Request, reply: Reply) -> None:
    """Write an answer and end it, in pieces where it is long. HEAD gets the headers alone."""
    headers = request.responseHeaders
    request.setResponseCode(reply.status)
    set_safety_headers(request)
    if reply.status not in _WITHOUT_BODY:
        headers.setRawHeaders(b"Content-Type", [reply.content_type.encode("ascii")])
        headers.setRawHeaders(b"Content-Length", [b"%d" % len(reply.body)])
    own: dict[str, list[bytes]] = {}
    for name, value in reply.headers:
        own.setdefault(name, []).append(value.encode("utf-8"))
    for name, values in own.items():
        headers.setRawHeaders(name.encode("ascii"), values)
    if len(reply.body) <= _WHOLE_BYTES or request.method == b"HEAD":
        request.write(reply.body)  # which Twisted leaves out for HEAD
        request.finish()
    else:
        sent = FileSender().beginFileTransfer(BytesIO(reply.body), request)
        sent.addCallbacks(lambda _: request.finish(), lambda _: None)  # the client has left
