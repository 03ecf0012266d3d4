"""Resolves names to addresses in a few threads of our own, within a deadline; a late answer is an error.

The reactor's own pool is not used: a name server that does not answer would fill it. The threads are daemons, because
a look-up cannot be ended and must not hold up the end of the program.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred

from resilience import Deadline, DeadlineExceeded
from resilience.background import DaemonThreads, Full
from tools.web.errors import ErrorKind, WebError

#: What `socket.getaddrinfo` returns: family, type, protocol, canonical name and socket address, the host first.
_Found = Sequence[tuple[Any, Any, Any, Any, tuple[Any, ...]]]


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
