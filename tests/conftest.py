"""What every test gets: the guards of `tests/guards.py`, the real reactor, and plain `async def` tests on it."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from _pytest.unittest import TwistedVersion
from hypothesis import settings

from tests.effort import times

pytest_plugins = ["pytester", "tests.guards", "tests.postgres"]

# No test is about wall time: an example that took long on a busy machine is no failure.
settings.register_profile(
    "mud-assistant",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    max_examples=times(40),
)
settings.load_profile("mud-assistant")

# No test here is one of trial's. To know, pytest reads the metadata of Twisted anew at every test: 30 s of a whole run.
pytest.MonkeyPatch().setattr("_pytest.unittest._get_twisted_version", lambda: TwistedVersion.NotInstalled)

# No test fetches a gigabyte behind a talk, nor do the commands that it starts; those that are about it say so.
os.environ["MUD_ASSISTANT_FETCH_BETTER"] = "no"

#: What a test file says when its tests go over Twisted: its reactor, its network, its processes, what waits on them.
_TWISTED = re.compile(r"twisted|reactor|async def|subprocess|Deferred|clock|stage", re.IGNORECASE)
#: Files that say so, and whose tests are about what no version of Twisted can change: what is decided, worded, shown,
#: read, kept on disk and counted, and whole processes that are killed.
_PURE = re.compile(
    r"""tests/(
        benchmarks/ | clients/ | crash/ | installs/ | live/ | machines/ | policy/ | release/ | upgrades/
        | test_(adding|deploying|docs|edge|limits|postgres|public)
        | contracts/test_(memories|world)
        | assistant/(
            characters | checks | config | language | life | loop | memory | models | talk | web
            | surfaces/(backup|gateway|journal|replay|setup|trial)
        )/
        | assistant/surfaces/test_before_upgrade
        | assistant/test_(
            acted_out | everybody | former | front | granted | manner | offered | outages | overheard | private
            | recollecting | repeats | shown | starting_heap | told | visits
        )
        | assistant/events/test_tick_model
        | assistant/gateway/(http/test_strict | keys/)
        | assistant/gateway/test_(
            cases | forwarded_model | images | odd | other | planted | responses | sentences | turn_model
        )
        | assistant/journal/(file/test_migration | postgres/test_(?!listener|outages|writer) | repair | tables)
        | assistant/journal/(sqlite/test_durability | test_copying | test_promise_kills)
        | assistant/keys/test_(?!log)
        | assistant/page/(reading | views | test_(approvals | in_a | leaks | money | openapi | unreadable))
        | assistant/service/(operations | wording | test_(bettering | usage))
        | assistant/worlds/telnet/(live/ | test_(?!guest_life|link|logins|telnet_guest))
        | llm/(dialects | embeddings | fallback | loose_json | modes | packing | providers | tokens | wire)/
        | llm/(embedded/test_(bert | convert | fetch | parts | store | upstream) | test_odd | testing/test_fake)
        | resilience/(admission/test_breaker | budget/test_(?!learned|shared) | test_(permits | simulated))
        | tools/(policy | text | verbs | web/(extracting | read | search | source | test_))
    )""",
    re.VERBOSE,
)
#: Folders whose tests wait for other processes more than they compute.
WAITING = ("tests/live/", "tests/crash/", "tests/evennia/live/", "tests/assistant/worlds/telnet/live/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run coroutine tests on the reactor, without a decorator that has no types; slow ones come first, and who waits.

    Where several workers run, the one that has those is helped by the others, which compute meanwhile.
    """
    items.sort(key=lambda item: (not item.get_closest_marker("slow"), not item.nodeid.startswith(WAITING)))
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            pytest_twisted.ensureDeferred(getattr(item.obj, "__func__", item.obj))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to leave out what the newest Twisted has shown."""
    parser.addoption("--twisted", action="store_true", help="only what goes over Twisted, and over Evennia")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of pure tests, unread, where only what goes over Twisted is asked for."""
    path = collection_path.relative_to(config.rootpath).as_posix()
    if not config.getoption("--twisted") or not collection_path.name.startswith("test_") or "/evennia/" in path:
        return None
    return True if _PURE.match(path) or not _TWISTED.search(collection_path.read_text()) else None


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
