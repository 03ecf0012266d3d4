"""The errors of a call to an outside server.

    ResilienceError
    ├── TransportError
    │   ├── ConnectFailed       DNS, TCP or TLS; nothing of the request was answered
    │   ├── ConnectionLost      the connection ended before the response did
    │   ├── BodyTooLarge        the response was larger than its limit
    │   └── TimedOut            a phase of the exchange (connect, first byte, idle) took too long
    ├── DeadlineExceeded        the time given to the whole call ran out
    └── NotAdmitted             nothing was sent
        ├── CircuitOpen         the server failed lately; `retry_after`
        ├── CoolingDown         the server asked to wait longer than a call waits; `until`
        ├── QueueFull           too many calls are waiting already
        ├── GaveWay             another call wanted the server, and this one was in no hurry; it may have been sent
        ├── Revoked             this credential was refused lately and has not changed
        ├── NotThere            what the call asks for was not there lately: the model
        ├── BudgetSpent         an account has no room left today
        └── BudgetUnkept        what the call may cost could not be written down

Errors name the origin (scheme, host, port) and never a path, a query or a key.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class ResilienceError(Exception):
    """A call to an outside server did not come back with a response."""

    message: str

    def __str__(self) -> str:
        """Return the message: one sentence with the cause."""
        return self.message


@dataclass(eq=False)
class TransportError(ResilienceError):
    """One HTTP exchange failed. `origin` is scheme://host:port."""

    origin: str = ""


@dataclass(eq=False)
class ConnectFailed(TransportError):
    """No connection: the name, the port or the TLS handshake failed. `untrusted` is True when the certificate did."""

    untrusted: bool = False


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


class NotAdmitted(ResilienceError):
    """The call was not made, to spare the server or the budget."""


@dataclass(eq=False)
class CircuitOpen(NotAdmitted):
    """The server `name` failed lately; it may be asked again in `retry_after` seconds."""

    name: str = ""
    retry_after: float = 0.0


@dataclass(eq=False)
class CoolingDown(NotAdmitted):
    """The server asked for no calls until `until`, in clock seconds; `why` is what it said."""

    until: float = 0.0
    why: str = ""


class QueueFull(NotAdmitted):
    """The queue for this server is full."""


class GaveWay(NotAdmitted):
    """Another call wanted the server, so this one, which gives way, was not made or was ended. It may be made later."""


@dataclass(eq=False)
class Revoked(NotAdmitted):
    """The server refused the credential lately, so it is not used for a while. `why` is what the server said."""

    why: str = ""


@dataclass(eq=False)
class NotThere(NotAdmitted):
    """The server said lately that it does not have what the call asks for. `why` is what the server said."""

    why: str = ""


@dataclass(eq=False)
class BudgetSpent(NotAdmitted):
    """`account` may not use that much more of `what` ("calls", "tokens" or "money") today; its limit is `limit`.

    `resets_at`, in seconds of the ledger's clock, is when the day ends.
    """

    account: str = ""
    what: str = ""
    limit: float = 0.0
    resets_at: float = 0.0


class BudgetUnkept(NotAdmitted):
    """What the call may cost could not be written down, so after a kill the money would be given twice.

    A later call may succeed. The cause is `__cause__`.
    """
