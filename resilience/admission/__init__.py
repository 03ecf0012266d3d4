"""Decides when an attempt may go to a server: circuit, cap, queue, rate limits, refusals that hold."""

from resilience.admission.attempt import AdmissionRequest, Attempt
from resilience.admission.breaker import BreakerConfig, CircuitBreaker, CircuitState, Permit
from resilience.admission.capacity import InFlightConfig, RetryBudgetConfig
from resilience.admission.pace import RateLimitSnapshot
from resilience.admission.quota import Credential, Quota, Revocation
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
