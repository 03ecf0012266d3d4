"""The HTTP client of tools: `treq.client.HTTPClient` over connections that reach no private address.

Each request is judged as the fetcher judges pages, redirects included: the URL by the policy, its name by all addresses
it resolves to, and only those are connected to. Nothing of ours is sent, and proxies from the environment are not used.
Every failure is a WebError. treq is of the extra `web`.
"""

from __future__ import annotations

from typing import Any

from treq.client import HTTPClient
from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.web.http_headers import Headers

from mud_assistant.resilience import Deadline, DeadlineExceeded, HttpExchange, Limits, Request, ResilienceError, Sink
from mud_assistant.resilience.http.agent import HttpAgent
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.body import BrokenPacking, Gunzip, Plain
from mud_assistant.tools.web.fetch.connect import ClientTls, PinnedEndpoints
from mud_assistant.tools.web.fetch.fetcher import FetchLimits, web_error
from mud_assistant.tools.web.fetch.judge import Resolver, UrlJudge
from mud_assistant.tools.web.fetch.url import UrlPolicy

#: How many requests of one assistant run at once, and how many more may wait for their turn.
MOST_AT_ONCE, MOST_WAITING = 4, 32
#: Seconds after which a body that nobody takes is given up.
UNREAD_SECONDS = 5.0
#: Seconds by which our own time limit comes before that of the agent, whose error is not ours.
_EARLIER_SECONDS = 5.0
USER_AGENT = "mud-assistant (a tool of an assistant in a text game)"


class ToolHttp:
    """Makes the HTTP clients of one assistant. Their requests share its places and its limits."""

    def __init__(
        self,
        reactor: Any,  # Any: no one interface has TCP and time
        resolver: Resolver,
        policy: UrlPolicy | None = None,
        limits: FetchLimits | None = None,
        *,
        trust_root: Any = None,  # Any: Twisted's interface for it is private
    ) -> None:
        limits = limits or FetchLimits()
        exchange = GuardedExchange(reactor, UrlJudge(policy or UrlPolicy(), resolver), limits, ClientTls(trust_root))
        total = limits.whole_seconds + _EARLIER_SECONDS
        unread = Limits(idle_seconds=min(UNREAD_SECONDS, limits.whole_seconds))
        self._agent = HttpAgent(exchange, reactor, unread, total_seconds=total)

    def client(self) -> HTTPClient:
        """Return a client with cookies of its own: what one player's request brought is not sent for another."""
        return HTTPClient(self._agent)


class GuardedExchange:
    """Performs requests to judged addresses, each over a connection of its own and within `limits`."""

    def __init__(self, reactor: Any, judge: UrlJudge, limits: FetchLimits, tls: ClientTls) -> None:
        self._reactor = reactor
        self._judge = judge
        self._limits = limits
        self._tls = tls
        self._places = DeferredSemaphore(MOST_AT_ONCE)

    async def perform(self, request: Request, sink: Sink, limits: Limits | None = None) -> None:
        """Send `request` and feed the unpacked response to `sink`. Raises WebError. Cancelling closes the connection.

        The limits are always its own.
        """
        if len(self._places.waiting) >= MOST_WAITING:
            raise WebError(ErrorKind.RATE_LIMITED, f"{MOST_WAITING} requests of tools wait already")
        work = Deferred.fromCoroutine(self._in_turn(request, sink))
        seconds = self._limits.whole_seconds
        try:
            await Deadline.after(self._reactor, seconds).bound(work)
        except DeadlineExceeded:
            raise WebError(ErrorKind.TIMEOUT, f"a request of a tool took longer than {seconds:g} s") from None

    async def _in_turn(self, request: Request, sink: Sink) -> None:
        await self._places.acquire()
        try:
            await self._visit(request, _Unpacking(sink, self._limits.decoded_bytes))
        finally:
            self._places.release()

    async def _visit(self, request: Request, sink: _Unpacking) -> None:
        url = self._judge.admit(request.url)
        addresses = await self._judge.addresses(url)
        limits = self._limits
        whole = limits.whole_seconds
        endpoints = PinnedEndpoints(self._reactor, url, addresses, limits.connect_seconds, self._tls)
        exchange = HttpExchange(
            self._reactor,
            Limits(limits.connect_seconds, whole, whole, limits.raw_bytes, whole),
            endpoints=endpoints,
        )
        headers = _headers(request.headers, url.netloc, url.scheme)
        try:
            await exchange.perform(Request(request.method, str(url), headers, request.body), sink)
        except ResilienceError as error:
            raise web_error(error, url) from error
        sink.end()


class _Unpacking:
    """Unpacks a body for `sink`, which is never given more than `decoded_bytes`: treq's own decoder has no limit."""

    def __init__(self, sink: Sink, decoded_bytes: int) -> None:
        self._sink = sink
        self._decoded_bytes = decoded_bytes
        self._unpacker: Plain | Gunzip = Plain(decoded_bytes)
        self._is_satisfied = False

    def head(self, status: int, headers: Headers) -> None:
        """Take status and headers. Raises WebError for a packing that was not asked for."""
        packed = b", ".join(headers.getRawHeaders(b"content-encoding", [])).strip().lower()
        if packed in {b"gzip", b"x-gzip"}:
            self._unpacker = Gunzip(self._decoded_bytes)
            headers = headers.copy()
            headers.removeHeader(b"content-encoding")
            headers.removeHeader(b"content-length")
        elif packed not in {b"", b"identity"}:
            raise WebError(ErrorKind.PARSE, "the answer is packed in a way that was not asked for")
        self._sink.head(status, headers)

    def data(self, piece: bytes) -> bool | Deferred[bool]:
        """Hand on what a piece unpacks to. Raises WebError when it is too much, or cannot be read."""
        try:
            unpacked = self._unpacker.feed(piece)
        except BrokenPacking as error:
            raise _broken(error) from None
        if self._unpacker.is_cut:
            raise WebError(ErrorKind.PARSE, f"the answer has more than {self._decoded_bytes} bytes")
        answer = self._sink.data(unpacked) if unpacked else False
        self._is_satisfied = answer is True
        return answer

    def end(self) -> None:
        """Check that nothing is missing at the end. Raises WebError."""
        try:
            if not self._is_satisfied:
                self._unpacker.end()
        except BrokenPacking as error:
            raise _broken(error) from None


def _headers(given: Headers, host: str, scheme: str) -> Headers:
    """Return the headers to send: those of the tool, and those that are not its to choose."""
    headers = given.copy()
    headers.setRawHeaders("Host", [host])
    headers.setRawHeaders("Accept-Encoding", ["identity, gzip"])
    if not headers.hasHeader("User-Agent"):
        headers.setRawHeaders("User-Agent", [USER_AGENT])
    if scheme == "http":
        # As in the fetcher: metadata services of clouds refuse requests that look forwarded.
        headers.setRawHeaders("X-Forwarded-For", ["true"])
    return headers


def _broken(error: BrokenPacking) -> WebError:
    return WebError(ErrorKind.PARSE, f"the answer's gzip cannot be read: {error}")
