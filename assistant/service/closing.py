"""Ending things within a time: whatever does not end by then is abandoned, and the log says so."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from resilience import Deadline, DeadlineExceeded

_log = Logger()


async def within(clock: IReactorTime, seconds: float, work: Sequence[Awaitable[None]], what: str) -> None:
    """Returns when all of `work`, begun together, is over, or after `seconds`; what goes wrong is logged as `what`."""
    begun = [Deferred.fromCoroutine(_awaited(each)) for each in work]
    for each in begun:
        each.addErrback(_told, what)
    try:
        await Deadline.after(clock, seconds).bound(DeferredList(begun))
    except DeadlineExceeded:
        _log.warn("{what} took longer than {seconds} s and was abandoned", what=what, seconds=seconds)


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _told(failure: Failure, what: str) -> None:
    """What went wrong while something was ended keeps nothing else from ending."""
    if failure.check(CancelledError) is None:
        _log.failure("{what} failed", failure, what=what)
