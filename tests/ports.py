"""Ports for programs that must be told theirs before they listen: no two processes of ours are given the same."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from socket import socket
from tempfile import gettempdir
from typing import IO

#: Below those that Linux gives to whoever asks for any (`net.ipv4.ip_local_port_range` begins at 32768).
FIRST, LAST = 20_000, 32_000
_CLAIMS = Path(gettempdir()) / f"mud-assistant-ports-{os.getuid()}"
#: The claims of this process by port. The system ends them with the process.
_held: dict[int, IO[str]] = {}


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback that nobody listens on, and that no other process of ours is given."""
    return [next(_claimed(1)) for _ in range(count)]


def free_first_port(count: int) -> int:
    """Return the first of so many free ports in a row."""
    return next(_claimed(count))


def _claimed(count: int) -> Iterator[int]:
    _CLAIMS.mkdir(exist_ok=True)
    begin = FIRST + os.getpid() * 40 % (LAST - FIRST)
    for place in range(begin, begin + LAST - FIRST, count):
        first = FIRST + (place - FIRST) % (LAST - FIRST)
        if all(_claim(port) for port in range(first, first + count)):
            yield first


def _claim(port: int) -> bool:
    """Tell whether this process has the port now, and for as long as it lives."""
    if port in _held:
        return False
    claim = (_CLAIMS / str(port)).open("w")
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket() as tried:
            tried.bind(("127.0.0.1", port))
    except OSError:
        claim.close()
        return False
    _held[port] = claim
    return True
