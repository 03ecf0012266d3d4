"""Ends the work of a process within a time limit: what does not end by then is abandoned, and the log is told."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.resilience import Deadline, DeadlineExceeded
from mud_assistant.tools import Approvals

#: Told to a player whose request still waits for approval when the process ends.
GONE = "The game restarts before {name} was given leave for what you wanted: ask for it again when it is back."

_log = Logger()


async def within(clock: IReactorTime, seconds: float, work: Sequence[Awaitable[None]], what: str) -> None:
    """Start all of `work` together and wait until it is over, or for `seconds`. Failures are logged as `what`."""
    begun = [Deferred.fromCoroutine(_await_it(each)) for each in work]
    for each in begun:
        each.addErrback(_log_failure, what)
    try:
        await Deadline.after(clock, seconds).bound(DeferredList(begun))
    except DeadlineExceeded:
        _log.warn("{what} took longer than {seconds} s and was abandoned", what=what, seconds=seconds)


async def _await_it(work: Awaitable[None]) -> None:
    await work


def _log_failure(failure: Failure, what: str) -> None:
    """Log a failure and consume it, so that it keeps nothing else from ending."""
    if failure.check(CancelledError) is None:
        _log.failure("{what} failed", failure, what=what)


def tell_who_waits(runners: Sequence[AssistantRunner], approvals: Mapping[str, Approvals]) -> None:
    """Tell each player whose request waits for approval that it ends with this process. Raises only CancelledError."""
    for runner in runners:
        me = runner.embodiment.me
        for pending in approvals[me.id].pending() if me.id in approvals else ():
            try:
                if pending.requester is not None:
                    runner.embodiment.notify(pending.requester, GONE.format(name=me.name))
            except CancelledError:
                raise
            except Exception:  # noqa: BLE001  (the host's code may raise anything: all else must still be closed)
                _log.failure("{name} could not tell that a request has ended", name=me.name)
