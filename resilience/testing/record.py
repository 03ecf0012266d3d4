"""What a fault proxy remembers of each request."""

from __future__ import annotations

from dataclasses import dataclass

from resilience.testing.faults.combined import Fault


@dataclass(slots=True)
class Record:
    """One request.

    `index` counts all requests of the proxy from 0, `at` is when it began in clock seconds, `fault` is its fault.
    `sent_bytes` of the answer have gone to the client so far, including the head. `error` is empty, or says why the
    proxy failed: the real server cannot be reached, or the request could not be followed.
    """

    index: int
    at: float
    fault: Fault
    sent_bytes: int = 0
    error: str = ""
