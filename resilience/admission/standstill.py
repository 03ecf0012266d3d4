"""A wait that a server asked one process for, as other processes with the same key are told of it. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Standstill(NamedTuple):
    """A server that is to be left alone for so many seconds. `credential` names a key, and never is one.

    Without a `lane` and a `credential` the whole server: its circuit opened.
    """

    origin: str
    credential: str
    lane: str
    seconds: float
    is_circuit: bool = False
