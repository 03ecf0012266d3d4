"""Finds out whether a pooler stands before the server that gives each transaction another session. Blocks.

pgbouncer does so in transaction and statement mode: https://www.pgbouncer.org/features.html. Locks of a session, by
which processes see each other live, are of no use there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg

#: How often two connections are compared. Other programs may take a session that was free between.
_LOOKS = 4
_WHICH = "SELECT pg_backend_pid()"


def shares_sessions(
    connection: psycopg.Connection[tuple[Any, ...]], another: Callable[[], psycopg.Connection[tuple[Any, ...]]]
) -> bool:
    """Tell whether other connections use the session of `connection`. Raises psycopg.Error.

    Without a pooler the server's own process is the one that it named when the connection was made, and nothing more
    is asked. A pooler names one that there is not; then a second connection is made for a moment, which gets the same
    session as soon as the first is idle.
    """
    first = _process_of(connection)
    if first == connection.info.backend_pid:
        return False
    with another() as second:
        ours, theirs = {first}, set[int]()
        for _ in range(_LOOKS):
            theirs.add(_process_of(second))
            ours.add(_process_of(connection))
            if ours & theirs or len(ours) > 1 or len(theirs) > 1:
                return True
    return False


def _process_of(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    """Return the number of the server's process that answers. Both connections commit each statement."""
    row = connection.execute(_WHICH).fetchone()
    return int(row[0]) if row else 0
