"""Relays before the server, in a forked process: the harness has no threads, as it goes on to fork."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from tests.crash.forked import _never_return
from tests.postgres import PostgresServer
from tests.postgres_relay import AFTER, BEFORE, PostgresRelay

#: What can be done to the lines of one relay, and what the harness says for it.
CUTS = {"cut": PostgresRelay.cut, "stall": PostgresRelay.stall}
AT_COMMIT = {"before": BEFORE, "after": AFTER}
KINDS = (*CUTS, *AT_COMMIT)


class Cutter:
    """As many relays as there are workers, each at a URL of its own."""

    def __init__(self, server: PostgresServer, schema: str, count: int) -> None:
        self._ours, theirs = socket.socketpair()
        if not os.fork():
            self._ours.close()
            _never_return(lambda: _obey(theirs, [PostgresRelay(server) for _ in range(count)], schema))
        theirs.close()
        self._said = self._ours.makefile("r")
        self.urls = self._said.readline().split()

    def cut(self, kind: str, at: int) -> None:
        """Do this to the lines of one relay."""
        self._ours.sendall(f"{kind} {at}\n".encode())

    def close(self) -> int:
        """End; return how many lines were cut around a COMMIT."""
        self._ours.shutdown(socket.SHUT_WR)
        counted = int(self._said.readline())
        self._said.close()
        self._ours.close()
        return counted


def _obey(control: socket.socket, relays: Sequence[PostgresRelay], schema: str) -> None:
    """Do what is said until nothing more comes."""
    control.sendall((" ".join(relay.url(schema) for relay in relays) + "\n").encode())
    with control.makefile("r") as said:
        for line in said:
            kind, at = line.split()
            relay = relays[int(at)]
            if kind in CUTS:
                CUTS[kind](relay)
            else:
                relay.cut_at_commit(AT_COMMIT[kind])
    control.sendall(f"{sum(relay.commits_cut for relay in relays)}\n".encode())
    os._exit(0)
