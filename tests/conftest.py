"""What every test gets: the guards of `tests/guards.py`, the real reactor, and plain `async def` tests on it."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import pytest_twisted

pytest_plugins = ["pytester", "tests.guards"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run coroutine tests on the reactor, without a decorator that has no types."""
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            pytest_twisted.ensureDeferred(getattr(item.obj, "__func__", item.obj))


@pytest.fixture
def reactor() -> Any:
    """The real reactor, for tests over loopback; time in all other tests is a `Clock`."""
    from twisted.internet import reactor as real  # noqa: PLC0415, TID251  (tests have their composition root here)

    return real
