"""Paths, bodies, methods and rates: what a request may look like."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.page.http.incoming import FORM, MAX_BODY_BYTES
from mud_assistant.assistant.page.http.static import StaticTable
from tests.assistant.page.http.visiting import OPERATOR_TOKEN, STATIC, parse, visiting

TRICKS = [
    "/static/../static/{name}",
    "/static/..%2f{name}",
    "/static/%2e%2e/%2e%2e/etc/passwd",
    "/static/%252e%252e/{name}",
    "/static//{name}",
    "/static/./{name}",
    "/static/{name}%00.js",
    "/static/{name}/",
    "/static/page.css",
    "/static/",
    "/static",
    "//static/{name}",
    "/static%2f{name}",
    "/static/..\\{name}",
    "/STATIC/{name}",
    "/runs/static/{name}",
    "static/{name}",
    "http://127.0.0.1/static/{name}",
    "*",
]


@pytest.mark.parametrize("trick", TRICKS)
async def test_static_has_no_other_paths(reactor: Any, trick: str) -> None:
    name = STATIC.path("page.css").rpartition("/")[2]
    async with visiting(reactor) as page:
        await page.log_in()
        got = await page.get(trick.format(name=name))
        assert got.status == 404
        assert b"color" not in got.body


async def test_static_is_kept_for_ever(reactor: Any) -> None:
    async with visiting(reactor) as page:
        path = STATIC.path("page.css")
        got = await page.get(path)
        assert (got.status, got.body) == (200, b"main { color: black }")
        assert got.headers["content-type"] == "text/css; charset=utf-8"
        assert got.headers["cache-control"] == "public, max-age=31536000, immutable"
        tag = got.headers["etag"]
        for known in (tag, f'"other", W/{tag}'):
            again = await page.get(path, If_None_Match=known)
            assert (again.status, again.body) == (304, b"")
        assert (await page.get(path, If_None_Match='"other"')).status == 200
        got = await page.ask("HEAD", path)
        assert (got.body, got.headers["content-length"]) == (b"", "21")
        assert (await page.ask("POST", path, b"x")).status == 405


def test_static_table_takes_plain_names_of_known_types() -> None:
    for name in ("../page.css", "a/b.css", "page.html", "page", ".css"):
        with pytest.raises(ValueError, match="not a name"):
            StaticTable({name: b""})


async def test_ids_are_decoded_once(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        for sent, read in [
            ("assistant%3A12", "assistant:12"),
            ("assistant:12", "assistant:12"),
            ("assistant%253A12", "assistant%3A12"),
            ("Ren%C3%A9", "Ren\u00e9"),
            ("a+b", "a+b"),
            ("%zz", "%zz"),
        ]:
            assert (await page.get(f"/runs/{sent}")).status == 200
            assert page.calls[-1].parts == {"id": read}
            assert page.calls[-1].path == f"/runs/{sent}"
        for sent in ("a%2Fb", "%2e%2e", "%00", "a%0ab", "%ff", "a%5Cb", ""):
            assert (await page.get(f"/runs/{sent}")).status == 404
        assert (await page.get("/runs/Ren\u00e9")).status == 400


async def test_prefix_is_taken_off(reactor: Any) -> None:
    async with visiting(reactor, prefix="/assistants") as page:
        token = page.door.new_address().rpartition("=")[2]
        page.cookie = page.door.log_in(token, "here").partition(";")[0]
        for path, status in [("/assistants", 200), ("/assistants/", 200), ("/", 404), ("/assistantsx", 404)]:
            assert (await page.get(path)).status == status
        assert (await page.get("/assistants/runs/1?a=1")).status == 200
        call = page.calls[-1]
        assert (call.path, call.prefix, call.query) == ("/runs/1", "/assistants", {"a": "1"})


async def test_bodies_have_a_limit(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        room = MAX_BODY_BYTES - len(f"csrf={page.csrf}&a=")
        assert (await page.submit("/", {"a": "x" * room})).status == 200
        asked = len(page.calls)
        assert (await page.submit("/", {"a": "x" * (room + 1)})).status == 413
        bearer = f"Bearer {OPERATOR_TOKEN}"
        got = await page.call_api("/api/v1/assistants/1/stop", b'"%s"' % (b"x" * MAX_BODY_BYTES), authorization=bearer)
        assert (got.status, got.headers["content-type"]) == (413, "application/problem+json")
        chunk = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
        head = page.request("POST", "/", {"Content-Length": "", "Transfer-Encoding": "chunked", "Content-Type": FORM})
        assert parse(await page.send(head + chunk * 3 + b"0\r\n\r\n")).status == 413
        assert len(page.calls) == asked


async def test_a_body_without_end_is_refused(reactor: Any) -> None:
    async with visiting(reactor) as page:
        head = page.request("POST", "/", {"Content-Length": "1000000000"})
        assert parse(await page.send(head + b"x" * 1_100_000)).status == 413


MALFORMED = [
    (FORM, b"a=%ff"),
    (FORM, b"a=\xff"),
    (FORM, b"&".join(b"a=1" for _ in range(300))),
    ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'),
    ("text/plain", b"a=1"),
    ("", b"a=1"),
]


@pytest.mark.parametrize(("kind", "body"), MALFORMED)
async def test_malformed_forms_are_refused(reactor: Any, kind: str, body: bytes) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        asked = len(page.calls)
        body = f"csrf={page.csrf}&".encode() + body
        got = await page.ask("POST", "/", body, content_type=kind, origin=page.origin)
        assert got.status == (422 if kind == FORM else 415)
        assert len(page.calls) == asked


@pytest.mark.parametrize("body", [b"{", b"\xff", b"NaN", b"[" * 3000, b'{"a":"\\ud800"}', b"{} {}"])
async def test_malformed_json_is_refused(reactor: Any, body: bytes) -> None:
    async with visiting(reactor) as page:
        got = await page.call_api("/api/v1/assistants/1/stop", body, authorization=f"Bearer {OPERATOR_TOKEN}")
        assert (got.status, page.calls) == (422, [])


async def test_malformed_queries_are_refused(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        assert (await page.get("/?" + "&".join("a=1" for _ in range(300)))).status == 422
        assert (await page.get("/?a=%ff")).status == 422
        assert (await page.get("/?a=1&a=2&b=&c=%26")).status == 200
        assert page.calls[-1].query == {"a": "2", "b": "", "c": "&"}


async def test_session_has_a_rate(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        page.clock.advance(60)
        for _ in range(20):
            assert (await page.get("/")).status == 200
        late = await page.get("/")
        assert (late.status, late.headers["retry-after"]) == (429, "1")
        page.clock.advance(0.1)
        assert (await page.get("/")).status == 200
        assert (await page.get("/")).status == 429
        # Another session is not held up.
        page.cookie = ""
        page.clock.advance(0)
        assert (await page.log_in()).status == 200


async def test_strangers_have_a_rate(reactor: Any) -> None:
    async with visiting(reactor) as page:
        assert [(await page.get("/")).status for _ in range(21)] == [302] * 20 + [429]
        assert (await page.get("/login")).status == 429
        # A visitor at the same address is let in.
        page.cookie = page.door.log_in(page.door.new_address().rpartition("=")[2], "x").partition(";")[0]
        assert (await page.get("/")).status == 200
