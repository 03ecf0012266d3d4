"""What an operator sees of the outside at one moment: every server's circuit and queue, every limit, every budget."""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from mud_assistant.resilience.admission.breaker import CircuitState, PermitEnd
from mud_assistant.resilience.admission.quota import Quota
from mud_assistant.resilience.admission.upstream import Upstream
from mud_assistant.resilience.budget.ledger import AccountState


class UpstreamState(Struct, frozen=True):
    """One server. `recent` are its last outcomes with their causes, the newest last; all calls share `retries_left`.

    `open_for` is how many more seconds its circuit stays open, 0 when it is not open.
    """

    origin: str
    state: CircuitState
    open_for: float
    failures_in_a_row: int
    permits_out: int
    in_flight: int
    in_flight_limit: int
    waiting: int
    retries_left: float
    recent: tuple[PermitEnd, ...]
    #: How many calls were tried again.
    retries: int = 0


class QuotaState(Struct, frozen=True):
    """One credential and model. `cools_for` is in seconds, 0 when it does not; what is left is None when unknown."""

    origin: str
    credential: str
    lane: str
    revoked: str
    cools_for: float
    cool_why: str
    requests_left: int | None
    tokens_left: int | None
    #: Why the server is not asked for the model, empty when it is. `revoked_for` is for how many more seconds the
    #: refusal of the key or the model holds.
    missing: str = ""
    revoked_for: float = 0.0


class Snapshot(Struct, frozen=True):
    """The state of everything, at clock second `at`."""

    at: float
    upstreams: tuple[UpstreamState, ...]
    quotas: tuple[QuotaState, ...]
    accounts: tuple[AccountState, ...]


def upstream_state(upstream: Upstream) -> UpstreamState:
    """Return the state of one server now."""
    breaker = upstream.breaker
    is_open = breaker.state is CircuitState.OPEN
    return UpstreamState(
        upstream.name,
        breaker.state,
        breaker.retry_after() if is_open else 0.0,
        breaker.failures_in_a_row,
        breaker.permits_out,
        upstream.in_flight.used,
        upstream.in_flight.limit,
        len(upstream.queue),
        upstream.retries.left,
        tuple(breaker.recent),
        upstream.retries.spent,
    )


def quota_state(origin: str, quota: Quota) -> QuotaState:
    """Return the state of one limit now."""
    now = quota.now()
    cools_for = max(0.0, quota.cool_until - now)
    return QuotaState(
        origin,
        quota.credential.name,
        quota.name,
        quota.credential.revoked,
        cools_for,
        quota.cool_why if cools_for else "",
        quota.requests.left_at(now),
        quota.tokens.left_at(now),
        next((held.revoked for held in quota.missing.values() if held.revoked), ""),
        _seconds_left(quota, now),
    )


def _seconds_left(quota: Quota, now: float) -> float:
    """Return how many seconds a refusal still holds, 0 when none does or its end is not known."""
    held = [revocation for revocation in (quota.credential, *quota.missing.values()) if revocation.revoked]
    ends = [revocation.until - now for revocation in held if isfinite(revocation.until)]
    return max(0.0, *ends) if ends else 0.0
