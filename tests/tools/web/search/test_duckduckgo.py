"""DuckDuckGo through ddgs: what it is asked, its errors, and the real library over a proxy on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock, deferLater

from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.background import DaemonThreads
from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.search.api import Shared
from mud_assistant.tools.web.search.duckduckgo import Ddgs, DuckDuckGoOptions, DuckDuckGoSearchProvider
from mud_assistant.tools.web.source.protocol import SearchQuery, TimeRange
from mud_assistant.tools.web.testing import HITS, FakeProxy, Hit, SearchPages, serving
from tests.tools.web.search.calling import WELL, error_of

#: Twisted still hands pyOpenSSL its own objects, the older one in more places; the proxy speaks TLS.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

Record = dict[str, Any]
FOUND: list[Record] = [{"title": "Well", "href": "https://a.org/b c ä", "body": "deep"}]


@contextmanager
def provided(reactor: Any, text: Any, clock: Any = None) -> Iterator[DuckDuckGoSearchProvider]:
    shared = Shared(HttpExchange(reactor), clock or reactor)
    threads: DaemonThreads[object] = DaemonThreads(reactor, "ddgs")
    provider = DuckDuckGoSearchProvider(shared, text=text, threads=threads)
    try:
        yield provider
    finally:
        provider.close()


def raising(error: BaseException) -> Callable[..., object]:
    def text(*_: object) -> object:
        raise error

    return text


async def test_it_asks_named_engines_with_sites_time_and_limit(reactor: Any) -> None:
    asked: list[tuple[object, ...]] = []

    def text(*arguments: object) -> object:
        asked.append(arguments)
        return FOUND

    with provided(reactor, text) as provider:
        (result,) = await provider.search(SearchQuery(" village  well ", 7, ("a.org", "B.org"), TimeRange.WEEK))
        await provider.search(SearchQuery("well", 500, ("a.org",)))
    assert (result.title, result.url, result.snippet) == ("Well", "https://a.org/b%20c%20%C3%A4", "deep")
    assert asked == [
        ("village well (site:a.org OR site:b.org)", "w", "duckduckgo,brave,startpage,yahoo", 7),
        ("well site:a.org", None, "duckduckgo,brave,mojeek,startpage,yahoo", 20),
    ]


async def test_each_call_has_an_object_of_its_own(reactor: Any) -> None:
    made: list[dict[str, object]] = []

    class Library:
        def __init__(self, **options: object) -> None:
            made.append(options)

        def text(self, words: str, **options: object) -> list[Record]:
            made.append({"words": words, **options})
            return FOUND

    library = Ddgs(DuckDuckGoOptions(region="wt-wt", proxy="http://127.0.0.1:9"), Library)
    with provided(reactor, library) as provider:
        await provider.search(WELL)
        await provider.search(WELL)
    assert made[0] == made[2] == {"proxy": "http://127.0.0.1:9", "timeout": 4}
    assert made[1] == {
        "words": "village well",
        "region": "wt-wt",
        "safesearch": "moderate",
        "timelimit": None,
        "max_results": 5,
        "backend": "duckduckgo,brave,mojeek,startpage,yahoo",
    }


class DDGSException(Exception):
    """Named as the library's."""


class RatelimitException(DDGSException):
    """Named as the library's."""


