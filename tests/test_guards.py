from __future__ import annotations

from pathlib import Path

import pytest

GUARDS = Path(__file__).with_name("guards.py")

HEAD = """
import socket
import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP4ServerEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.logger import Logger
from twisted.python.failure import Failure
"""

LOSES_A_FAILURE = """
def test_case():
    fail(ValueError("lost"))
"""
LOSES_IT_IN_A_CYCLE = """
def test_case():
    deferred = fail(ValueError("lost"))
    deferred.myself = deferred
"""
LOSES_IT_IN_A_FIXTURE = """
class Holder:
    pass

@pytest.fixture
def holder():
    return Holder()

def test_case(holder):
    holder.deferred = fail(ValueError("lost"))
"""
LOSES_IT_IN_A_COROUTINE = """
async def lose():
    raise ValueError("lost")

@pytest_twisted.ensureDeferred
async def test_case():
    Deferred.fromCoroutine(lose())
"""
LOGS_A_CRITICAL_EVENT = """
def test_case():
    Logger().critical("lost")
"""
CONNECTS = """
def test_case():
    with socket.socket() as sock, pytest.raises(PermissionError):
        sock.connect(("192.0.2.1", 80))
"""
CONNECTS_WITH_A_NUMBER_FOR_AN_ERROR = """
def test_case():
    with socket.socket() as sock:
        try:
            sock.connect_ex(("192.0.2.1", 80))
        except Exception:
            pass
"""
CONNECTS_WITH_SIX = """
def test_case():
    with socket.socket(socket.AF_INET6) as sock, pytest.raises(OSError):
        sock.connect(("2001:db8::1", 80))
"""
CONNECTS_WITH_TWISTED = """
@pytest_twisted.ensureDeferred
async def test_case():
    try:
        await TCP4ClientEndpoint(reactor, "192.0.2.1", 80).connect(Factory.forProtocol(Protocol))
    except Exception:
        pass
"""
CONNECTS_TO_A_NAME_WITH_TWISTED = """
@pytest_twisted.ensureDeferred
async def test_case():
    try:
        await HostnameEndpoint(reactor, "mud.example", 80).connect(Factory.forProtocol(Protocol))
    except Exception:
        pass
"""
ASKS_FOR_A_NAME = """
def test_case():
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("mud.example", 80)
"""
SENDS = """
def test_case():
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(OSError):
        sock.sendto(b"hello", ("192.0.2.1", 53))
"""
LEAVES_A_CALL = """
def test_case():
    reactor.callLater(100, print)
"""
LEAVES_A_PORT = """
@pytest_twisted.ensureDeferred
async def test_case():
    await TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(Factory.forProtocol(Protocol))
"""
FAILS_AT_TEARDOWN_TOO = """
@pytest.fixture
def bad():
    yield
    raise RuntimeError("bad fixture")

def test_case(bad):
    fail(ValueError("lost"))
"""

BAD = {
    "a lost failure": (LOSES_A_FAILURE, "ValueError: lost"),
    "a lost failure in a cycle": (LOSES_IT_IN_A_CYCLE, "ValueError: lost"),
    "a lost failure in a fixture": (LOSES_IT_IN_A_FIXTURE, "ValueError: lost"),
    "a lost failure in a coroutine": (LOSES_IT_IN_A_COROUTINE, "ValueError: lost"),
    "a critical event": (LOGS_A_CRITICAL_EVENT, "not flushed: lost"),
    "a swallowed connect": (CONNECTS, "192.0.2.1"),
    "a swallowed connect_ex": (CONNECTS_WITH_A_NUMBER_FOR_AN_ERROR, "192.0.2.1"),
    "a swallowed connect over IPv6": (CONNECTS_WITH_SIX, "2001:db8::1"),
    "a swallowed Twisted connect": (CONNECTS_WITH_TWISTED, "192.0.2.1"),
    "a swallowed Twisted look-up": (CONNECTS_TO_A_NAME_WITH_TWISTED, "mud.example"),
    "a swallowed look-up": (ASKS_FOR_A_NAME, "mud.example"),
    "a swallowed datagram": (SENDS, "192.0.2.1"),
    "a left-over call": (LEAVES_A_CALL, "left on the reactor"),
    "a left-over port": (LEAVES_A_PORT, "left on the reactor"),
    "two troubles at once": (FAILS_AT_TEARDOWN_TOO, "ValueError: lost"),
}

GOOD = """
def test_flushed(flush_failures):
    fail(ValueError("expected"))
    [failure] = flush_failures(ValueError)
    assert str(failure.value) == "expected"

def test_only_the_named_types_are_flushed(flush_failures):
    fail(ValueError("expected"))
    assert flush_failures(KeyError) == []
    assert len(flush_failures()) == 1

def test_critical_event_flushed(flush_failures):
    Logger().critical("expected")
    assert flush_failures() == []

def test_handled():
    fail(ValueError("handled")).addErrback(lambda failure: None)

def test_plain_error_is_no_failure():
    Logger().error("not so bad")

def test_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", 1))

def test_localhost():
    assert socket.getaddrinfo("localhost", 80)
    assert socket.getaddrinfo("192.0.2.1", 80)
    assert socket.getaddrinfo(None, 80)

def test_unix_sockets():
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"hello")

@pytest.fixture(scope="module")
def long_call():
    call = reactor.callLater(100, print)
    yield
    call.cancel()

def test_what_outlives_the_test_is_allowed(long_call):
    pass

@pytest_twisted.ensureDeferred
async def test_what_is_being_closed_may_end():
    class Greeter(Protocol):
        def connectionMade(self):
            self.transport.loseConnection()
    port = await TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(Factory.forProtocol(Greeter))
    client = await TCP4ClientEndpoint(reactor, "127.0.0.1", port.getHost().port).connect(Factory.forProtocol(Protocol))
    client.transport.abortConnection()
    await port.stopListening()
"""


@pytest.fixture
def guarded(pytester: pytest.Pytester) -> pytest.Pytester:
    """A directory whose tests run under our guards and nothing else."""
    pytester.makeconftest(GUARDS.read_text())
    return pytester


def test_good_tests_pass(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(HEAD + GOOD)
    guarded.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=10)


OUTLIVES_ITS_MODULE = """
kept = []

def test_case():
    deferred = fail(ValueError("lost"))
    deferred.myself = deferred
    kept.append(deferred)
"""
LETS_IT_GO = """
import sys

def test_first():
    sys.modules["test_keeps"].kept.clear()

def test_last():
    pass
"""


def test_what_was_kept_beyond_its_module_and_then_lost_fails_the_last_test(guarded: pytest.Pytester) -> None:
    guarded.makepyfile(test_keeps=HEAD + OUTLIVES_ITS_MODULE, test_lets_go=HEAD + LETS_IT_GO)
    result = guarded.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_last*", "*ValueError: lost*"])


def test_bad_tests_fail_and_only_they(guarded: pytest.Pytester) -> None:
    follower = "\ndef test_the_next_one_is_not_blamed():\n    pass\n"
    files = {
        f"test_bad_{number}": HEAD + source.replace("test_case", f"test_case_{number}_end") + follower
        for number, (source, _) in enumerate(BAD.values())
    }
    guarded.makepyfile(**files)
    result = guarded.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2 * len(BAD), errors=len(BAD))
    output = result.stdout.str()
    complaints = {
        name: output.partition(f"teardown of test_case_{number}_end")[2].partition("teardown of")[0]
        for number, name in enumerate(BAD)
    }
    assert [name for name, (_, expected) in BAD.items() if expected not in complaints[name]] == []
