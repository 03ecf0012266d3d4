"""Requests as they arrive: paths, credentials, forms of bodies, and the guards."""

from __future__ import annotations

import gzip
import zlib
from contextlib import nullcontext
from typing import Any

import orjson
import pytest

from mud_assistant.assistant.gateway.http.bodies import MAX_BODY
from mud_assistant.assistant.gateway.http.calls import ClientRequest
from mud_assistant.assistant.gateway.http.guards import HeadGuard
from mud_assistant.assistant.http_server.bounds import UnreadRequest
from mud_assistant.assistant.http_server.request_head import RequestHead
from tests.assistant.gateway.http.reached import reached, request, until
from tests.assistant.page.http.visiting import Got, parse


def kind(got: Got) -> str:
    return str(orjson.loads(got.body)["kind"])


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/", "/", ""),
        ("/v1/messages/?beta=true", "/v1/messages", "beta=true"),
        ("//v1//chat/completions", "/v1/chat/completions", ""),
        ("/v1/models/a%2Fb?a=b?c", "/v1/models/a%2Fb", "a=b?c"),
        ("///", "/", ""),
    ],
)
async def test_paths_lose_slashes_that_mean_nothing(reactor: Any, target: str, path: str, query: str) -> None:
    async with reached(reactor) as here:
        got = await here.ask("POST", target, b"{}")
        assert orjson.loads(got.body)[1:3] == [path, query]


@pytest.mark.parametrize("target", ["/v1/v1", "/v1/v1/messages", "/v1//v1/models"])
async def test_a_doubled_v1_is_explained(reactor: Any, target: str) -> None:
    async with reached(reactor) as here:
        got = await here.ask("POST", target, b"{}")
        assert (got.status, kind(got)) == (404, "NOT_FOUND")
        assert "your base URL has /v1 twice" in got.text
        assert here.handler.asked == []


async def test_a_path_that_only_looks_doubled_is_served(reactor: Any) -> None:
    async with reached(reactor) as here:
        assert (await here.ask("GET", "/v1/v1beta")).status == 200


@pytest.mark.parametrize(
    ("headers", "credential"),
    [
        ({}, ""),
        ({"authorization": "Bearer one"}, "one"),
        ({"authorization": "bearer  one "}, "one"),
        ({"x-api-key": "two"}, "two"),
        ({"x-api-key": "two", "authorization": "Bearer one"}, "two"),
        ({"authorization": "Basic one"}, ""),
    ],
)
async def test_the_credential_is_found(reactor: Any, headers: dict[str, str], credential: str) -> None:
    async with reached(reactor) as here:
        await here.ask("GET", "/", b"", **headers, cookie="a=b", anthropic_beta="x")
        asked = here.handler.asked[0]
        assert asked.credential == credential
        assert asked.headers["anthropic-beta"] == "x"
        assert not {"authorization", "x-api-key", "cookie"} & set(asked.headers)
        assert "one" not in repr(asked)
        assert "two" not in repr(asked)


async def test_a_header_that_came_twice_has_both_values(reactor: Any) -> None:
    async with reached(reactor) as here:
        await here.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-One: a\r\nx-oNe: b\r\nConnection: close, TE\r\n\r\n")
        assert here.handler.asked[0].headers["x-one"] == "a, b"
        assert here.handler.asked[0].address == "127.0.0.1"


async def test_head_has_the_length_and_no_body(reactor: Any) -> None:
    async with reached(reactor) as here:
        got = await here.ask("HEAD", "/")
        assert (got.status, got.body) == (200, b"")
        assert int(got.headers["content-length"]) > 10
        refused = await here.ask("HEAD", "/v1/v1")
        assert (refused.status, refused.body) == (404, b"")


async def test_every_answer_has_our_id_and_none_names_the_server(reactor: Any) -> None:
    async with reached(reactor) as here:
        served, refused = await here.ask("GET", "/"), await here.ask("GET", "/v1/v1")
        broken = parse(await here.send(b"nonsense\r\n\r\n"))
        assert here.handler.asked[0].id == served.headers["request-id"]
        for got in (served, refused, broken):
            assert got.headers["request-id"] == got.headers["x-request-id"] != ""
            assert "server" not in got.headers
            assert "access-control-allow-origin" not in got.headers
            assert got.headers["date"]
        assert (broken.status, kind(broken)) == (400, "INVALID")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:8420", "127.8.9.1", "[::1]:80", "mud.lan.", "10.1.2.3"]
)
async def test_own_hosts_are_served(reactor: Any, host: str) -> None:
    async with reached(reactor, hosts=["mud.lan", "10.1.2.3"]) as here:
        assert (await here.ask("GET", "/", host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil.example:8420", "127.0.0.1.nip.io", "10.1.2.4", "@localhost"],
)
async def test_names_that_were_made_to_lead_here_are_refused(reactor: Any, host: str) -> None:
    async with reached(reactor, hosts=["mud.lan", "10.1.2.3"]) as here:
        got = await here.ask("POST", "/v1/messages", b"{}", host=host)
        assert (got.status, kind(got), here.handler.asked) == (421, "WRONG_HOST", [])


@pytest.mark.parametrize(
    ("local", "host", "is_own"),
    [
        ("192.168.1.5", "192.168.1.5:8420", True),
        ("::ffff:192.168.1.5", "192.168.1.5:8420", True),
        ("fd00::5", "[fd00::5]:8420", True),
        ("192.168.1.5", "192.168.1.6:8420", False),
        ("fd00::5", "[fd00::6]", False),
    ],
)
def test_the_address_that_was_connected_to_is_an_own_host(local: str, host: str, *, is_own: bool) -> None:
    head = RequestHead("GET", "/", "", {"host": host}, "")
    with nullcontext() if is_own else pytest.raises(UnreadRequest):
        HeadGuard().check(head, local)


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: localhost\r\n"])
async def test_a_request_names_one_host(reactor: Any, hosts: bytes) -> None:
    async with reached(reactor) as here:
        assert parse(await here.send(b"GET / HTTP/1.1\r\n" + hosts + b"\r\n")).status == 400


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://a.example", 200), ("HTTP://A.EXAMPLE", 200), ("http://b.example", 403), ("null", 403)],
)
async def test_pages_in_browsers_are_refused_unless_listed(reactor: Any, origin: str, status: int) -> None:
    async with reached(reactor, origins=["http://a.example/"]) as here:
        got = await here.ask("OPTIONS", "/v1/messages", origin=origin)
        assert got.status == status
        assert not any(name.startswith("access-control") for name in got.headers)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("gzip", gzip.compress(b'{"a": 1}' * 100, mtime=0)),
        ("x-gzip", gzip.compress(b'{"a": 1}' * 100, mtime=0)),
        ("deflate", zlib.compress(b'{"a": 1}' * 100)),
        ("DEFLATE", raw_deflate(b'{"a": 1}' * 100)),
        ("identity", b'{"a": 1}' * 100),
    ],
)
async def test_bodies_are_inflated(reactor: Any, encoding: str, sent: bytes) -> None:
    async with reached(reactor) as here:
        assert (await here.ask("POST", "/", sent, content_encoding=encoding)).status == 200
        assert here.handler.asked[0].body == b'{"a": 1}' * 100


