"""The open connections of a proxy."""

from __future__ import annotations

from typing import Protocol

from twisted.internet.defer import Deferred, succeed


class Connected(Protocol):
    """An object with a connection that can be reset."""

    def abort(self) -> None:
        """Reset the connection."""
        ...


class Census:
    """Counts open connections, and can end them all."""

    def __init__(self) -> None:
        self._open: dict[Connected, None] = {}
        self._empty: Deferred[None] | None = None

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    def add(self, connection: Connected) -> None:
        """Count a connection that was made. After `close`, reset it at once."""
        self._open[connection] = None
        if self._empty is not None:
            connection.abort()

    def remove(self, connection: Connected) -> None:
        """Forget a connection that is gone."""
        del self._open[connection]
        if not self._open and self._empty is not None:
            self._empty.callback(None)

    def close(self) -> Deferred[None]:
        """Reset every connection, later ones too; the Deferred fires when all are gone. Call it once."""
        self._empty = Deferred()
        if not self._open:
            return succeed(None)
        for connection in list(self._open):
            connection.abort()
        return self._empty
