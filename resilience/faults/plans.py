"""Which fault befalls which request. A plan is a function from a request's index and head to its fault.

The index counts the requests from 0, beginning anew when a proxy is given another plan in mid-life; the head is what
came before the request's body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from resilience.faults.combined import PASS, Fault
from resilience.faults.toxics import require

Plan = Callable[[int, bytes], Fault]


def always(fault: Fault) -> Plan:
    """The same fault at each request."""
    return lambda _index, _head: fault


def sequence(*faults: Fault, then: Fault = PASS) -> Plan:
    """These faults one after the other, and `then` for all requests after them."""
    return lambda index, _head: faults[index] if index < len(faults) else then


def every(n: int, faults: Sequence[Fault]) -> Plan:
    """A fault at each n-th request (the first is number n), the faults taking turns."""
    require(n >= 1, "let every 1st, 2nd or later request fail: give 1 or more")
    require(bool(faults), "give one fault or more")

    def plan(index: int, _head: bytes) -> Fault:
        turn, rest = divmod(index + 1, n)
        return PASS if rest else faults[(turn - 1) % len(faults)]

    return plan


def at_random(share: float, faults: Sequence[Fault], random: Random) -> Plan:
    """One of the faults, each as likely, at a `share` of the requests between 0 and 1."""
    require(0 <= share <= 1, "give the share of the requests that fail as a number from 0 to 1")
    require(bool(faults), "give one fault or more")
    return lambda _index, _head: random.choice(faults) if random.random() < share else PASS
