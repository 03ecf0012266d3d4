"""Calls to an unreliable outside server: deadline, budget, retry, breaker, limits, one bounded HTTP exchange.

Knows nothing of language models or games. Read `pipeline.py` first; when a circuit opens and closes is in the table of
`admission/breaker.py`.
"""

from mud_assistant.resilience.admission.attempt import Attempt, Verdict
from mud_assistant.resilience.admission.breaker import BreakerConfig, CircuitBreaker, CircuitState
from mud_assistant.resilience.admission.capacity import InFlightConfig
from mud_assistant.resilience.admission.pace import RateLimitSnapshot
from mud_assistant.resilience.admission.quota import Credential
from mud_assistant.resilience.admission.upstream import Upstream, UpstreamConfig
from mud_assistant.resilience.amounts import Account, Allowance, Amount
from mud_assistant.resilience.background import Launcher
from mud_assistant.resilience.budget.ledger import Ledger
from mud_assistant.resilience.budget.writer import Keep
from mud_assistant.resilience.cache import Cache
from mud_assistant.resilience.call import AttemptFunction, Call, Caller, CallTarget, RetryConfig
from mud_assistant.resilience.deadline import Deadline
from mud_assistant.resilience.errors import (
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
from mud_assistant.resilience.http.exchange import HttpExchange
from mud_assistant.resilience.http.headers import ReceivedHeaders, SentHeaders
from mud_assistant.resilience.http.request import Collected, Limits, Request, Sink, host_of, origin_of
from mud_assistant.resilience.pipeline import Pipeline
from mud_assistant.resilience.snapshot import Snapshot

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
