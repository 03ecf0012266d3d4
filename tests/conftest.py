"""What every test gets: the guards of `tests/guards.py`, the real reactor, and plain `async def` tests on it."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pytest
import pytest_twisted
from hypothesis import settings

pytest_plugins = ["pytester", "tests.guards", "tests.postgres"]

# No test is about wall time: an example that took long on a busy machine is no failure.
settings.register_profile("mud-assistant", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("mud-assistant")


# No test fetches a gigabyte behind a talk, nor do the commands that it starts; those that are about it say so.
os.environ["MUD_ASSISTANT_FETCH_BETTER"] = "no"

#: Folders whose tests wait for other processes more than they compute.
WAITING = ("tests/live/", "tests/crash/", "tests/evennia/live/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run coroutine tests on the reactor, without a decorator that has no types; those that wait come first.

    Where several workers run, the one that has those is helped by the others, which compute meanwhile.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(WAITING))
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            pytest_twisted.ensureDeferred(getattr(item.obj, "__func__", item.obj))


def pytest_configure() -> None:
    """End the run at once when somebody else's attacks (tests/policy) cannot be used."""
    _attacks()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many of somebody else's attacks there are."""
    if told := _attacks():
        terminalreporter.write_line(told)


def _attacks() -> str:
    """What is tried of the file that MUD_ATTACKS names, empty when it names none."""
    if not os.environ.get("MUD_ATTACKS"):
        return ""
    from tests.policy.attacks import MalformedAttacksError, load  # noqa: PLC0415  (only for who asks)
    from tests.policy.channels import CHANNELS  # noqa: PLC0415  (the same)

    try:
        return f"attacks of {load()}, every one over each of {len(CHANNELS)} channels"
    except MalformedAttacksError as error:
        raise pytest.UsageError(f"MUD_ATTACKS: {error}") from error


@pytest.fixture
def reactor() -> Any:
    """The real reactor, for tests over loopback; time in all other tests is a `Clock`."""
    from twisted.internet import reactor as real  # noqa: PLC0415, TID251  (tests have their composition root here)

    return real
