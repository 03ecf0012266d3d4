"""A server that speaks just enough of PostgreSQL's protocol to refuse, or to answer as a pooler does.

https://www.postgresql.org/docs/current/protocol-message-formats.html
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread

_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102


@dataclass(frozen=True)
class Refused:
    """An error with its code."""

    code: str
    text: str


#: The value of the one row that answers a statement, or an error. The arguments are the connection and the statement.
Answer = Callable[[int, str], "str | Refused"]


def _message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _error(refused: Refused, severity: str) -> bytes:
    fields = {"S": severity, "V": severity, "C": refused.code, "M": refused.text}
    return _message(b"E", b"".join(f"{name}{value}".encode() + b"\0" for name, value in fields.items()) + b"\0")


def _row(value: str) -> bytes:
    column = b"value\0" + struct.pack("!IHIhiH", 0, 0, 25, -1, -1, 0)
    row = struct.pack("!HI", 1, len(value)) + value.encode()
    described = _message(b"T", struct.pack("!H", 1) + column)
    return described + _message(b"D", row) + _message(b"C", b"SELECT 1\0")


_READY = _message(b"Z", b"I")


class WireServer:
    """Listens at a port of loopback; every connection has a thread."""

    def __init__(self, answer: Answer, *, refusal: Refused | None = None, tls: bytes = b"N", pid: int = 4711) -> None:
        self._answer = answer
        self._refusal = refusal
        self._tls = tls
        self._pid = pid
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._threads = [Thread(target=self._listen, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """The address for psycopg."""
        return f"postgresql://mud@127.0.0.1:{self._listening.getsockname()[1]}/mud"

    def close(self) -> None:
        """Close everything and wait for the threads."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._connections:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for one in self._connections:
            one.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._connections.append(connection)
                number = len(self._connections)
                self._threads.append(Thread(target=self._serve, args=(connection, number), daemon=True))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with suppress(OSError, EOFError, struct.error), connection.makefile("rb") as incoming:
            while True:
                size, code = struct.unpack("!II", incoming.read(8))
                incoming.read(size - 8)
                if code == _CANCEL:
                    return
                if code not in {_SSL, _GSS}:
                    break
                connection.sendall(self._tls if code == _SSL else b"N")
            if self._refusal:
                connection.sendall(_error(self._refusal, "FATAL"))
                connection.shutdown(socket.SHUT_RDWR)
                return
            hello = _message(b"R", struct.pack("!I", 0)) + _message(b"K", struct.pack("!II", self._pid, 1))
            for name, value in (("server_version", "15.1"), ("client_encoding", "UTF8")):
                hello += _message(b"S", f"{name}\0{value}\0".encode())
            connection.sendall(hello + _READY)
            while (kind := incoming.read(1)) == b"Q":
                (size,) = struct.unpack("!I", incoming.read(4))
                answer = self._answer(number, incoming.read(size - 4)[:-1].decode())
                said = _error(answer, "ERROR") if isinstance(answer, Refused) else _row(answer)
                connection.sendall(said + _READY)
            assert kind in {b"X", b""}


@contextmanager
def wire(
    answer: Answer = lambda _connection, _statement: "1", *, refusal: Refused | None = None, tls: bytes = b"N"
) -> Iterator[WireServer]:
    """A server for the block."""
    server = WireServer(answer, refusal=refusal, tls=tls)
    try:
        yield server
    finally:
        server.close()
