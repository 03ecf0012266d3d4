"""Calls to an unreliable outside server: deadline, budget, retry, breaker, limits, one bounded HTTP exchange.

Knows nothing of language models or games. Read `pipeline.py` first; when a circuit opens and closes is in the table of
`admission/breaker.py`.
"""

from resilience.admission.attempt import Attempt, Verdict
from resilience.admission.breaker import BreakerConfig, CircuitBreaker, CircuitState
from resilience.admission.capacity import InFlightConfig
from resilience.admission.pace import RateLimitSnapshot
from resilience.admission.quota import Credential
from resilience.admission.upstream import Upstream, UpstreamConfig
from resilience.amounts import Account, Allowance, Amount
from resilience.background import Launcher
from resilience.budget.ledger import Ledger
from resilience.budget.writer import Keep
from resilience.cache import Cache
from resilience.call import AttemptFunction, Call, Caller, CallTarget, RetryConfig
from resilience.deadline import Deadline
from resilience.errors import (
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
    Revoked,
    TimedOut,
    TransportError,
)
from resilience.http.exchange import HttpExchange
from resilience.http.headers import ReceivedHeaders, SentHeaders
from resilience.http.request import Collected, Limits, Request, Sink, host_of, origin_of
from resilience.pipeline import Pipeline
from resilience.snapshot import Snapshot

__all__ = [
    "Account",
    "Allowance",
    "Amount",
    "Attempt",
    "AttemptFunction",
    "BodyTooLarge",
    "BreakerConfig",
    "BudgetSpent",
    "BudgetUnkept",
    "Cache",
    "Call",
    "CallTarget",
    "Caller",
    "CircuitBreaker",
    "CircuitOpen",
    "CircuitState",
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
    "Pipeline",
    "QueueFull",
    "RateLimitSnapshot",
    "ReceivedHeaders",
    "Request",
    "ResilienceError",
    "RetryConfig",
    "Revoked",
    "SentHeaders",
    "Sink",
    "Snapshot",
    "TimedOut",
    "TransportError",
    "Upstream",
    "UpstreamConfig",
    "Verdict",
    "host_of",
    "origin_of",
]
