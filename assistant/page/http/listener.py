"""Puts the page on a listener of its own, outside a game's web server."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from io import BytesIO
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.web.http import datetimeToString

from mud_assistant.assistant.http_server.bounds import UnreadRequest
from mud_assistant.assistant.http_server.channel import ReceivedRequest
from mud_assistant.assistant.http_server.http_listener import HttpListener, render_whole
from mud_assistant.assistant.http_server.request_head import RequestHead
from mud_assistant.assistant.page.http.answer import EVERY_HEADER
from mud_assistant.assistant.page.http.errors import HttpRefusal
from mud_assistant.assistant.page.http.incoming import MAX_BODY_BYTES
from mud_assistant.assistant.page.http.resource import PageResource

#: The most bytes of all bodies that are held at a time.
_MAX_HELD = 16 * 1024 * 1024


# Any: the reactor has no one interface for connections.
def page_listener(reactor: Any, page: PageResource, clock: IReactorTime) -> HttpListener:
    """Return what listens for a page. Closing it closes the page."""
    return HttpListener(
        reactor,
        clock,
        max_body=MAX_BODY_BYTES,
        max_held=_MAX_HELD,
        render_refusal=partial(_render_refusal, page),
        on_request=partial(_answer, page),
        stop_answering=page.close,
    )


def _answer(page: PageResource, request: ReceivedRequest) -> None:
    """Hand a request to the page, with its body where twisted.web has it."""
    request.content = BytesIO(request.take_body())
    request.responseHeaders.setRawHeaders(b"Date", [datetimeToString()])
    if request.channel is not None and not request.channel.persistent:
        request.responseHeaders.setRawHeaders(b"Connection", [b"close"])
    page.render(request)


def _render_refusal(page: PageResource, refused: UnreadRequest, head: RequestHead | None) -> bytes:
    """Return the whole answer to a request that was not read to its end."""
    sentence = f"{str(refused)[:1].upper()}{str(refused)[1:]}."
    wait = () if refused.retry_after is None else (("Retry-After", f"{refused.retry_after:.0f}"),)
    error = HttpRefusal(refused.status, HTTPStatus(refused.status).phrase.capitalize(), sentence, wait)
    reply = page.refusal(error, head.path if head else "")
    said = [*EVERY_HEADER, ("Content-Type", reply.content_type), *reply.headers, ("Connection", "close")]
    headers = [(name.encode("ascii"), value.encode("utf-8")) for name, value in said]
    is_head = head is not None and head.method == "HEAD"
    return render_whole(reply.status, [*headers, (b"Date", datetimeToString())], reply.body, is_head=is_head)
