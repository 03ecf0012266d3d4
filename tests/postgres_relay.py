"""A relay before a PostgreSQL server, which knows enough of its protocol to cut a line around a COMMIT. In threads.

https://www.postgresql.org/docs/current/protocol-message-formats.html
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from threading import Lock, Thread
from urllib.parse import quote

from tests.postgres import OWNER, PostgresServer

#: Where the line is cut: before the server hears of the COMMIT, or once it has answered it and nobody else knows.
BEFORE, AFTER = "before COMMIT", "after COMMIT"
_QUERY, _READY = b"Q", b"Z"
_JOIN_SECONDS = 10


class Line:
    """One client's connection and ours to the server."""

    def __init__(self, relay: PostgresRelay, client: socket.socket, server: socket.socket) -> None:
        self._relay = relay
        self._client = client
        self._server = server
        #: Set when nothing is passed on any more, and nobody is told so.
        self.is_mute = False
        #: Set while the answer to a COMMIT is not to be passed on.
        self._answer_is_lost = False
        self._threads = [Thread(target=work, daemon=True) for work in (self._ask, self._answer)]
        for thread in self._threads:
            thread.start()

    def cut(self) -> None:
        """End both connections, as if the cable were gone and somebody noticed."""
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        """Wait for the threads and close the sockets."""
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)
        self._client.close()
        self._server.close()

    def _ask(self) -> None:
        """Pass on what the client says, whole messages only."""
        with suppress(OSError, EOFError), self._client.makefile("rb") as said:
            self._server.sendall(_message(said, has_kind=False)[1])
            while True:
                kind, message = _message(said)
                if kind == _QUERY and b"COMMIT" in message and (where := self._relay.next_cut()):
                    if where == BEFORE:
                        break
                    self._answer_is_lost = True
                if not self.is_mute:
                    self._server.sendall(message)
        if not self.is_mute:
            self.cut()

    def _answer(self) -> None:
        """Pass on what the server says, whole messages only."""
        with suppress(OSError, EOFError), self._server.makefile("rb") as said:
            while True:
                kind, message = _message(said)
                if not self._answer_is_lost and not self.is_mute:
                    self._client.sendall(message)
                elif kind == _READY and not self.is_mute:
                    break
        self.cut()


class PostgresRelay:
    """Listens at a port of loopback and passes all on to the server's socket. All methods are for any thread."""

    def __init__(self, server: PostgresServer) -> None:
        self._target = str(server.folder / ".s.PGSQL.5432")
        self._lock = Lock()
        self._lines: list[Line] = []
        self._cut_at = ""
        #: How many lines were cut around a COMMIT.
        self.commits_cut = 0
        self.refuses = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def url(self, schema: str, user: str = OWNER, database: str = OWNER) -> str:
        """Return the URL of a schema, through the relay."""
        port = self._listening.getsockname()[1]
        quiet = "sslmode=disable&gssencmode=disable"
        return f"postgresql://{user}@127.0.0.1:{port}/{database}?{quiet}&options=-csearch_path%3D{quote(schema)}"

    def cut_at_commit(self, where: str) -> None:
        """Cut the line of the next COMMIT, `BEFORE` it or `AFTER` it."""
        with self._lock:
            self._cut_at = where

    def next_cut(self) -> str:
        """Return where the COMMIT that passes now is to be cut, empty for not at all."""
        with self._lock:
            where, self._cut_at = self._cut_at, ""
            self.commits_cut += bool(where)
        return where

    def cut(self) -> None:
        """Cut all lines there are."""
        with self._lock:
            lines = tuple(self._lines)
        for line in lines:
            line.cut()

    def stall(self) -> None:
        """Lose from now on what is said on all lines there are, without a word to either side."""
        with self._lock:
            for line in self._lines:
                line.is_mute = True

    def close(self) -> None:
        """Cut everything and wait for the threads."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(_JOIN_SECONDS)
        self.cut()
        for line in self._lines:
            line.join()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = None if self.refuses else self._reach()
                if server is None:
                    client.close()
                    continue
                with self._lock:
                    self._lines.append(Line(self, client, server))

    def _reach(self) -> socket.socket | None:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._target)
        except OSError:
            server.close()
            return None
        return server


@contextmanager
def relay_to(server: PostgresServer) -> Iterator[PostgresRelay]:
    """A relay for the block."""
    relay = PostgresRelay(server)
    try:
        yield relay
    finally:
        relay.close()


def _message(said: BufferedReader, *, has_kind: bool = True) -> tuple[bytes, bytes]:
    """Return the kind of the next message and all its bytes; the first one has no kind. Raises EOFError."""
    head = said.read(5 if has_kind else 4)
    if len(head) < (5 if has_kind else 4):
        raise EOFError
    (size,) = struct.unpack("!I", head[-4:])
    return head[:-4], head + said.read(size - 4)