class TimeoutException(DDGSException):
    """Named as the library's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (DDGSException("No results found."), ErrorKind.BLOCKED_OR_EMPTY),
        (RatelimitException("202"), ErrorKind.RATE_LIMITED),
        (TimeoutException("timed out"), ErrorKind.TIMEOUT),
        (DDGSException("ConnectError: http://user:secret@proxy"), ErrorKind.NETWORK),
        (KeyError("df"), ErrorKind.PARSE),
        (SystemExit(1), ErrorKind.PARSE),
    ],
)
async def test_the_librarys_errors_have_kinds_and_their_words_stay_out(
    error: BaseException, kind: ErrorKind, reactor: Any
) -> None:
    with provided(reactor, raising(error)) as provider:
        failure = await error_of(provider.search(WELL))
    assert failure.kind is kind
    assert "secret" not in failure.message


@pytest.mark.parametrize("found", [[], [None, 3, {}, {"title": "no address"}]])
async def test_nothing_is_blocked_or_empty(found: object, reactor: Any) -> None:
    with provided(reactor, lambda *_: found) as provider:
        assert (await error_of(provider.search(WELL))).kind is ErrorKind.BLOCKED_OR_EMPTY


async def test_what_is_no_list_cannot_be_read(reactor: Any) -> None:
    with provided(reactor, lambda *_: None) as provider:
        assert (await error_of(provider.search(WELL))).kind is ErrorKind.PARSE


async def test_a_missing_package_is_told_with_what_to_do(reactor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with provided(reactor, Ddgs(DuckDuckGoOptions())) as provider:
        error = await error_of(provider.search(WELL))
    assert error.kind is ErrorKind.AUTH
    assert error.message == "duckduckgo needs the package ddgs: pip install 'mud-assistant[web]'"


async def test_our_own_deadline_holds_and_a_late_answer_is_dropped(reactor: Any) -> None:
    clock, go, begun = Clock(), threading.Event(), threading.Event()

    def text(*_: object) -> object:
        begun.set()
        go.wait(5)
        return FOUND

    with provided(reactor, text, clock) as provider:
        work = Deferred.fromCoroutine(error_of(provider.search(WELL)))
        begun.wait(5)
        clock.advance(12)
        assert (await work).kind is ErrorKind.TIMEOUT
        go.set()
        assert len(await provider.search(WELL)) == 1
    assert clock.getDelayedCalls() == []


async def test_cancelling_ends_the_wait_at_once(reactor: Any) -> None:
    go, begun = threading.Event(), threading.Event()

    def text(*_: object) -> object:
        begun.set()
        go.wait(5)
        return FOUND

    with provided(reactor, text) as provider:
        work = Deferred.fromCoroutine(provider.search(WELL))
        begun.wait(5)
        work.cancel()
        with pytest.raises(CancelledError):
            await work
        go.set()
        await deferLater(reactor, 0)


async def test_too_many_at_once_are_refused(reactor: Any) -> None:
    go = threading.Event()
    with provided(reactor, lambda *_: go.wait(5) and FOUND) as provider:
        running = [Deferred.fromCoroutine(provider.search(WELL)) for _ in range(18)]
        error = await error_of(provider.search(WELL))
        assert error.kind is ErrorKind.RATE_LIMITED
        for work in running:
            work.addErrback(lambda _: None).cancel()
        go.set()
        await deferLater(reactor, 0)


async def test_the_wait_for_a_thread_is_not_the_librarys_time(reactor: Any) -> None:
    clock, first, second = Clock(), threading.Event(), threading.Event()

    def text(words: str, *_: object) -> object:
        (second if words == "third" else first).wait(30)
        return FOUND

    with provided(reactor, text, clock) as provider:
        begun = [Deferred.fromCoroutine(provider.search(SearchQuery(words))) for words in ("one", "two")]
        third = Deferred.fromCoroutine(provider.search(SearchQuery("third")))
        clock.advance(11)
        first.set()
        for work in begun:
            await work
        while len(clock.getDelayedCalls()) != 1 or clock.getDelayedCalls()[0].getTime() != 23:
            await deferLater(reactor, 0.005)
        clock.advance(11)
        assert not third.called
        second.set()
        assert len(await third) == 1


def test_it_takes_neither_key_nor_address(reactor: Any) -> None:
    with pytest.raises(ValueError, match="neither"):
        DuckDuckGoSearchProvider(Shared(HttpExchange(reactor), reactor), "key")


# From here on with the real library.


def real(url: str, **options: Any) -> Ddgs:
    """The library, which believes the certificate of our proxy."""
    library = pytest.importorskip("ddgs", reason="the package ddgs is not installed")
    return Ddgs(DuckDuckGoOptions(proxy=url), partial(library.DDGS, verify=False, **options))


async def test_the_real_library_finds_what_the_page_shows(reactor: Any) -> None:
    hits = [*HITS[:3], Hit("Ümlaut & <b>", "https://a.example.org/%C3%A4?q=a%20b", "x")]
    pages = SearchPages(hits)
    async with serving(FakeProxy(reactor, pages)) as proxy:
        with provided(reactor, real(proxy.url)) as provider:
            results = await provider.search(SearchQuery("well", 10, ("example.org",), TimeRange.MONTH))
    assert {hit.url for hit in HITS[:3]} < {result.url for result in results}
    assert all(result.url.isascii() and " " not in result.url for result in results)
    (form,) = [fields for host, fields in pages.asked if host == "html.duckduckgo.com"]
    assert (form["q"], form["df"]) == ("well site:example.org", "m")
    assert set(proxy.connects) <= {
        "html.duckduckgo.com:443",
        "search.brave.com:443",
        "www.startpage.com:443",
        "search.yahoo.com:443",
    }


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("blocked", ErrorKind.BLOCKED_OR_EMPTY), ("empty", ErrorKind.BLOCKED_OR_EMPTY), ("refuse", ErrorKind.NETWORK)],
)
async def test_the_real_library_fails_in_kinds(mode: str, kind: ErrorKind, reactor: Any) -> None:
    async with serving(FakeProxy(reactor, SearchPages(mode=mode))) as proxy:
        with provided(reactor, real(proxy.url)) as provider:
            assert (await error_of(provider.search(WELL))).kind is kind


async def test_the_real_library_says_at_once_that_a_port_is_closed(reactor: Any) -> None:
    async with serving(FakeProxy(reactor, SearchPages())) as proxy:
        pass
    with provided(reactor, real(proxy.url)) as provider:
        assert (await error_of(provider.search(WELL))).kind is ErrorKind.NETWORK


_STOP = """
import sys, threading, time
from twisted.internet import reactor
from mud_assistant.resilience import HttpExchange
from mud_assistant.tools.web.source.protocol import SearchQuery
from mud_assistant.tools.web.search.api import Shared
from mud_assistant.tools.web.search.duckduckgo import DuckDuckGoOptions, DuckDuckGoSearchProvider
from twisted.internet.defer import Deferred

