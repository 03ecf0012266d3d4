"""Calls to an unreliable outside server: deadline, budget, retry, breaker, limits, one bounded HTTP exchange.

Knows nothing of language models or games.
"""

from resilience.allowance import Told
from resilience.amounts import Account, Allowance, Amount
from resilience.backoff import RetryConfig
from resilience.breaker import CircuitBreaker
from resilience.budget import Ledger
from resilience.cache import Cache
from resilience.circuit import BreakerConfig, State
from resilience.deadline import Deadline
from resilience.errors import (
    Barred,
    BodyTooLarge,
    BudgetSpent,
    BudgetUnkept,
    CircuitOpen,
    ConnectFailed,
    ConnectionLost,
    CoolingDown,
    DeadlineExceeded,
    GaveWay,
    NotAdmitted,
    NotThere,
    QueueFull,
    ResilienceError,
    TimedOut,
    TransportError,
)
from resilience.exchange import HttpExchange
from resilience.in_flight import InFlightConfig
from resilience.keeping import Keep
from resilience.launcher import Launcher
from resilience.order import Attempt, Caller, Order, Target
from resilience.pipeline import Pipeline
from resilience.quota import Credential
from resilience.request import Collected, Limits, Request, Sink, host_of, origin_of
from resilience.snapshot import Snapshot
from resilience.upstream import Passage, Upstream, UpstreamConfig
from resilience.verdict import Verdict

__all__ = [
    "Account",
    "Allowance",
    "Amount",
    "Attempt",
    "Barred",
    "BodyTooLarge",
    "BreakerConfig",
    "BudgetSpent",
    "BudgetUnkept",
    "Cache",
    "Caller",
    "CircuitBreaker",
    "CircuitOpen",
    "Collected",
    "ConnectFailed",
    "ConnectionLost",
    "CoolingDown",
    "Credential",
    "Deadline",
    "DeadlineExceeded",
    "GaveWay",
    "HttpExchange",
    "InFlightConfig",
    "Keep",
    "Launcher",
    "Ledger",
    "Limits",
    "NotAdmitted",
    "NotThere",
    "Order",
    "Passage",
    "Pipeline",
    "QueueFull",
    "Request",
    "ResilienceError",
    "RetryConfig",
    "Sink",
    "Snapshot",
    "State",
    "Target",
    "TimedOut",
    "Told",
    "TransportError",
    "Upstream",
    "UpstreamConfig",
    "Verdict",
    "host_of",
    "origin_of",
]
