"""What the failure of one attempt means: for the server's health, for its limits, and for trying again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one failure means.

    `is_failure`: it counts against the server's health. `may_retry`: the same request may succeed later; at most
    `most_attempts` times in all. `throttled`: the server has too much to do from us. `not_before`: the wait that the
    server asked for, in clock seconds, which holds for every call with the same credential and model. `bars`: the
    credential is no good. `is_missing`: the server does not have what was asked for. `in_vain_seconds`: how long the
    server is left alone when this was the last attempt. `cause` is shown to the operator.
    """

    cause: str
    is_failure: bool = False
    may_retry: bool = False
    most_attempts: int | None = None
    throttled: bool = False
    not_before: float | None = None
    bars: bool = False
    is_missing: bool = False
    in_vain_seconds: float = 0.0

    def with_retry(self, may_retry: bool) -> Verdict:
        """Return the same verdict with the server's own word on trying again."""
        return replace(self, may_retry=may_retry)


#: Judges the error of an attempt; never given a cancellation.
Judge = Callable[[Exception], Verdict]
