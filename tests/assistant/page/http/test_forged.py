"""Requests that another site makes a browser send, and what else is refused before a handler is asked."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.page.http.guard import Csrf
from mud_assistant.assistant.page.http.incoming import FORM
from mud_assistant.assistant.page.ports import NotAllowed
from tests.assistant.page.http.visiting import OPERATOR_TOKEN, Visiting, visiting


async def test_own_form_is_taken(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        got = await page.submit("/", {"do": "stop", "name": "Ala n\u00e9"})
        assert got.status == 200
        assert dict(page.calls[-1].form) == {"do": "stop", "name": "Ala n\u00e9"}


FORGED = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "https://127.0.0.1:{port}"},
    {"origin": "http://127.0.0.1:{port}.evil.example"},
    {"origin": "http://localhost:{port}"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"sec_fetch_site": "same-origin, cross-site"},
]


@pytest.mark.parametrize("forged", FORGED, ids=str)
async def test_form_of_another_site_is_refused(reactor: Any, forged: dict[str, str]) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        asked = len(page.calls)
        headers: dict[str, Any] = {name: value.format(port=page.port) for name, value in forged.items()}
        assert (await page.submit("/", {"do": "stop"}, **headers)).status == 403
        assert (await page.call_api("/api/v1/assistants/assistant%3A1/stop", **headers)).status == 403
        assert len(page.calls) == asked


async def test_form_needs_its_token(reactor: Any) -> None:
    async with visiting(reactor) as page, visiting(reactor) as other:
        await page.log_in()
        await other.log_in()
        asked = len(page.calls)
        own, page.csrf = page.csrf, ""
        assert (await page.submit("/")).status == 403
        assert (await page.ask("POST", "/", b"do=stop", content_type=FORM)).status == 403
        page.csrf = own[:-1] + ("0" if own[-1] != "0" else "1")
        assert (await page.submit("/")).status == 403
        page.csrf = own + "\udcff"
        assert (await page.submit("/?csrf=" + own, {"csrf": ""})).status == 403
        assert len(page.calls) == asked


async def test_token_of_another_session_is_refused(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        first = page.csrf
        page.cookie = ""
        await page.log_in()
        assert first != page.csrf
        second, page.csrf = page.csrf, first
        assert (await page.submit("/")).status == 403
        page.csrf = second
        assert (await page.submit("/")).status == 200


def test_tokens_hold_for_one_session_and_one_process() -> None:
    csrf = Csrf(b"a" * 16)
    csrf.check("one", csrf.token("one"))
    for sent in (csrf.token("two"), Csrf(b"b" * 16).token("one"), "", "\udcff"):
        with pytest.raises(NotAllowed):
            csrf.check("one", sent)
    with pytest.raises(ValueError, match="16 bytes"):
        Csrf(b"short")


async def test_api_needs_json_and_the_token_in_a_header(reactor: Any) -> None:
    path = "/api/v1/assistants/assistant%3A1/stop"
    async with visiting(reactor) as page:
        await page.log_in()
        assert (await page.call_api(path, b'{"why":"now"}')).status == 200
        assert page.calls[-1].json == {"why": "now"}
        assert page.calls[-1].parts == {"id": "assistant:1"}
        assert (await page.call_api(path, x_csrf_token="")).status == 403
        assert (await page.call_api(path, content_type="text/plain")).status == 415
        assert (await page.call_api(path, content_type=FORM)).status == 415
        assert (await page.call_api(path, b"", content_type="")).status == 415
        bad = await page.call_api(path, b'{"why":')
        assert (bad.status, bad.headers["content-type"]) == (422, "application/problem+json")


async def test_bearer_token_needs_no_form_token_and_counts_alone(reactor: Any) -> None:
    path = "/api/v1/assistants/assistant%3A1/stop"
    async with visiting(reactor) as page:
        bearer = f"Bearer {OPERATOR_TOKEN}"
        page.csrf = ""
        assert (await page.call_api(path, authorization=bearer)).status == 200
        assert page.calls[-1].visitor.name == "script"
        await page.log_in()
        page.csrf = ""
        # A wrong one beside a good cookie is nobody; and a bearer token opens no page.
        assert (await page.call_api(path, authorization="Bearer wrong")).status == 401
        page.cookie = ""
        assert (await page.get("/", authorization=bearer)).status == 302
        assert (await page.submit("/", authorization=bearer)).status == 303


HOSTS = ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:{port}.evil.example", "localhost:1", "", "a b"]


@pytest.mark.parametrize("host", HOSTS)
async def test_rebound_host_is_refused(reactor: Any, host: str) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        for path in ("/", "/healthz", "/login", "/static/page.css", "/api/v1/assistants"):
            got = await page.get(path, Host=host.format(port=page.port))
            assert got.status in ({400, 421} if not host else {421}), path
            assert b"hello" not in got.body


async def test_two_hosts_are_refused(reactor: Any) -> None:
    async with visiting(reactor) as page:
        own = f"127.0.0.1:{page.port}"
        raw = f"GET /login HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        assert b" 421 " in (await page.send(raw.encode())).partition(b"\r\n")[0]


async def test_own_and_configured_hosts_are_served(reactor: Any) -> None:
    async with visiting(reactor, names=["ops.example.org", "tunnel.example:9000"]) as page:
        hosts = [f"LOCALHOST:{page.port}", f"[::1]:{page.port}", "ops.example.org", f"ops.example.org:{page.port}"]
        hosts += ["tunnel.example:9000", f"127.0.0.2:{page.port}"]
        for host in hosts:
            assert (await page.get("/login", Host=host)).status == 200
        await page.log_in()
        assert (await page.submit("/", Host="ops.example.org", origin="https://ops.example.org")).status == 200


async def test_method_cannot_be_overridden(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        got = await page.get("/?_method=POST", X_HTTP_Method_Override="POST")
        assert (got.status, page.calls[-1].method) == (200, "GET")
        for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "get", "X"):
            got = await page.ask(method, "/")
            assert (got.status, got.headers["allow"]) == (405, "GET, HEAD, POST")
            assert not any(name.startswith("access-control") for name in got.headers)


async def test_frames_and_scripts_of_others_are_refused_on_every_answer(reactor: Any) -> None:
    async def check(page: Visiting) -> None:
        css = next(iter(page.resource._static))
        for path in (
            "/",
            css,
            "/none",
            "/login",
            "/api/v1/assistants",
            "/api/none",
            "//",
            "/%ff",
            "*",
        ):
            for method in ("GET", "HEAD", "POST", "OPTIONS"):
                page.clock.advance(10)
                got = await page.ask(method, path)
                policy = got.headers["content-security-policy"]
                assert "default-src 'none'" in policy, path
                assert "frame-ancestors 'none'" in policy
                assert "unsafe" not in policy
                assert got.headers["x-frame-options"] == "DENY"
                assert got.headers["x-content-type-options"] == "nosniff"
                assert got.headers["referrer-policy"] == "same-origin"
                assert got.headers["cross-origin-opener-policy"] == "same-origin"
                assert "server" not in got.headers
                is_file = path == css and method in {"GET", "HEAD"}
                assert ("no-store" in got.headers["cache-control"]) is not is_file

    async with visiting(reactor) as page:
        await check(page)
        await page.log_in()
        await check(page)
