"""The way to a page: redirects as browsers read them, cookies that go no further, a page that sends its readers on."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.tools.web.errors import WebError
from mud_assistant.tools.web.fetch.fetcher import SafeFetcher
from mud_assistant.tools.web.fetch.url import UrlPolicy, UrlRefused
from tests.tools.web.fetch.fetching import QUICK, running


@pytest.mark.parametrize(
    ("location", "asked"),
    [
        ("/caf\u00e9".encode("latin-1"), "/caf%E9"),
        ("/caf\u00e9".encode(), "/caf%C3%A9"),
        (b"  /a b  ", "/a%20b"),
        (b"/%e4?q=\xe4", "/%e4?q=%E4"),
    ],
)
async def test_a_redirect_is_read_as_browsers_read_it(reactor: Any, location: bytes, asked: str) -> None:
    async with running(reactor) as it:
        it.site.raw("/", b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n")
        it.site.page(asked, "there")
        assert (await it.fetcher.fetch(it.at("/"))).body == b"there"
        assert it.site.requests[1].target == asked


def sets(it: Any, path: str, location: str, *cookies: str) -> None:
    """Redirect from a path, with cookies."""
    lines = "".join(f"Set-Cookie: {cookie}\r\n" for cookie in cookies)
    it.site.raw(path, f"HTTP/1.1 302 Found\r\nLocation: {location}\r\n{lines}Content-Length: 0\r\n\r\n".encode())


def sent(it: Any) -> list[str]:
    return [asked.headers.get("cookie", "") for asked in it.site.requests]


async def test_cookies_go_back_to_who_set_them_on_this_way_and_no_further(reactor: Any) -> None:
    async with running(reactor) as it:
        sets(
            it, "/a", "/b", "seen=1; Path=/; HttpOnly", "deep=1; Path=/deep", "gone=1; Path=/", "tls=1; Path=/; Secure"
        )
        sets(it, "/b", it.at("/c", "other.example"), "gone=; Path=/; Max-Age=0", "wide=1; Path=/; Domain=example")
        sets(it, "/c", it.at("/deep/d"), "theirs=1; Path=/; Domain=site.example")
        it.site.page("/deep/d", "there")
        await it.fetcher.fetch(it.at("/a"))
        assert sent(it) == ["", "seen=1; gone=1", "", "seen=1; deep=1; wide=1"]
        await it.fetcher.fetch(it.at("/deep/d"))
        assert sent(it)[-1] == ""


async def test_a_page_that_asks_for_a_cookie_first_is_asked_again_with_it_and_not_for_ever(reactor: Any) -> None:
    async with running(reactor) as it:
        sets(it, "/", "/", "ok=1; Path=/")
        with pytest.raises(WebError, match="circle"):
            await it.fetcher.fetch(it.at("/"))
        assert sent(it) == ["", "ok=1"]


@pytest.mark.parametrize("cookie", ["=x", "nothing", "a b=c", "x=" + "y" * 5000, "x=a,b; Path=/"])
async def test_a_cookie_in_no_cookies_form_is_not_sent(reactor: Any, cookie: str) -> None:
    async with running(reactor) as it:
        sets(it, "/", "/b", cookie)
        it.site.page("/b", "there")
        await it.fetcher.fetch(it.at("/"))
        assert sent(it)[1] == ""


async def test_where_a_page_sends_its_readers_counts_as_a_redirect(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.page("/page", "x", headers={"Set-Cookie": "a=b; Path=/"})
        it.site.page("/there", "y")
        page = await it.fetcher.fetch(it.at("/page"))
        there = await it.fetcher.follow(page, "there#x")
        assert (there.url, there.body, sent(it)[-1]) == (it.at("/there"), b"y", "a=b")
        assert await it.fetcher.follow(page, "/page#again") is page
        for reference, rule in ((f"http://169.254.169.254:{it.port}/", "link-local"), ("javascript:x", "scheme")):
            with pytest.raises(UrlRefused, match=rule):
                await it.fetcher.follow(page, reference)
        for step in range(9):
            it.site.page(f"/{step}", "z")
        for step in range(4):
            page = await it.fetcher.follow(page, f"/{step}")
        with pytest.raises(WebError, match="more than 5 times"):
            await it.fetcher.follow(page, "/4")


async def test_a_server_may_say_by_date_when_to_come_back(reactor: Any) -> None:
    async with running(reactor) as it:
        dates = {"Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 08:51:37 GMT"}
        it.site.page("/", "busy", status=503, headers=dates)
        before = reactor.seconds()
        with pytest.raises(WebError) as refused:
            await it.fetcher.fetch(it.at("/"))
        assert refused.value.retry_at is not None
        assert 119 <= refused.value.retry_at - before <= 180


async def test_a_host_of_the_owners_own_is_read_by_name_and_nobody_elses_is(reactor: Any) -> None:
    own = {"nas.lan": [["127.0.0.1"]], "moved.lan": [["169.254.169.254"]], "evil.example": [["127.0.0.1"]]}
    async with running(reactor, names=own) as it:
        policy = UrlPolicy(ports=frozenset({it.port}), private_names=frozenset({"nas.lan", "moved.lan"}))
        fetcher = SafeFetcher(reactor, it.names, policy, QUICK)
        it.site.page("/", "mine")
        assert (await fetcher.fetch(it.at("/", "nas.lan"))).body == b"mine"
        for host, rule in (("moved.lan", "link-local"), ("evil.example", "loopback"), ("tv.lan", "local name")):
            with pytest.raises(UrlRefused, match=rule):
                await fetcher.fetch(it.at("/", host))
        with pytest.raises(UrlRefused, match="loopback"):
            await fetcher.fetch(it.at("/", "127.0.0.1"))
