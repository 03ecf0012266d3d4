"""How to call an unreliable outside: deadlines, one bounded HTTP exchange, coroutines that are never lost.

Knows nothing of language models or games.
"""

from resilience.deadline import Deadline
from resilience.errors import (
    BodyTooLarge,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    ResilienceError,
    TimedOut,
    TransportError,
)
from resilience.exchange import HttpExchange
from resilience.launcher import Launcher
from resilience.pipeline import call
from resilience.request import Collected, Limits, Request, Sink, origin_of

__all__ = [
    "BodyTooLarge",
    "Collected",
    "ConnectFailed",
    "ConnectionLost",
    "Deadline",
    "DeadlineExceeded",
    "HttpExchange",
    "Launcher",
    "Limits",
    "Request",
    "ResilienceError",
    "Sink",
    "TimedOut",
    "TransportError",
    "call",
    "origin_of",
]
