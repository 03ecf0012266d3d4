"""The safe fetcher: reads a page at a URL that a model chose, and connects to judged addresses only.

The URL and every redirect is parsed and may be refused before any look-up (`url.py`), is resolved once and judged
(`judge.py`), and is connected to at the judged addresses only (`connect.py`). Nothing of ours is sent: no credential,
no referrer, and no cookie but those that the same origin set on the way to this page (`page.py`). Proxies from the
environment are not used. No connection is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from msgspec import Struct
from twisted.internet.defer import Deferred
from twisted.web.http_headers import Headers

from mud_assistant.resilience import (
    BodyTooLarge,
    Deadline,
    DeadlineExceeded,
    HttpExchange,
    Limits,
    Request,
    ResilienceError,
    TimedOut,
)
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.connect import ClientTls, PinnedEndpoints, WrongPeer
from mud_assistant.tools.web.fetch.judge import Resolver, UrlJudge, log_refusal
from mud_assistant.tools.web.fetch.page import Fetched, PageSink, Redirected, RedirectPath, location_text
from mud_assistant.tools.web.fetch.seen import SeenUrls
from mud_assistant.tools.web.fetch.url import SafeUrl, UrlPolicy, UrlRefused, join, parse

USER_AGENT = "mud-assistant (reads single pages on a person's request)"
_PIECE_BYTES = 1024 * 1024
_ACCEPT = (
    "text/html,application/xhtml+xml,text/markdown,text/plain,application/pdf;q=0.9,application/xml;q=0.8,*/*;q=0.1"
)


class FetchLimits(Struct, frozen=True):
    """What one page may cost: times in seconds; sizes in bytes, before and after unpacking."""

    connect_seconds: float = 5.0
    whole_seconds: float = 20.0
    raw_bytes: int = 2_000_000
    decoded_bytes: int = 2_000_000
    redirects: int = 5


class SafeFetcher:
    """Fetches pages. `reactor` does TCP and time.

    `trust_root` says whose certificates are trusted, by default the platform's. `wall` returns seconds since 1970; it
    is used for dates from servers that send no Date header.
    """

    def __init__(
        self,
        reactor: Any,  # Any: no one interface has TCP and time
        resolver: Resolver,
        policy: UrlPolicy | None = None,
        limits: FetchLimits | None = None,
        *,
        trust_root: Any = None,  # Any: Twisted's interface for it is private
        user_agent: str = USER_AGENT,
        wall: Callable[[], float] | None = None,
    ) -> None:
        self._reactor = reactor
        self._wall = wall
        self._judge = UrlJudge(policy or UrlPolicy(), resolver)
        self._limits = limits or FetchLimits()
        self._tls = ClientTls(trust_root)
        self._headers = {"User-Agent": [user_agent], "Accept": [_ACCEPT], "Accept-Encoding": ["identity, gzip"]}

    async def fetch(self, url: str, seen: SeenUrls | None = None) -> Fetched:
        """Return the page at `url`. Raises WebError. Cancelling closes the connection.

        `seen` are the URLs the model was shown; the policy `url_origin: seen` checks against them.
        """
        return await self._in_time(self._follow(self._judge.admit(url, seen), RedirectPath()))

    async def follow(self, page: Fetched, reference: str) -> Fetched:
        """Return the page that `page` sends its readers to by itself (`meta refresh`).

        It is judged like any redirect, and counts with those that led to `page`. When it leads back to `page`, `page`
        is returned. Raises WebError. Cancelling closes the connection.
        """
        here = parse(page.url, self._judge.policy)
        there = self._next(here, location_text(reference.encode("utf-8", "replace")))
        if there.normal == here.normal:
            return page
        return await self._in_time(self._follow(there, page.path or RedirectPath({(here, "")})))

    async def _in_time(self, following: Coroutine[Any, Any, Fetched]) -> Fetched:
        work = Deferred.fromCoroutine(following)
        try:
            return await Deadline.after(self._reactor, self._limits.whole_seconds).bound(work)
        except DeadlineExceeded:
            seconds = self._limits.whole_seconds
            raise WebError(ErrorKind.TIMEOUT, f"the page did not come within {seconds:g} s") from None

    async def _follow(self, here: SafeUrl, path: RedirectPath) -> Fetched:
        """Return the page at the end of the redirects. Raises WebError.

        Redirects are not checked against the URLs that were shown: their server chooses them, not the model.
        """
        while True:
            step = (here, path.cookie_for(here))
            if step in path.steps:
                raise _redirect_error("the page redirects in a circle")
            if len(path.steps) > self._limits.redirects:
                raise _redirect_error(f"the page redirects more than {self._limits.redirects} times")
            path.steps.add(step)
            try:
                return await self._visit(here, path)
            except Redirected as redirected:
                here = self._next(here, redirected.location)

    def _next(self, here: SafeUrl, location: str) -> SafeUrl:
        try:
            return join(here, location, self._judge.policy)
        except UrlRefused as refused:
            log_refusal(refused.rule, f"a redirect from {here.origin}")
            raise

    async def _visit(self, url: SafeUrl, path: RedirectPath) -> Fetched:
        """Return the page at `url` itself. Raises WebError or Redirected."""
        addresses = await self._judge.addresses(url)
        limits = self._limits
        endpoints = PinnedEndpoints(self._reactor, url, addresses, limits.connect_seconds, self._tls)
        whole = limits.whole_seconds
        exchange = HttpExchange(
            self._reactor,
            # The sink itself ends the exchange at the cap; one piece of a chunked body may go beyond it.
            Limits(limits.connect_seconds, whole, whole, limits.raw_bytes + _PIECE_BYTES, whole),
            endpoints=endpoints,
        )
        wall = None if self._wall is None else self._wall()
        sink = PageSink(limits.raw_bytes, limits.decoded_bytes, self._reactor.seconds(), wall)
        try:
            await exchange.perform(Request("GET", str(url), self._headers_for(url, path)), sink)
        except ResilienceError as error:
            raise web_error(error, url) from error
        finally:
            path.learn(url, sink.cookies)
        return replace(sink.page(str(url)), path=path)

    def _headers_for(self, url: SafeUrl, path: RedirectPath) -> Headers:
        headers = Headers({**self._headers, "Host": [url.netloc]})
        if cookie := path.cookie_for(url):
            headers.setRawHeaders("Cookie", [cookie])
        if url.scheme == "http":
            # A second lock: metadata services of clouds speak plain HTTP and refuse requests that look forwarded.
            headers.setRawHeaders("X-Forwarded-For", ["true"])
        return headers


def _redirect_error(said: str) -> WebError:
    return WebError(ErrorKind.BAD_REQUEST, said, told=said)


def web_error(error: ResilienceError, url: SafeUrl) -> WebError:
    """Translate the failure into an error of the web tools. Its sentence names no more than the origin."""
    if isinstance(error.__cause__, WrongPeer):
        log_refusal("connected elsewhere", url.origin)
        return UrlRefused("connected elsewhere")
    if isinstance(error, TimedOut):
        return WebError(ErrorKind.TIMEOUT, error.message)
    return WebError(ErrorKind.PARSE if isinstance(error, BodyTooLarge) else ErrorKind.NETWORK, error.message)
