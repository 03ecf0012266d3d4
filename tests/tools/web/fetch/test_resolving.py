"""Look-ups in our own threads: bounded, in time, failing closed; a name server that stalls holds nobody else up."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.judge import ThreadedResolver

Entries = list[tuple[Any, Any, Any, Any, tuple[Any, ...]]]


def entries(*hosts: str) -> Entries:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0)) for host in hosts]


class Server:
    """A getaddrinfo whose look-ups of `stall…` names wait until they are let go."""

    def __init__(self, answer: Callable[[bytes], Entries]) -> None:
        self.asked: list[bytes] = []
        self.let_go = Event()
        self._answer = answer

    def __call__(self, host: bytes, port: None, *, type: int) -> Entries:  # noqa: A002
        self.asked.append(host)
        if host.startswith(b"stall"):
            self.let_go.wait(20)
        return self._answer(host)


def good(host: bytes) -> Entries:
    return entries("93.184.216.34", "93.184.216.34", "2606:4700::1")


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(good)
    yield server
    server.let_go.set()


@pytest.fixture
def resolver(server: Server, reactor: Any) -> Iterator[ThreadedResolver]:
    resolver = ThreadedResolver(reactor, threads=2, seconds=0.3, waiting=3, getaddrinfo=server)
    yield resolver
    resolver.close()


async def test_the_answers_once_each(server: Server, resolver: ThreadedResolver) -> None:
    assert list(await resolver.resolve("example.com")) == ["93.184.216.34", "2606:4700::1"]
    assert server.asked == [b"example.com."], "absolute, so that no search domain is tried"


@pytest.mark.parametrize(
    "answer",
    [lambda _: [], lambda _: (_ for _ in ()).throw(socket.gaierror(-2, "unknown")), lambda _: b"\xff".decode("utf-8")],
)
async def test_no_answer_is_an_error(reactor: Any, answer: Callable[[bytes], Entries]) -> None:
    resolver = ThreadedResolver(reactor, getaddrinfo=Server(answer))
    with pytest.raises(WebError, match="not found") as refused:
        await resolver.resolve("gone.example")
    assert refused.value.kind is ErrorKind.NETWORK
    resolver.close()


async def test_answers_are_capped(reactor: Any) -> None:
    resolver = ThreadedResolver(
        reactor, most=4, getaddrinfo=Server(lambda _: entries(*(f"93.184.216.{n}" for n in range(200))))
    )
    assert len(await resolver.resolve("many.example")) == 4
    resolver.close()


async def test_a_stalled_lookup_ends_in_time_and_blocks_neither_reactor_nor_its_pool(
    server: Server, resolver: ThreadedResolver, reactor: Any
) -> None:
    pool_before = len(reactor.getThreadPool().threads)
    turns = 0
    stalled = [Deferred.fromCoroutine(resolver.resolve(f"stall{number}.example")) for number in range(2)]
    behind = Deferred.fromCoroutine(resolver.resolve("behind.example"))
    while not all(each.called for each in [*stalled, behind]):
        turns += 1
        await deferLater(reactor, 0.01)
    assert turns > 10
    for each in [*stalled, behind]:
        with pytest.raises(WebError) as refused:
            await each
        assert refused.value.kind is ErrorKind.TIMEOUT
    assert len(reactor.getThreadPool().threads) == pool_before
    server.let_go.set()
    assert await resolver.resolve("after.example")
    assert b"behind.example." not in server.asked, "nobody waited for it any more"


async def test_so_many_and_no_more_wait(resolver: ThreadedResolver) -> None:
    waiting = [Deferred.fromCoroutine(resolver.resolve(f"stall{number}.example")) for number in range(5)]
    with pytest.raises(WebError, match="too many"):
        await resolver.resolve("example.com")
    for each in waiting:
        each.cancel()
        with pytest.raises(CancelledError):
            await each


async def test_closing_tells_those_who_wait(server: Server, reactor: Any) -> None:
    resolver = ThreadedResolver(reactor, getaddrinfo=server)
    waiting = Deferred.fromCoroutine(resolver.resolve("stall.example"))
    await deferLater(reactor, 0.01)
    resolver.close()
    with pytest.raises(WebError, match="not found"):
        await waiting
    with pytest.raises(WebError):
        await resolver.resolve("example.com")


def test_a_program_ends_though_a_lookup_hangs() -> None:
    code = """if True:
        from threading import Event
        from twisted.internet import reactor
        from twisted.internet.defer import Deferred
        from mud_assistant.tools.web.fetch.judge import ThreadedResolver
        started = Event()
        def hang(host, port, *, type):
            started.set()
            Event().wait(600)
        resolver = ThreadedResolver(reactor, getaddrinfo=hang)
        Deferred.fromCoroutine(resolver.resolve("stall.example")).addErrback(lambda _: None)
        def stop():
            assert started.wait(5)
            resolver.close()
            reactor.stop()
        reactor.callLater(0.01, stop)
        reactor.run()
        """
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=20).returncode == 0
