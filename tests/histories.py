"""Runs a stateful model beside the real thing: the same histories each time, and none of them shrunk."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest_twisted
from greenlet import greenlet
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

reactor: Any = _reactor


def run_histories(machine: type[RuleBasedStateMachine], runs: int, steps: int) -> None:
    """Run so many histories of so many steps. They follow from the machine alone."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            derandomize=True,
            phases=[Phase.generate],  # a history is read as it is: shrinking one takes minutes
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


async def beside_the_reactor(work: Callable[[], None]) -> None:
    """Do work that is no coroutine, and waits for the reactor by `wait`."""
    over: Deferred[None] = Deferred()

    def do() -> None:
        try:
            work()
        except BaseException:  # noqa: BLE001  (it is raised where this is awaited)
            reactor.callLater(0, over.errback, Failure())
        else:
            reactor.callLater(0, over.callback, None)

    greenlet(do).switch()
    await over


def wait(work: Coroutine[Any, Any, Any]) -> Any:
    """Return what becomes of a coroutine. Only in what is done beside the reactor."""
    return pytest_twisted.blockon(Deferred.fromCoroutine(work))
