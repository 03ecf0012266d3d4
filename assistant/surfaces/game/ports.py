"""Chooses the five ports of a game, once, so that its addresses stay the same at the next start."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from assistant.errors import GameError

LOOPBACK = "127.0.0.1"
#: Evennia's own first port, and the distance to the next group of ports.
FIRST = 4000
STEP = 10
_LAST = 65_535


@dataclass(frozen=True, slots=True)
class Ports:
    """A group of ports, laid out from `first` as Evennia's own are from 4000."""

    first: int

    @property
    def telnet(self) -> int:
        """The port for MUD clients."""
        return self.first

    @property
    def web(self) -> int:
        """The port of the website and the web client's page."""
        return self.first + 1

    @property
    def websocket(self) -> int:
        """The port that the web client's page connects to."""
        return self.first + 2

    @property
    def server_web(self) -> int:
        """The port of the website between the game's two processes."""
        return self.first + 5

    @property
    def amp(self) -> int:
        """The port between the game's two processes and its launcher."""
        return self.first + 6

    def all(self) -> tuple[int, ...]:
        """Return all five ports."""
        return (self.telnet, self.web, self.websocket, self.server_web, self.amp)

    def taken(self) -> list[int]:
        """Return the ports that another program listens on."""
        return [port for port in self.all() if not _is_free(port)]


def free_ports() -> Ports:
    """Return the first group from 4000 on of which no port is taken. Raises GameError when there is none."""
    for first in range(FIRST, _LAST - STEP, STEP):
        ports = Ports(first)
        if not ports.taken():
            return ports
    raise GameError("no free ports are left on this machine: stop a program that listens on some")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        # As servers do: a port is free even while the system still remembers its last connections.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((LOOPBACK, port))
            tried.listen(1)
        except OSError:
            return False
    return True