options = DuckDuckGoOptions(proxy=sys.argv[1])
provider = DuckDuckGoSearchProvider(Shared(HttpExchange(reactor), reactor), options=options)

async def run():
    try:
        await provider.search(SearchQuery("well"))
    except BaseException as error:
        print(type(error).__name__)

work = Deferred.fromCoroutine(run())

def stop():
    if not any(thread.name.startswith("DDGS") for thread in threading.enumerate()):
        reactor.callLater(0.05, stop)
        return
    reactor.callLater(0.3, end)

def end():
    print("stopping", time.monotonic())
    work.cancel()
    provider.close()
    reactor.stop()

reactor.callLater(0.05, stop)
reactor.run()
"""


def stopping(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _STOP, url], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


async def test_a_stop_waits_for_no_engine_that_hangs(reactor: Any) -> None:
    """A silent proxy holds the library for 8 s and more; the process must be gone long before."""
    pytest.importorskip("ddgs", reason="the package ddgs is not installed")
    async with serving(FakeProxy(reactor, SearchPages(mode="silent"))) as proxy:
        child = stopping(proxy.url)
        for _ in range(600):
            if child.poll() is not None:
                break
            await deferLater(reactor, 0.05)
        ended = time.monotonic()  # noqa: TID251  (another process is measured)
        said = child.communicate(timeout=5)[0].decode()
    lines = said.split("\n")
    assert lines[0].startswith("stopping "), said
    assert lines[1] == "CancelledError"
    assert child.returncode == 0
    assert ended - float(lines[0].split()[1]) < 2
    assert proxy.connects


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY", "DDGS_PROXY"])
def test_the_library_heeds_proxy_variables_as_the_docs_tell(variable: str) -> None:
    """In a process of its own, whose only way out is a proxy on this machine that lets nothing through."""
    pytest.importorskip("ddgs")
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(60)
        environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        environment[variable] = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        code = "from ddgs import DDGS; DDGS(timeout=3).text('well', backend='mojeek')"
        with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.DEVNULL) as search:
            connection, _ = proxy.accept()
            with connection:
                assert connection.recv(200).startswith(b"CONNECT www.mojeek.com:443 ")
            search.kill()
