"""Guards round every test: no way out of this machine, no lost failure, nothing left on the reactor.

They stand in hooks and not in fixtures, so that they look last, when every fixture has been torn down. A test that
trips one ends with an error at its teardown, whatever the code under test swallowed. Child processes are not watched.
"""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import count
from typing import Any, Protocol

import pytest
import pytest_twisted
from twisted.internet.task import deferLater
from twisted.logger import ILogObserver, LogEvent, LogLevel, formatEvent, globalLogPublisher
from twisted.python.failure import Failure
from zope.interface import implementer

#: Turns the reactor gets to finish what a test has already ended, such as a connection that is being closed.
SETTLING_TURNS = 20
_INTERNET = {socket.AF_INET, socket.AF_INET6}
_DEFERRED = "twisted.internet.defer"


class ForbiddenConnection(PermissionError):
    """A test tried to leave this machine."""


@implementer(ILogObserver)
@dataclass
class _Seen:
    """What the guards saw since they last looked."""

    attempts: list[str] = field(default_factory=list)
    errors: list[LogEvent] = field(default_factory=list)

    def __call__(self, event: LogEvent) -> None:
        """Keep a log event that tells of a failure."""
        if event.get("log_failure"):
            self.errors.append(event)
        elif event.get("log_namespace") == _DEFERRED:
            return  # the headline of a lost failure, which follows as an event of its own
        elif event.get("isError") or event.get("log_level") is LogLevel.critical:
            self.errors.append(event)

    def take(self) -> list[str]:
        """One complaint for each thing seen; forgets them."""
        complaints = [f"tried to leave this machine: {attempt}" for attempt in self.attempts]
        complaints += [f"a failure was lost or logged and not flushed: {_told(event)}" for event in self.errors]
        self.attempts.clear()
        self.errors.clear()
        return complaints


_SEEN = _Seen()


class FlushFailures(Protocol):
    """The expected failures logged so far, of the given types or of all; they no longer fail the test."""

    def __call__(self, *types: type[BaseException]) -> list[Failure]: ...


@pytest.fixture
def flush_failures() -> FlushFailures:
    """Takes expected failures out of the log, as trial's flushLoggedErrors does."""

    def flush(*types: type[BaseException]) -> list[Failure]:
        gc.collect()
        matching = [event for event in _SEEN.errors if not types or _failed_with(event, types)]
        _SEEN.errors[:] = [event for event in _SEEN.errors if event not in matching]
        return [event["log_failure"] for event in matching if event.get("log_failure")]

    return flush


def pytest_configure() -> None:
    """Start watching. An audit hook sees every socket, also those that C code or a thread connects."""
    sys.addaudithook(_audit)
    globalLogPublisher.addObserver(_SEEN)


def pytest_collection_finish() -> None:
    """Put what the imports made aside, so that the collection after each test takes a few milliseconds."""
    gc.collect()
    gc.freeze()


#: Counts the collections of this process.
_COLLECTED = count(1)


def _collect(item: pytest.Item, following: pytest.Item | None) -> None:
    """Find what was lost.

    What outlives a module, or twenty tests, is put aside as well, or the garbage collector takes most of our time. Its
    failures, should it be lost later on, come to light after the last test, when everything is looked at again.
    """
    if following is None:
        gc.unfreeze()
    gc.collect()
    if following is not None and (following.path != item.path or next(_COLLECTED) % 20 == 0):
        gc.freeze()


_BASELINE: pytest.StashKey[_Reactor] = pytest.StashKey()


@pytest.fixture(autouse=True)
def reactor_baseline(request: pytest.FixtureRequest) -> None:
    """Notes what is on the reactor before the test, after the fixtures that outlive it."""
    _turn()
    request.node.stash[_BASELINE] = _Reactor.now()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Let everything be torn down, then look."""
    try:
        yield
    except BaseException as error:
        for complaint in _complaints(item, nextitem):
            error.add_note(complaint)
        raise
    if complaints := _complaints(item, nextitem):
        pytest.fail("\n".join(complaints), pytrace=False)


def _complaints(item: pytest.Item, following: pytest.Item | None) -> list[str]:
    if isinstance(item, pytest.Function):
        item.funcargs.clear()  # a Deferred that only a fixture's value holds is lost as well
    _turn()
    before = item.stash.get(_BASELINE, None)
    left = before.left_over() if before else []
    _collect(item, following)
    return [*_SEEN.take(), *left]


@dataclass(frozen=True)
class _Reactor:
    """What the real reactor holds: files it watches, and functions it will call."""

    files: list[object]
    functions: list[object]

    @classmethod
    def now(cls) -> _Reactor:
        """The present state."""
        reactor = _reactor()
        functions = [call.func for call in reactor.getDelayedCalls()]
        return cls([*reactor.getReaders(), *reactor.getWriters()], functions)

    def left_over(self) -> list[str]:
        """One complaint for each thing that is there now and was not before, and stays."""
        turns = 0
        while (new := self._new()) and turns < SETTLING_TURNS:
            turns += 1
            _turn()
        return [f"left on the reactor: {thing!r}" for thing in new]

    def _new(self) -> list[object]:
        now = _Reactor.now()
        return [*_without(now.files, self.files), *_without(now.functions, self.functions)]


def _without(things: list[object], known: list[object]) -> list[object]:
    """The things that are not known, counted: the same function twice is one too many."""
    rest, new = list(known), []
    for thing in things:
        if thing in rest:
            rest.remove(thing)
        else:
            new.append(thing)
    return new


def _reactor() -> Any:
    """The reactor that pytest-twisted installed."""
    return sys.modules["twisted.internet.reactor"]


def _turn() -> None:
    """Let the reactor turn once, which also unwinds the frames it was stopped in when the test ended."""
    pytest_twisted.blockon(deferLater(_reactor(), 0))


def _told(event: LogEvent) -> str:
    failure = event.get("log_failure")
    traceback = f"\n{failure.getTraceback()}" if failure else ""
    return f"{formatEvent(event)}{traceback}"


def _failed_with(event: LogEvent, types: tuple[type[BaseException], ...]) -> bool:
    failure = event.get("log_failure")
    return failure is not None and failure.check(*types) is not None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        sock, address = arguments
        if address is not None and sock.family in _INTERNET and not _is_here(address[0]):
            _refuse(event, address, ForbiddenConnection)
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        if not _is_known(arguments[0]):
            _refuse(event, arguments[0], socket.gaierror)
    elif event == "socket.gethostbyaddr" and not _is_here(arguments[0]):
        _refuse(event, arguments[0], socket.herror)


def _refuse(event: str, address: object, error: type[OSError]) -> None:
    """Record, then raise an error with a number, which Twisted's own socket code knows how to handle."""
    attempt = f"{event} {address!r}"
    _SEEN.attempts.append(attempt)
    number = socket.EAI_FAIL if error is socket.gaierror else 13
    raise error(number, f"forbidden in tests: {attempt}")


def _is_here(host: str) -> bool:
    """Whether a host is this machine's loopback."""
    address = _literal(host)
    if address is None:
        return host == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _is_known(host: str | bytes | None) -> bool:
    """Whether a host needs no name server: nothing, a number or localhost."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    return not name or name == "localhost" or _literal(name) is not None


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    """The address a host is written as; old forms such as 127.1 count."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return ip_address(socket.inet_aton(host))
    except OSError:
        return None
