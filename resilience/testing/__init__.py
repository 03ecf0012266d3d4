"""A server that misbehaves on demand, for tests, benches and people: `python -m resilience.testing --help` serves one.

The proxy stands in front of any server that speaks HTTP/1.1, a real model server or a fake one, and lays faults over
its answers: late, slow, cut, silent, or replaced by an answer of the proxy's own.
"""

from __future__ import annotations

from resilience.testing.answers import (
    EndlessEvents,
    GzipBomb,
    HalfEvent,
    HtmlPage,
    HugeHeader,
    Status,
    overloaded,
    server_error,
    throttled,
)
from resilience.testing.faults import (
    PASS,
    Bandwidth,
    Fault,
    Faults,
    Hang,
    HangAfter,
    Latency,
    Plan,
    Record,
    Refuse,
    Reset,
    Slicer,
    SlowClose,
    Truncate,
    always,
    at_random,
    every,
    sequence,
)
from resilience.testing.names import describe, fault_named
from resilience.testing.proxy import FaultProxy, proxied

__all__ = [
    "PASS",
    "Bandwidth",
    "EndlessEvents",
    "Fault",
    "FaultProxy",
    "Faults",
    "GzipBomb",
    "HalfEvent",
    "Hang",
    "HangAfter",
    "HtmlPage",
    "HugeHeader",
    "Latency",
    "Plan",
    "Record",
    "Refuse",
    "Reset",
    "Slicer",
    "SlowClose",
    "Status",
    "Truncate",
    "always",
    "at_random",
    "describe",
    "every",
    "fault_named",
    "overloaded",
    "proxied",
    "sequence",
    "server_error",
    "throttled",
]
