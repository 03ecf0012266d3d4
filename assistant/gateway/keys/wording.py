"""Says in words what keys may do and what they used."""

from __future__ import annotations

from datetime import UTC, datetime

from mud_assistant.assistant.gateway.keys.virtual_key import IN_FLIGHT, PER_SECOND, KeyLimits, VirtualKey
from mud_assistant.resilience import Allowance


def state_text(key: VirtualKey, wall: float) -> str:
    """Return whether a key is taken at `wall`: in use, revoked or expired."""
    if key.revoked is not None:
        return "revoked"
    return "expired" if key.trouble(wall) else "in use"


def limits_text(limits: KeyLimits) -> str:
    """Return what a key may do, in one line; "no limit" when it may do all."""
    parts = [*_allowance(limits.day, "a day"), *_allowance(limits.month, "a month")]
    if limits.models:
        parts.append(f"only {', '.join(limits.models)}")
    if limits.in_flight != IN_FLIGHT:
        parts.append(f"{limits.in_flight} at once")
    if limits.per_second != PER_SECOND:
        parts.append(f"{limits.per_second} a second")
    if limits.expires is not None:
        parts.append(f"until {limits.expires.isoformat()}")
    return "; ".join(parts) or "no limit"


def made_text(key: VirtualKey) -> str:
    """Return when a key was made, and when it was revoked."""
    made = f"made on {_day(key.created)}"
    return made if key.revoked is None else f"{made}, revoked on {_day(key.revoked)}"


def _allowance(allowance: Allowance, span: str) -> list[str]:
    limits = (
        (allowance.calls, "calls"),
        (allowance.tokens, "tokens"),
        (None if allowance.money is None else f"{allowance.money:.2f}", "money"),
    )
    return [f"{limit} {what} {span}" for limit, what in limits if limit is not None]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()
