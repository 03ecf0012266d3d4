"""Decides when an attempt may go to a server: circuit, cap, queue, rate limits, refusals that hold."""

from resilience.admission.attempt import Attempt
from resilience.admission.breaker import CircuitBreaker, Permit
from resilience.admission.circuit import BreakerConfig, CircuitState
from resilience.admission.in_flight import InFlightConfig
from resilience.admission.queue_entry import AdmissionRequest
from resilience.admission.quota import Credential, Quota
from resilience.admission.rate_limit_window import RateLimitSnapshot
from resilience.admission.retry_budget import RetryBudgetConfig
from resilience.admission.revocation import Revocation
from resilience.admission.upstream import Upstream, UpstreamConfig

__all__ = [
    "AdmissionRequest",
    "Attempt",
    "BreakerConfig",
    "CircuitBreaker",
    "CircuitState",
    "Credential",
    "InFlightConfig",
    "Permit",
    "Quota",
    "RateLimitSnapshot",
    "RetryBudgetConfig",
    "Revocation",
    "Upstream",
    "UpstreamConfig",
]
