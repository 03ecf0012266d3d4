"""The one server that misbehaves on demand, for tests and people: `python -m mud_assistant.resilience.testing --help`.

A fake answers on it, or it stands as a proxy in front of any server that speaks HTTP/1.1. It lays faults over the
answers: late, slow, cut, silent, or replaced by another answer.
"""

from __future__ import annotations

from mud_assistant.resilience.testing.answers import (
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
from mud_assistant.resilience.testing.fake import (
    Fake,
    RawResponse,
    Response,
    ServedRequest,
    json_response,
    sized_response,
)
from mud_assistant.resilience.testing.fault_server import FaultServer, serve, serving
from mud_assistant.resilience.testing.faults import (
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
from mud_assistant.resilience.testing.names import describe, fault_named
from mud_assistant.resilience.testing.proxy import FaultProxy, proxied

__all__ = [
    "PASS",
    "Bandwidth",
    "EndlessEvents",
    "Fake",
    "Fault",
    "FaultProxy",
    "FaultServer",
    "Faults",
    "GzipBomb",
    "HalfEvent",
    "Hang",
    "HangAfter",
    "HtmlPage",
    "HugeHeader",
    "Latency",
    "Plan",
    "RawResponse",
    "Record",
    "Refuse",
    "Reset",
    "Response",
    "ServedRequest",
    "Slicer",
    "SlowClose",
    "Status",
    "Truncate",
    "always",
    "at_random",
    "describe",
    "every",
    "fault_named",
    "json_response",
    "overloaded",
    "proxied",
    "sequence",
    "serve",
    "server_error",
    "serving",
    "sized_response",
    "throttled",
]
