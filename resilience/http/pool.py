"""The connections that wait to be used again, by origin."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from mud_assistant.resilience.http.connection import HttpConnection

#: How long a connection waits to be used again, in seconds. Most servers wait a minute or longer.
IDLE_SECONDS = 30.0


class ConnectionPool:
    """Keeps free connections for `IDLE_SECONDS`, at most `most` of one origin. The one used last is taken first.

    One timer serves all of them; there is none while no connection waits.
    """

    def __init__(self, clock: IReactorTime, most: int) -> None:
        self._clock = clock
        self._most = most
        #: Each with the clock second since when it waits, the oldest first.
        self._free: dict[Hashable, deque[tuple[float, HttpConnection]]] = {}
        self._timer: IDelayedCall | None = None
        self._closing: set[HttpConnection] = set()
        self._closed: Deferred[None] | None = None
        self._is_closed = False

    def take(self, key: Hashable) -> HttpConnection | None:
        """Return a free connection of this origin, or None. One on which something came since is reset."""
        free = self._free.get(key)
        while free:
            _, connection = free.pop()
            if not free:
                del self._free[key]
            if connection.is_open:
                if connection.is_quiet():
                    return connection
                connection.abort()
        return None

    def put(self, key: Hashable, connection: HttpConnection) -> None:
        """Keep a connection. When there are too many of its origin, the one that waits longest is closed."""
        if self._is_closed:
            connection.close()
            return
        free = self._free.setdefault(key, deque())
        free.append((self._clock.seconds(), connection))
        if len(free) > self._most:
            free.popleft()[1].close()
        if self._timer is None:
            self._timer = self._clock.callLater(IDLE_SECONDS, self._close_idle)

    def lost(self, key: Hashable, connection: HttpConnection) -> None:
        """Forget a connection that is gone."""
        free = self._free.get(key)
        if free:
            left = deque(one for one in free if one[1] is not connection)
            if left:
                self._free[key] = left
            else:
                del self._free[key]
        if connection in self._closing:
            self._closing.remove(connection)
            if not self._closing and self._closed is not None:
                closed, self._closed = self._closed, None
                closed.callback(None)

    def close(self) -> Deferred[None]:
        """Close the free connections, and those that become free later. It fires when those that were free are gone."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        free, self._free = self._free, {}
        self._closing.update(one for waiting in free.values() for _, one in waiting)
        if not self._closing:
            return succeed(None)
        closed = self._closed = self._closed or Deferred()
        for connection in tuple(self._closing):
            connection.close()
        return closed

    def _close_idle(self) -> None:
        """Close what waited too long, and look again when the next has."""
        self._timer = None
        until = self._clock.seconds() - IDLE_SECONDS
        for key, free in list(self._free.items()):
            while free and free[0][0] <= until:
                free.popleft()[1].close()
            if not free:
                del self._free[key]
        if self._free:
            first = min(free[0][0] for free in self._free.values())
            self._timer = self._clock.callLater(first - until, self._close_idle)
