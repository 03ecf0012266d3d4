"""What can go wrong between us and an outside server.

    ResilienceError
    ├── TransportError
    │   ├── ConnectFailed       DNS, TCP or TLS; nothing of the request was answered
    │   ├── ConnectionLost      the connection ended before the response did
    │   ├── BodyTooLarge        the response outgrew its cap
    │   └── TimedOut            a phase of the exchange (connect, first byte, idle) took too long
    └── DeadlineExceeded        the time given to the whole call ran out

Errors name the origin (scheme, host, port) and never a path, a query or a key.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class ResilienceError(Exception):
    """A call to an outside server did not come back with a response."""

    message: str

    def __str__(self) -> str:
        """One sentence with the cause."""
        return self.message


@dataclass(eq=False)
class TransportError(ResilienceError):
    """One HTTP exchange failed. `origin` is scheme://host:port."""

    origin: str = ""


@dataclass(eq=False)
class ConnectFailed(TransportError):
    """No connection: the name, the port or the TLS handshake failed."""


@dataclass(eq=False)
class ConnectionLost(TransportError):
    """The connection ended too early. `began` is True when a response head had arrived."""

    began: bool = False


@dataclass(eq=False)
class BodyTooLarge(TransportError):
    """The response was larger than `limit_bytes` and was cut off."""

    limit_bytes: int = 0


@dataclass(eq=False)
class TimedOut(TransportError):
    """A phase of the exchange took longer than `seconds`."""

    phase: str = ""
    seconds: float = 0.0


@dataclass(eq=False)
class DeadlineExceeded(ResilienceError):
    """The whole call took longer than the `seconds` it was given."""

    seconds: float = 0.0
