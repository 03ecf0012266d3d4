"""The values of a circuit: its state, its settings, a change of state, and how a permit ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CircuitState(StrEnum):
    """Whether calls get through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerConfig:
    """When a circuit opens and closes. Times in seconds.

    It opens at `failure_threshold` failures without a success between them; a call that hears nothing for
    `hang_seconds` is one of them (None: calls do not hang). It stays open for `reset_timeout`, and each time that a
    probe fails `reset_growth` times longer, up to `max_reset_timeout`, plus a share of up to `reset_jitter`. Then
    `half_open_permits` calls at a time probe, never more than successes are still needed, and `success_threshold`
    successes close it.
    """

    failure_threshold: int = 5
    reset_timeout: float = 30.0
    success_threshold: int = 2
    half_open_permits: int = 1
    hang_seconds: float | None = 30.0
    reset_growth: float = 2.0
    max_reset_timeout: float = 120.0
    reset_jitter: float = 0.2


@dataclass(frozen=True, slots=True)
class PermitEnd:
    """How one permit ended ("success", "failure" or "given back"), when in clock seconds, and why."""

    at: float
    how: str
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of state of the circuit `name`. `for_seconds` is how long it stays open."""

    name: str
    at: float
    before: CircuitState
    after: CircuitState
    cause: str
    for_seconds: float = 0.0
