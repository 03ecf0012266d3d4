"""Calls to an unreliable outside server: deadline, budget, retry, breaker, limits, one bounded HTTP exchange.

Knows nothing of language models or games.
"""

from resilience.admission.breaker import CircuitBreaker
from resilience.admission.circuit import BreakerConfig, State
from resilience.admission.in_flight import InFlightConfig
from resilience.admission.quota import Credential
from resilience.admission.rate_limit_window import Told
from resilience.admission.server import Passage, Upstream, UpstreamConfig
from resilience.amounts import Account, Allowance, Amount
from resilience.backoff import RetryConfig
from resilience.budget.ledger import Ledger
from resilience.budget.writer import Keep
from resilience.cache.cache import Cache
from resilience.call import Attempt, Caller, Order, Target
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
from resilience.http.exchange import HttpExchange
from resilience.http.request import Collected, Limits, Request, Sink, host_of, origin_of
from resilience.launcher import Launcher
from resilience.pipeline import Pipeline
from resilience.snapshot import Snapshot
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
