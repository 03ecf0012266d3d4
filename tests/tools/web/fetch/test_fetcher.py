"""The fetcher against a site on loopback: what is sent, where it goes, which pages it takes, every redirect."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.logger import capturedLogs

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.connect import ClientTls, PinnedEndpoint, PinnedEndpoints, WrongPeer
from mud_assistant.tools.web.fetch.fetcher import SafeFetcher
from mud_assistant.tools.web.fetch.judge import judge_for_reader
from mud_assistant.tools.web.fetch.seen import SeenUrls
from mud_assistant.tools.web.fetch.url import UrlOrigin, UrlPolicy, UrlRefused, parse
from tests.tools.web.fetch.fetching import LOOPBACK, Names, policy, running


async def test_a_page(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.page("/a?b=c", "<p>Grüße</p>")
        page = await it.fetcher.fetch(it.at("/a?b=c#part"))
        assert page.body.decode(page.charset) == "<p>Grüße</p>"
        assert (page.url, page.status, page.content_type, page.charset) == (it.at("/a?b=c"), 200, "text/html", "utf-8")
        assert it.names.asked == ["site.example"]


async def test_what_is_sent_and_that_nothing_of_ours_is(reactor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    async with running(reactor) as it:
        it.site.page("/", "x", headers={"Set-Cookie": "a=b"})
        for _ in range(2):
            await it.fetcher.fetch(it.at("/"))
        headers = it.site.requests[-1].headers
        assert headers["host"] == f"site.example:{it.port}"
        assert headers["accept-encoding"] == "identity, gzip"
        assert headers["connection"] == "close"
        assert headers["x-forwarded-for"] == "true"
        assert not {"cookie", "authorization", "referer", "proxy-authorization"} & set(headers)
        assert it.site.connections == 2


async def test_the_connections_are_gone_afterwards(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.page("/", "x")
        await it.fetcher.fetch(it.at("/"))
        await _turns(reactor, lambda: it.site.open_connections == 0)
        assert it.site.open_connections == 0


async def _turns(reactor: Any, done: Any) -> None:
    from twisted.internet.task import deferLater  # noqa: PLC0415

    for _ in range(200):
        if done():
            return
        await deferLater(reactor, 0.005)


async def test_one_refused_answer_among_good_ones_refuses_the_name(reactor: Any) -> None:
    names = {"mixed.example": [["127.0.0.1", "10.0.0.1"]], "six.example": [["127.0.0.1", "fe80::1%eth0"]]}
    async with running(reactor, names=names) as it:
        it.site.page("/", "x")
        with capturedLogs() as logs, pytest.raises(UrlRefused) as refused:
            await it.fetcher.fetch(it.at("/secret-path", "mixed.example"))
        assert refused.value.message == "this URL is not allowed: private network"
        told = [event for event in logs if event.get("log_event") == "web_refused"]
        assert [(event["rule"], event["address"], event["network"]) for event in told] == [
            ("private network", "10.0.0.1", "10.0.0.0/8")
        ]
        assert "secret-path" not in str(told)
        with pytest.raises(UrlRefused, match="not global unicast"):
            await it.fetcher.fetch(it.at("/", "six.example"))
        assert it.site.connections == 0


@pytest.mark.parametrize("answers", [[], ["not an address"], ["127.0.0.1", ""]])
async def test_an_answer_that_cannot_be_judged_is_refused(reactor: Any, answers: list[str]) -> None:
    async with running(reactor, names={"odd.example": [answers]}) as it:
        with pytest.raises(WebError):
            await it.fetcher.fetch(it.at("/", "odd.example"))
        assert it.site.connections == 0


async def test_without_the_exception_loopback_is_refused(reactor: Any) -> None:
    async with running(reactor) as it:
        strict = SafeFetcher(reactor, it.names, UrlPolicy(ports=frozenset({it.port})))
        for url in (it.at("/"), it.at("/", "127.0.0.1"), it.at("/", "[::ffff:127.0.0.1]"), it.at("/", "0.0.0.0")):  # noqa: S104
            with pytest.raises(UrlRefused):
                await strict.fetch(url)
        assert it.site.connections == 0


async def test_a_name_that_changes_its_address_is_judged_each_time(reactor: Any) -> None:
    """Rebinding: the address that was judged is the one connected to; the next look-up is judged anew."""
    async with running(reactor, names={"flip.example": [["127.0.0.1"], ["169.254.169.254"]]}) as it:
        it.site.page("/", "first")
        it.site.redirect("/again", "/")
        assert (await it.fetcher.fetch(it.at("/", "flip.example"))).body == b"first"
        assert it.names.asked == ["flip.example"]
        with pytest.raises(UrlRefused, match="link-local"):
            await it.fetcher.fetch(it.at("/", "flip.example"))
        assert it.site.connections == 1


async def test_a_redirect_back_to_a_name_that_changed(reactor: Any) -> None:
    async with running(reactor, names={"flip.example": [["127.0.0.1"], ["10.1.2.3"]]}) as it:
        it.site.redirect("/again", "/")
        with pytest.raises(UrlRefused, match="private network"):
            await it.fetcher.fetch(it.at("/again", "flip.example"))
        assert it.site.connections == 1


async def test_several_addresses_are_tried(reactor: Any) -> None:
    """Happy Eyeballs: 127.0.0.2 has nobody listening on that port, 127.0.0.1 has."""
    async with running(reactor, names={"many.example": [["127.0.0.2", "127.0.0.1"]]}) as it:
        it.site.page("/", "here")
        assert (await it.fetcher.fetch(it.at("/", "many.example"))).body == b"here"


async def test_a_literal_address_needs_no_lookup(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.page("/", "x")
        await it.fetcher.fetch(it.at("/", "127.0.0.1"))
        assert it.names.asked == []
        assert it.site.requests[0].headers["host"] == f"127.0.0.1:{it.port}"


class ElsewhereReactor:
    """Connects to another address than it is asked to, as no reactor should."""

    def __init__(self, real: Any, host: str) -> None:
        self._real = real
        self._host = host
        self.callLater = real.callLater
        self.seconds = real.seconds

    def connectTCP(self, host: str, *arguments: Any, **named: Any) -> Any:  # noqa: N802  (Twisted's name)
        return self._real.connectTCP(self._host, *arguments, **named)


async def test_a_connection_that_goes_elsewhere_is_dropped(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.page("/", "x")
        names = Names({"site.example": [["127.0.0.2"]]})
        fetcher = SafeFetcher(ElsewhereReactor(reactor, "127.0.0.1"), names, policy(it.port))
        with pytest.raises(UrlRefused, match="connected elsewhere"):
            await fetcher.fetch(it.at("/"))
        assert it.site.requests == []


async def test_an_endpoint_serves_its_own_url_only(reactor: Any) -> None:
    from twisted.web.client import URI  # noqa: PLC0415

    url = parse("http://127.0.0.1/", UrlPolicy(allow_private=LOOPBACK))
    assert url.address is not None
    endpoints = PinnedEndpoints(reactor, url, [url.address], 1, ClientTls())
    assert isinstance(endpoints.endpointForURI(URI.fromBytes(b"http://127.0.0.1/x")), PinnedEndpoint)
    for other in (b"http://127.0.0.2/", b"http://127.0.0.1:81/", b"https://127.0.0.1/"):
        with pytest.raises(WrongPeer):
            endpoints.endpointForURI(URI.fromBytes(other))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(reactor: Any, status: int) -> None:
    async with running(reactor) as it:
        it.site.redirect("/a", it.at("/b?x#y", "other.example"), status)
        it.site.page("/b?x", "there")
        page = await it.fetcher.fetch(it.at("/a"))
        assert (page.url, page.body) == (it.at("/b?x", "other.example"), b"there")
        assert it.names.asked == ["site.example", "other.example"]
        assert it.site.requests[1].headers["host"] == f"other.example:{it.port}"


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("http://10.0.0.1:{port}/", "private network"),
        ("http://169.254.169.254:{port}/", "link-local"),
        ("//[::1]", "port"),
        ("http://localhost:{port}/", "local name"),
        ("http://inside.example:{port}/", "private network"),
        ("http://site.example:1/", "port"),
        ("file:///etc/passwd", "scheme"),
        ("http://x@site.example:{port}/", "user name"),
    ],
)
async def test_a_redirect_to_where_nobody_may_go(reactor: Any, location: str, rule: str) -> None:
    async with running(reactor, names={"inside.example": [["192.168.1.1"]]}) as it:
        it.site.redirect("/", location.format(port=it.port))
        with capturedLogs() as logs, pytest.raises(UrlRefused, match=rule):
            await it.fetcher.fetch(it.at("/"))
        assert any(event.get("log_event") == "web_refused" for event in logs)
        assert it.site.connections == 1


async def test_five_redirects_and_no_more(reactor: Any) -> None:
    async with running(reactor) as it:
        for step in range(6):
            it.site.redirect(f"/{step}", f"/{step + 1}")
        it.site.page("/6", "x")
        assert (await it.fetcher.fetch(it.at("/1"))).body == b"x"
        with pytest.raises(WebError, match="more than 5 times") as refused:
            await it.fetcher.fetch(it.at("/0"))
        assert refused.value.kind is ErrorKind.BAD_REQUEST


async def test_a_circle(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.redirect("/a", "/b")
        it.site.redirect("/b", "/a#x")
        with pytest.raises(WebError, match="circle"):
            await it.fetcher.fetch(it.at("/a"))
        assert len(it.site.requests) == 2


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 302 Found\r\n",
        "HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n",
        "HTTP/1.1 302 Found\r\nLocation:   \r\n",
    ],
)
async def test_a_redirect_to_no_one_place(reactor: Any, head: str) -> None:
    async with running(reactor) as it:
        it.site.raw("/", (head + "Content-Length: 0\r\n\r\n").encode("latin-1"))
        with pytest.raises(WebError, match="without saying where") as refused:
            await it.fetcher.fetch(it.at("/"))
        assert refused.value.kind is ErrorKind.PARSE


@pytest.mark.parametrize("chars", [5_000, 100_000])
async def test_a_huge_location(reactor: Any, chars: int) -> None:
    """5,000 characters are no URL of ours; 100,000 are more than Twisted takes on one line."""
    async with running(reactor) as it:
        it.site.redirect("/", "/" + "a" * chars)
        with pytest.raises(WebError) as refused:
            await it.fetcher.fetch(it.at("/"))
        assert len(refused.value.message) < 200
        assert it.site.connections == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ErrorKind.BAD_REQUEST),
        (404, ErrorKind.BAD_REQUEST),
        (410, ErrorKind.BAD_REQUEST),
        (401, ErrorKind.BLOCKED_OR_EMPTY),
        (403, ErrorKind.BLOCKED_OR_EMPTY),
        (429, ErrorKind.RATE_LIMITED),
        (500, ErrorKind.SERVER),
        (503, ErrorKind.SERVER),
        (204, ErrorKind.PARSE),
        (206, ErrorKind.PARSE),
        (300, ErrorKind.PARSE),
        (304, ErrorKind.PARSE),
        (599, ErrorKind.SERVER),
    ],
)
async def test_what_a_status_means(reactor: Any, status: int, kind: ErrorKind) -> None:
    async with running(reactor) as it:
        it.site.page("/", "" if status in {204, 304} else "x", status=status, headers={"Retry-After": "30"})
        with pytest.raises(WebError, match=f"the page answered {status}") as refused:
            await it.fetcher.fetch(it.at("/"))
        assert refused.value.kind is kind
        has_time = kind in {ErrorKind.RATE_LIMITED, ErrorKind.SERVER}
        assert (refused.value.retry_at is not None) is has_time
        assert "Whatever" not in refused.value.message


async def test_only_what_was_shown_when_the_policy_says_so(reactor: Any) -> None:
    async with running(reactor, origin=UrlOrigin.SEEN) as it:
        it.site.redirect("/a", "/b")
        it.site.page("/b", "x")
        seen = SeenUrls()
        seen.add_text(f"please read {it.at('/a')}.")
        assert (await it.fetcher.fetch(it.at("/a"), seen)).body == b"x"
        for url, shown in ((it.at("/a"), None), (it.at("/b"), seen), (it.at("/a?secret=1"), seen)):
            with pytest.raises(UrlRefused, match="search result or a player's message"):
                await it.fetcher.fetch(url, shown)


async def test_a_remote_reader_gets_the_same_judgement() -> None:
    names = Names({"out.example": [["93.184.216.34"]], "in.example": [["93.184.216.34", "10.0.0.1"]]})
    assert str(await judge_for_reader("HTTPS://Out.Example/a#b", UrlPolicy(), None, names)) == "https://out.example/a"
    for url in ("https://in.example/", "http://127.0.0.1/", "https://gone.example/", "https://intranet/"):
        with pytest.raises(WebError):
            await judge_for_reader(url, UrlPolicy(), None, names)
    with pytest.raises(UrlRefused):
        await judge_for_reader("https://out.example/", UrlPolicy(url_origin=UrlOrigin.SEEN), SeenUrls(), names)


def test_a_refusal_logs_host_and_rule_but_neither_password_nor_path() -> None:
    from mud_assistant.tools.web.fetch.judge import UrlJudge  # noqa: PLC0415

    judge = UrlJudge(UrlPolicy(), Names({}))
    with capturedLogs() as logs, pytest.raises(UrlRefused):
        judge.admit("http://me:pass@example.com/path?key\x1b[2J")
    [event] = [event for event in logs if event.get("log_event") == "web_refused"]
    assert (event["rule"], event["origin"]) == ("space or control character", "http://example.com")
