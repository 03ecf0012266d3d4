"""Decides when an attempt may go to a server: circuit, cap, queue, rate limits, refusals that hold."""

from mud_assistant.resilience.admission.attempt import AdmissionRequest, Attempt
from mud_assistant.resilience.admission.breaker import BreakerConfig, CircuitBreaker, CircuitState, Permit
from mud_assistant.resilience.admission.capacity import InFlightConfig, RetryBudgetConfig
from mud_assistant.resilience.admission.pace import RateLimitSnapshot
from mud_assistant.resilience.admission.quota import Credential, Quota, Revocation
from mud_assistant.resilience.admission.upstream import Upstream, UpstreamConfig

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
