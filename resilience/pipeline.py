"""The one place that composes what stands between "call the model" and the socket.

Outermost first: total deadline, then (with their own issue) admission, bulkhead, retry and a breaker permit per
attempt, then one attempt, which is one bounded HTTP exchange. See design.md section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

from resilience.deadline import Deadline

T = TypeVar("T")


async def call(attempt: Callable[[], Coroutine[Deferred[Any], Any, T]], deadline: Deadline) -> T:
    """The result of `attempt` within `deadline`.

    Raises DeadlineExceeded when time is up, else what the attempt raised. Cancelling cancels the attempt.
    """
    return await deadline.bound(Deferred.fromCoroutine(attempt()))