@pytest.mark.parametrize(
    ("encoding", "sent", "status"),
    [
        ("br", b"x", 415),
        ("gzip, gzip", b"x", 415),
        ("gzip", b"x", 400),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-3], 400),
        ("gzip", gzip.compress(b"{}", mtime=0) + b"more", 400),
        ("gzip", gzip.compress(b"{}", mtime=0) * 2, 400),
        ("deflate", b"x", 400),
        ("gzip", gzip.compress(bytes(MAX_BODY + 1), mtime=0), 413),
        ("deflate", zlib.compress(bytes(4 * MAX_BODY)), 413),
    ],
    ids=["br", "twice", "no gzip", "cut off", "more", "two members", "no deflate", "bomb", "larger bomb"],
)
async def test_what_cannot_be_inflated_is_refused(reactor: Any, encoding: str, sent: bytes, status: int) -> None:
    async with reached(reactor) as here:
        got = await here.ask("POST", "/", sent, content_encoding=encoding)
        assert (got.status, here.handler.asked) == (status, [])


async def test_a_body_may_come_in_chunks(reactor: Any) -> None:
    async with reached(reactor) as here:
        head = request("POST", "/", {"transfer-encoding": "chunked", "content-length": "", "connection": "close"})
        client = await here.connect(head + b"3\r\nabc\r\n")
        await until(reactor, lambda: here.listener.held_bytes == 3)
        client.send(b"2;x=y\r\nde\r\n0\r\n\r\n")
        await client.closed()
        assert here.handler.asked[0].body == b"abcde"


async def test_a_client_may_wait_for_100_continue(reactor: Any) -> None:
    async with reached(reactor) as here:
        said = {"expect": "100-continue", "content-length": "2", "connection": "close"}
        client = await here.connect(request("POST", "/", said))
        await client.got(b"HTTP/1.1 100 Continue\r\n\r\n")
        client.send(b"{}")
        assert b"HTTP/1.1 200 OK" in await client.closed()


async def test_a_body_that_will_be_refused_is_not_asked_for(reactor: Any) -> None:
    async with reached(reactor) as here:
        said = {"expect": "100-continue", "content-length": str(MAX_BODY + 1)}
        got = parse(await here.send(request("POST", "/", said)))
        assert (got.status, got.headers["connection"]) == (413, "close")


async def test_a_body_is_counted_while_it_arrives(reactor: Any) -> None:
    async with reached(reactor) as here:
        head = request("POST", "/", {"transfer-encoding": "chunked", "content-length": ""})
        piece = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20))
        got = parse(await here.send(head + piece * 40))
        assert (got.status, kind(got)) == (413, "TOO_LARGE")
        assert (here.handler.asked, here.listener.held_bytes) == ([], 0)


async def test_the_largest_body_is_taken(reactor: Any) -> None:
    async with reached(reactor) as here:
        got = await here.ask("POST", "/", b"x" * MAX_BODY)
        assert orjson.loads(got.body)[3] == MAX_BODY


async def test_many_large_bodies_at_once_find_no_room(reactor: Any) -> None:
    async with reached(reactor) as here:
        here.listener._serving.held._limit = 3000  # 256 MiB would take the test's memory
        first = await here.connect(request("POST", "/", {"content-length": "2001"}) + b"x" * 2000)
        await until(reactor, lambda: here.listener.held_bytes == 2000)
        got = await here.ask("POST", "/", b"y" * 2000)
        assert (got.status, kind(got)) == (503, "OVERLOADED")
        inflated = await here.ask("POST", "/", gzip.compress(bytes(5000)), content_encoding="gzip")
        assert (inflated.status, kind(inflated)) == (503, "OVERLOADED")
        first.send(b"x")
        await first.got(b"200 OK")
        await until(reactor, lambda: here.listener.held_bytes == 0)


def test_a_request_shows_no_secret() -> None:
    asked = ClientRequest("req_1", "POST", "/v1", "key=planted", {"x": "planted"}, b"planted", "planted", "::1")
    assert "planted" not in repr(asked)
