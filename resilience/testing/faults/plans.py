"""Plans: which request gets which fault. A plan is a function from a request's index and head to its fault.

The index counts the requests from 0, and starts again when a running proxy is given another plan. The head is
everything before the request's body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from resilience.testing.faults.combined import PASS, Fault
from resilience.testing.faults.connection_faults import require

Plan = Callable[[int, bytes], Fault]


def always(fault: Fault) -> Plan:
    """Return a plan with the same fault for each request."""
    return lambda _index, _head: fault


def sequence(*faults: Fault, then: Fault = PASS) -> Plan:
    """Return a plan with these faults in order, and `then` for all requests after them."""
    return lambda index, _head: faults[index] if index < len(faults) else then


def every(n: int, faults: Sequence[Fault]) -> Plan:
    """Return a plan with a fault for each n-th request (the first is number n); the faults take turns."""
    require(n >= 1, "let every 1st, 2nd or later request fail: give 1 or more")
    require(bool(faults), "give one fault or more")

    def plan(index: int, _head: bytes) -> Fault:
        turn, rest = divmod(index + 1, n)
        return PASS if rest else faults[(turn - 1) % len(faults)]

    return plan


def at_random(share: float, faults: Sequence[Fault], random: Random) -> Plan:
    """Return a plan with one of the faults, all equally likely, for a `share` (0 to 1) of the requests."""
    require(0 <= share <= 1, "give the share of the requests that fail as a number from 0 to 1")
    require(bool(faults), "give one fault or more")
    return lambda _index, _head: random.choice(faults) if random.random() < share else PASS
