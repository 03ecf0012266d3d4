"""Judges where a URL leads: its name is resolved once, and every answer is checked against the table of addresses.

Names are resolved in a few threads of our own, within a deadline; a late answer is an error. The reactor's own pool is
not used: a name server that does not answer would fill it. The threads are daemons, because a look-up cannot be ended
and must not hold up the end of the program.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from mud_assistant.resilience import Deadline, DeadlineExceeded
from mud_assistant.resilience.background import DaemonThreads, Full
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.addresses import Address, Rule, judge, parse_address
from mud_assistant.tools.web.fetch.seen import SeenUrls
from mud_assistant.tools.web.fetch.url import MAX_URL_CHARS, SafeUrl, UrlOrigin, UrlPolicy, UrlRefused, parse

_log = Logger()
#: What `socket.getaddrinfo` returns: family, type, protocol, canonical name and socket address, the host first.
_Found = Sequence[tuple[Any, Any, Any, Any, tuple[Any, ...]]]
_AUTHORITY_END = re.compile(r"[/?#\\]")


class Resolver(Protocol):
    """Looks names up."""

    def resolve(self, name: str) -> Awaitable[Sequence[str]]:
        """Return the addresses of a name, best first, at least one. Raises WebError. May be cancelled."""
        ...


class GetAddrInfo(Protocol):
    """`socket.getaddrinfo`, as far as we call it."""

    def __call__(self, host: bytes, port: None, *, type: int) -> _Found:  # noqa: A002  (its own name)
        """Look a name up, for as long as it takes."""
        ...


class UrlJudge:
    """Decides what may be asked for under a policy, in the same way for our own fetcher and for remote readers."""

    def __init__(self, policy: UrlPolicy, resolver: Resolver) -> None:
        self.policy = policy
        self._resolver = resolver

    def admit(self, url: str, seen: SeenUrls | None = None) -> SafeUrl:
        """Return the parsed URL that the model gave, if its text may be asked for. Raises UrlRefused.

        `seen` are the URLs that were shown; without them the policy `url_origin: seen` admits none.
        """
        try:
            safe = parse(url, self.policy)
            self._require_shown(safe, seen)
        except UrlRefused as refused:
            log_refusal(refused.rule, _loggable(url))
            raise
        return safe

    def _require_shown(self, url: SafeUrl, seen: SeenUrls | None) -> None:
        if self.policy.url_origin is UrlOrigin.SEEN and (seen is None or url not in seen):
            raise UrlRefused("not in a search result or a player's message")

    async def addresses(self, url: SafeUrl) -> tuple[Address, ...]:
        """Return the addresses `url` may be connected to: all that its name resolves to.

        Raises WebError if any one of them is refused.
        """
        literal = url.address
        answers = await self._resolver.resolve(url.host) if literal is None else [str(literal)]
        allowed = self.policy.allow_private if literal is not None else self.policy.allowed_for(url.host)
        judged: list[Address] = []
        for answer in answers:
            rule = judge(answer, nat64=self.policy.nat64, allowed=allowed)
            address = parse_address(answer)
            if rule is not None or address is None:
                refused = rule or Rule("no address")
                log_refusal(refused.name, url.origin, answer, str(refused.network or ""))
                raise UrlRefused(refused.name)
            judged.append(address)
        if not judged:
            raise WebError(ErrorKind.NETWORK, f"the name {url.host} was not found")
        return tuple(judged)


async def judge_for_reader(url: str, policy: UrlPolicy, seen: SeenUrls | None, resolver: Resolver) -> SafeUrl:
    """Judge a URL for a remote reader as our own fetcher would, and return it. Raises WebError.

    A remote reader cannot reach our network, but it must not learn of it, nor be sent what the model composed.
    """
    judge_of_urls = UrlJudge(policy, resolver)
    safe = judge_of_urls.admit(url, seen)
    await judge_of_urls.addresses(safe)
    return safe


def log_refusal(rule: str, origin: str = "", address: str = "", network: str = "") -> None:
    """Log for the operator what the model is not told."""
    _log.warn(
        "a page was refused: {rule} {origin} {address} {network}",
        log_event="web_refused",
        rule=rule,
        origin=origin,
        address=address,
        network=network,
    )


def _loggable(url: str) -> str:
    """Return the part of an unreadable URL that may be logged: scheme and host, without user name, path or query."""
    scheme, separator, rest = url[:MAX_URL_CHARS].partition("://")
    if not separator:
        return ""
    return one_line(f"{scheme}://{_AUTHORITY_END.split(rest, maxsplit=1)[0].rpartition('@')[2]}", max_chars=100)


class ThreadedResolver:
    """The operating system's own look-up. `reactor` takes the answers over from the threads.

    At most `threads` look-ups run and `waiting` wait; each has `seconds` from when it is asked for. Only the first
    `most` addresses of an answer are used. Names are looked up as absolute ones: our search domains are not tried.
    """

    def __init__(
        self,
        reactor: Any,  # Any: no one interface has both time and threads
        *,
        threads: int = 4,
        seconds: float = 5.0,
        waiting: int = 64,
        most: int = 16,
        getaddrinfo: GetAddrInfo = socket.getaddrinfo,
    ) -> None:
        self._reactor = reactor
        self._seconds = seconds
        self._most = most
        self._getaddrinfo = getaddrinfo
        self._threads: DaemonThreads[_Found] = DaemonThreads(reactor, "looking a name up", threads, waiting)
        self._open: set[Deferred[_Found]] = set()

    async def resolve(self, name: str) -> Sequence[str]:
        """Return the addresses of `name`.

        Raises WebError: NETWORK when there are none, TIMEOUT when it takes too long.
        """
        try:
            found = await self._found(name)
        except DeadlineExceeded:
            raise WebError(ErrorKind.TIMEOUT, f"the name {name} was not found within {self._seconds:g} s") from None
        except (OSError, UnicodeError):
            raise WebError(ErrorKind.NETWORK, f"the name {name} was not found") from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))[: self._most]
        if not addresses:
            raise WebError(ErrorKind.NETWORK, f"the name {name} was not found")
        return addresses

    def close(self) -> None:
        """Let idle threads end. Callers that wait get the error that the name was not found."""
        for looked_up in list(self._open):
            if not looked_up.called:
                looked_up.errback(OSError("closed"))
        self._threads.close()

    async def _found(self, name: str) -> _Found:
        """Return what the system found. Raises DeadlineExceeded, or what the look-up raised."""
        host = f"{name}.".encode("ascii")
        try:
            looked_up = self._threads.run(lambda: self._getaddrinfo(host, None, type=socket.SOCK_STREAM))
        except (Full, CancelledError):
            raise WebError(ErrorKind.NETWORK, "too many names are being looked up") from None
        self._open.add(looked_up)
        try:
            return await Deadline.after(self._reactor, self._seconds).bound(looked_up)
        finally:
            self._open.discard(looked_up)
