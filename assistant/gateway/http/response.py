"""The answer to one request, on Twisted's own request."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.web.http import datetimeToString

from mud_assistant.assistant.http_server.channel import ReceivedRequest
from mud_assistant.assistant.http_server.http_listener import with_length

#: The headers of an answer, in the order in which they are sent.
ResponseHeaders = Sequence[tuple[bytes, bytes]]

_log = Logger()


class ClientResponse:
    """The answer to one request. When the client has left, what is written is dropped."""

    def __init__(self, request: ReceivedRequest, request_id: str) -> None:
        self._request = request
        self._id = request_id
        self._is_started = False
        #: Whether the answer has ended, or nobody waits for it.
        self.is_over = False
        #: The bytes that were announced and not written; None where none were announced.
        self._owed: int | None = None

    @property
    def is_started(self) -> bool:
        """Whether the status was sent."""
        return self._is_started

    def start(self, status: int, headers: ResponseHeaders) -> None:
        """Send the status and the headers, once. An answer that is sent whole says its content-length itself.

        Raises RuntimeError the second time.
        """
        if self._is_started:
            raise RuntimeError("an answer starts once")
        self._is_started = True
        channel = self._request.channel
        if self.is_over or channel is None:
            return
        self._request.setResponseCode(status)
        for name, value in add_own_headers(headers, self._id, closes=not channel.persistent):
            self._request.responseHeaders.addRawHeader(name, value)
            if name.lower() == b"content-length" and self._request.method != b"HEAD":
                self._owed = int(value)
        self._request.write(b"")  # type: ignore[no-untyped-call]  # Request has no types

    def write(self, data: bytes) -> Deferred[None] | None:
        """Send a piece of the body. Return None while at most 64 KiB wait to be sent.

        Else return what fires when all of it was sent, and fails with ClientGone when the client leaves first or takes
        nothing for 60 seconds. A caller who writes more before that fills the memory. Raises RuntimeError before
        `start`.
        """
        if not self._is_started:
            raise RuntimeError("an answer starts with its status")
        channel = self._request.channel if not self.is_over else None
        if channel is None:
            return None
        if self._owed is not None:
            self._owed -= len(data)
        self._request.write(data)  # type: ignore[no-untyped-call]  # Request has no types
        return channel.when_drained()

    def finish(self) -> None:
        """End the answer. No effect after the first time, or when the client has left.

        Raises RuntimeError before `start`.
        """
        if self.is_over:
            return
        if not self._is_started:
            raise RuntimeError("an answer starts with its status")
        if self._owed:
            _log.error("an answer of the gateway is not as long as it says (request {id})", id=self._id)
            self.abort()  # another answer would be taken for the rest of this one
            return
        self.is_over = True
        self._request.finish()

    def abort(self) -> None:
        """Cut the connection: the client must not take what it has for the whole."""
        channel = self._request.channel if not self.is_over else None
        self.is_over = True
        if channel is not None:
            channel.abort()

    def send(self, status: int, headers: ResponseHeaders, body: bytes) -> None:
        """Send a whole answer."""
        self.start(status, with_length(headers, body))
        self.write(body)
        self.finish()


def add_own_headers(headers: ResponseHeaders, request_id: str, *, closes: bool) -> list[tuple[bytes, bytes]]:
    """Return headers with those that every answer has. None of them names the server."""
    own = request_id.encode("ascii")
    every = [*headers, (b"Date", datetimeToString()), (b"request-id", own), (b"x-request-id", own)]
    return [*every, (b"Connection", b"close")] if closes else every
