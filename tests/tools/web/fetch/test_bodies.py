"""What a hostile page may send: too much, too little, too slowly, in the wrong form. Each ends in one clear error."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.fetch.fetcher import FetchLimits
from mud_assistant.tools.web.testing.site import HTML, head
from tests.tools.web.fetch.fetching import running

SMALL = FetchLimits(connect_seconds=2, whole_seconds=5, raw_bytes=10_000, decoded_bytes=20_000)
SHORT = FetchLimits(connect_seconds=0.3, whole_seconds=0.4)


async def error_of(it: Any, path: str = "/") -> WebError:
    with pytest.raises(WebError) as raised:
        await it.fetcher.fetch(it.at(path))
    error = raised.value
    assert isinstance(error, WebError)
    assert len(error.message) < 200
    return error


@pytest.mark.parametrize(("size", "fits"), [(10_000, True), (10_001, False)])
@pytest.mark.parametrize("counted", [True, False])
async def test_the_raw_cap(reactor: Any, size: int, fits: bool, counted: bool) -> None:
    async with running(reactor, SMALL) as it:
        length = {"Content-Length": str(size)} if counted else {}
        it.site.raw("/", head(200, length, HTML) + b"x" * size)
        page = await it.fetcher.fetch(it.at("/"))
        assert (len(page.body), page.is_cut) == (min(size, 10_000), not fits)


@pytest.mark.parametrize(("size", "fits"), [(20_000, True), (20_001, False)])
async def test_the_unpacked_cap(reactor: Any, size: int, fits: bool) -> None:
    async with running(reactor, SMALL) as it:
        it.site.gzipped("/", b"x" * (size - 5_000), b"x" * 5_000)
        page = await it.fetcher.fetch(it.at("/"))
        assert (page.body, page.is_cut) == (b"x" * min(size, 20_000), not fits)


async def test_a_bomb_is_unpacked_up_to_the_cap(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.bomb("/")
        page = await it.fetcher.fetch(it.at("/"))
        assert (len(page.body), page.is_cut) == (2_000_000, True)


async def test_of_a_body_without_end_the_beginning_is_read(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.endless("/")
        page = await it.fetcher.fetch(it.at("/"))
        assert (len(page.body), page.is_cut) == (2_000_000, True)


async def test_a_document_that_is_nothing_without_its_end_is_not_read(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.raw("/", head(200, {"Content-Length": "2000001"}, "application/pdf"))
        assert "too large" in (await error_of(it)).message


@pytest.mark.parametrize("misbehave", ["drip", "silent", "endless_head"])
async def test_what_takes_too_long(reactor: Any, misbehave: str) -> None:
    async with running(reactor, SHORT) as it:
        if misbehave == "endless_head":
            it.site.endless_head("/", interval_seconds=0.05)
        else:
            getattr(it.site, misbehave)("/")
        error = await error_of(it)
        assert error.kind is ErrorKind.TIMEOUT


async def test_headers_without_end(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.endless_head("/")
        error = await error_of(it)
        assert error.kind is ErrorKind.PARSE
        assert "head of more than" in error.message


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-",
        head(200, {"Content-Length": "100"}, HTML) + b"too little",
        head(200, {"Transfer-Encoding": "chunked"}, HTML) + b"5\r\nhel",
        b"\x16\x03\x01 not http\r\n\r\n",
        head(200, {"Transfer-Encoding": "chunked"}, HTML) + b"zz\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\nContent-Type: text/html\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\nContent-Type: text/html\r\n\r\nhello!",
    ],
)
async def test_a_connection_that_ends_early_or_makes_no_sense(reactor: Any, sent: bytes) -> None:
    async with running(reactor) as it:
        it.site.raw("/", sent)
        assert (await error_of(it)).kind is ErrorKind.NETWORK


async def test_more_than_was_said_is_not_part_of_the_page(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.raw("/", head(200, {"Content-Length": "5"}, HTML) + b"hello and more")
        assert (await it.fetcher.fetch(it.at("/"))).body == b"hello"


async def test_nobody_there(reactor: Any) -> None:
    async with running(reactor, names={"gone.example": [["127.0.0.2"]]}) as it:
        with pytest.raises(WebError, match="cannot connect") as raised:
            await it.fetcher.fetch(it.at("/", "gone.example"))
        assert raised.value.kind is ErrorKind.NETWORK
        with pytest.raises(WebError, match="was not found"):
            await it.fetcher.fetch(it.at("/", "unknown.example"))


async def test_cancelling_closes_the_connection(reactor: Any) -> None:
    from twisted.internet.task import deferLater  # noqa: PLC0415

    async with running(reactor) as it:
        it.site.drip("/")
        fetching = Deferred.fromCoroutine(it.fetcher.fetch(it.at("/")))
        while not it.site.requests:
            await deferLater(reactor, 0.005)
        fetching.cancel()
        with pytest.raises(CancelledError):
            await fetching
        for _ in range(100):
            if it.site.open_connections:
                await deferLater(reactor, 0.005)
        assert it.site.open_connections == 0


PACKED = gzip.compress(b"<p>hello</p>", mtime=0)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", PACKED),
        ("x-gzip", PACKED),
        ("GZIP", PACKED),
        ("gzip", PACKED + bytes(100)),
        ("identity", None),
        ("gzip", gzip.compress(b"<p>hel", mtime=0) + bytes(7) + gzip.compress(b"lo</p>", mtime=0)),
        ("", None),
    ],
)
async def test_encodings_we_asked_for(reactor: Any, encoding: str, body: bytes | None) -> None:
    async with running(reactor) as it:
        it.site.page("/", b"<p>hello</p>" if body is None else body, headers={"Content-Encoding": encoding})
        assert (await it.fetcher.fetch(it.at("/"))).body == b"<p>hello</p>"


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip", "identity, gzip", "x" * 500])
async def test_encodings_we_did_not_ask_for(reactor: Any, encoding: str) -> None:
    async with running(reactor) as it:
        it.site.page("/", PACKED, headers={"Content-Encoding": encoding})
        assert "not asked for" in (await error_of(it)).message


@pytest.mark.parametrize(
    "body",
    [
        PACKED[:-4],
        PACKED[:-8] + bytes(4) + PACKED[-4:],
        b"<p>plain</p>",
        PACKED + b"rubbish",
        zlib.compress(b"x"),
        gzip.compress(b"", mtime=0) * 300,
    ],
)
async def test_broken_gzip(reactor: Any, body: bytes) -> None:
    async with running(reactor) as it:
        it.site.page("/", body, headers={"Content-Encoding": "gzip"})
        error = await error_of(it)
        assert (error.kind, "gzip cannot be read" in error.message) == (ErrorKind.PARSE, True)


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("text/html", "text/html"),
        ("TEXT/HTML ; charset=x", "text/html"),
        ("application/xhtml+xml", None),
        ("text/plain", None),
        ("text/markdown", None),
        ("application/json", None),
        ("application/ld+json", None),
        ("application/xml", None),
        ("text/xml", None),
        ("application/rss+xml", None),
        ("application/atom+xml", None),
        ("application/pdf", None),
    ],
)
async def test_types_that_are_read(reactor: Any, header: str, kind: str | None) -> None:
    async with running(reactor) as it:
        it.site.page("/", "x", header)
        assert (await it.fetcher.fetch(it.at("/"))).content_type == (kind or header)


@pytest.mark.parametrize(
    "kind",
    ["image/png", "application/octet-stream", "video/mp4", "text/css", "application/zip", "image/svg+xml", "*/*"],
)
async def test_types_that_are_not_read(reactor: Any, kind: str) -> None:
    async with running(reactor) as it:
        it.site.raw("/", head(200, {"Content-Length": "123456"}, kind) + b"x")
        error = await error_of(it)
        assert error.kind is ErrorKind.PARSE
        assert error.message == f"the page is {kind}, 123,456 bytes, which cannot be read as text"


async def test_a_type_that_is_an_attack_on_the_reader(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.raw("/", head(200, {}, "image/ignore-all" + "a" * 500) + b"x")
        error = await error_of(it)
        assert len(error.message) < 200
        assert "of unknown size" in error.message


@pytest.mark.parametrize("name", ["Content-Type", "Location", "Set-Cookie", "X-Any"])
async def test_a_control_character_in_a_header_is_no_answer(reactor: Any, name: str) -> None:
    async with running(reactor) as it:
        it.site.raw("/", head(200, {name: "image/\x1b[2Jignore-all"}, None) + b"x")
        error = await error_of(it)
        assert error.kind is ErrorKind.NETWORK
        assert "sent what is not HTTP" in error.message
        assert "\x1b" not in error.message


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"%PDF-1.7 ", "application/pdf"),
        (b" \n<!DOCTYPE html><p>x", "text/html"),
        (b"just words", "text/plain"),
        (b"<!-- note -->\n<html>", "text/html"),
        (b"<b>bold</b>", "text/plain"),
    ],
)
async def test_a_page_without_a_type(reactor: Any, body: bytes, kind: str) -> None:
    async with running(reactor) as it:
        it.site.page("/", body, None)
        assert (await it.fetcher.fetch(it.at("/"))).content_type == kind


async def test_a_binary_without_a_type(reactor: Any) -> None:
    async with running(reactor) as it:
        it.site.page("/", b"\x7fELF\x00\x01", None)
        assert "application/octet-stream" in (await error_of(it)).message
