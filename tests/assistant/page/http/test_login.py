"""The printed address, the cookie it is swapped for, sessions, and who is nobody."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from zope.interface import implementer

from mud_assistant.assistant.http_server.addresses import Proxies
from mud_assistant.assistant.page.http.call import JSON
from mud_assistant.assistant.page.http.door import MAX_SESSIONS, SESSION_SECONDS, StandaloneDoor, own_path
from mud_assistant.assistant.page.http.incoming import FORM
from mud_assistant.assistant.page.ports import PageError, Unauthenticated
from tests.assistant.page.http.visiting import OPERATOR_TOKEN, VIEWER_TOKEN, Got, Visiting, numbered_bytes, visiting


async def send_token(page: Visiting, token: str, **headers: str) -> Got:
    said: dict[str, Any] = {"content_type": JSON, "origin": page.origin} | headers
    return await page.ask("POST", "/login", f'{{"token":"{token}","next":"/runs"}}'.encode(), **said)


async def test_address_logs_in_once(reactor: Any) -> None:
    async with visiting(reactor) as page:
        address = page.door.new_address()
        assert address.startswith(f"http://127.0.0.1:{page.port}/#token=")
        token = address.rpartition("=")[2]
        got = await page.get("/")
        assert (got.status, got.headers["location"]) == (302, "/login?next=%2F")
        got = await send_token(page, token)
        assert (got.status, got.body) == (200, b'{"next":"/runs"}')
        cookie, *flags = got.headers["set-cookie"].split("; ")
        assert cookie.startswith(f"mud_assistant_{page.port}=")
        assert flags == ["HttpOnly", "SameSite=Strict", "Path=/"]
        page.cookie = cookie
        assert (await page.get("/")).body == b"hello operator"
        again = await send_token(page, token)
        assert again.status == 401
        assert "set-cookie" not in again.headers


async def test_form_logs_in_without_a_script(reactor: Any) -> None:
    async with visiting(reactor) as page:
        address = page.door.new_address().replace("#", "%23").replace(":", "%3A")
        got = await page.ask("POST", "/login", f"token={address}&next=/runs/1".encode(), content_type=FORM)
        assert (got.status, got.headers["location"]) == (303, "/runs/1")
        assert "HttpOnly" in got.headers["set-cookie"]


async def test_login_page_leads_back_to_own_pages_only(reactor: Any) -> None:
    async with visiting(reactor) as page:
        got = await page.get("/runs/1?before=%22%3E")
        assert got.headers["location"] == "/login?next=%2Fruns%2F1%3Fbefore%3D%2522%253E"
        shown = (await page.get(got.headers["location"])).text
        assert 'name="next" value="/runs/1?before=%22%3E"' in shown
        assert 'name="next" value="/"' in (await page.get("/login?next=//evil.example")).text
        assert "<script>alert" not in (await page.get("/login?next=/%22%3E%3Cscript%3Ealert(1)%3C/script%3E")).text


@pytest.mark.parametrize(
    "text", ["//evil", "/\\evil", "https://evil", "javascript:x", "", "/\t/evil", "/a\nb", "/\u00e9"]
)
def test_no_other_server_is_an_own_path(text: str) -> None:
    assert own_path(text) == "/"


async def test_new_address_ends_the_one_before(reactor: Any) -> None:
    async with visiting(reactor) as page:
        first = page.door.new_address().rpartition("=")[2]
        second = page.door.new_address().rpartition("=")[2]
        assert (await send_token(page, first)).status == 401
        assert (await send_token(page, second)).status == 200


async def test_login_of_another_site_is_refused(reactor: Any) -> None:
    async with visiting(reactor) as page:
        token = page.door.new_address().rpartition("=")[2]
        assert (await send_token(page, token, origin="http://evil.example")).status == 403
        assert (await send_token(page, token, sec_fetch_site="cross-site")).status == 403
        assert (await send_token(page, token, content_type="text/plain")).status == 415
        assert (await page.get(f"/login?token={token}")).status == 200
        # None of these used the token up.
        assert (await send_token(page, token)).status == 200


async def test_guessing_is_stopped_for_an_address(reactor: Any) -> None:
    async with visiting(reactor) as page:
        for _ in range(5):
            assert (await send_token(page, "wrong")).status == 401
        late = await send_token(page, "wrong")
        assert late.status == 429
        assert int(late.headers["retry-after"]) == 12
        page.clock.advance(13)
        assert (await send_token(page, "wrong")).status == 401


async def test_guessing_of_bearer_tokens_is_stopped_too(reactor: Any) -> None:
    async with visiting(reactor) as page:
        for guess in range(5):
            assert (await page.get("/api/v1/assistants", authorization=f"Bearer {guess}")).status == 401
        assert (await page.get("/api/v1/assistants", authorization="Bearer 6")).status == 429


async def test_wrong_tokens_lock_nobody_out_who_has_a_right_one(reactor: Any) -> None:
    """Behind a proxy everybody has one address, and on a machine of several people as well."""
    async with visiting(reactor) as page:
        token = page.door.new_address().rpartition("=")[2]
        for _ in range(40):
            assert (await send_token(page, "wrong")).status in {401, 429}
            assert (await page.get("/api/v1/assistants", authorization="Bearer wrong")).status in {401, 429}
        viewer, operator = f"Bearer {VIEWER_TOKEN}", f"Bearer {OPERATOR_TOKEN}"
        assert (await page.get("/api/v1/assistants", authorization=viewer)).status == 200
        assert (await page.call_api("/api/v1/assistants/1/stop", authorization=operator)).status == 200
        got = await send_token(page, token)
        assert got.status == 200
        page.cookie = got.headers["set-cookie"].partition(";")[0]
        assert (await page.get("/")).status == 200


async def test_the_cookie_of_who_came_by_https_is_never_sent_without_it(reactor: Any) -> None:
    by_https, far = {"x_forwarded_proto": "https"}, {"x_forwarded_proto": "https", "x_forwarded_for": "192.0.2.7"}
    for proxies, headers, is_secure in (
        (["127.0.0.1"], by_https, True),
        (["127.0.0.1"], far, True),
        (["127.0.0.1"], {"forwarded": "for=192.0.2.7;proto=https"}, True),
        (["127.0.0.1"], {"x_forwarded_proto": "http"}, False),
        (["127.0.0.1"], {}, False),
        (["10.0.0.1"], by_https, False),
        ([], by_https, False),
    ):
        async with visiting(reactor, proxies=Proxies(proxies)) as page:
            got = await send_token(page, page.door.new_address().rpartition("=")[2], **headers)
            assert got.status == 200
            assert got.headers["set-cookie"].endswith("; Secure") is is_secure, (proxies, headers)
            assert "HttpOnly; SameSite=Strict; Path=/" in got.headers["set-cookie"]


async def test_a_browser_that_names_an_https_origin_came_by_https(reactor: Any) -> None:
    async with visiting(reactor, names=["mud.example"]) as page:
        token = page.door.new_address().rpartition("=")[2]
        got = await send_token(page, token, Host="mud.example", origin="https://mud.example")
        assert got.headers["set-cookie"].endswith("; Secure")


async def test_tries_count_for_the_client_of_a_named_proxy(reactor: Any) -> None:
    async with visiting(reactor, proxies=Proxies(["127.0.0.1"])) as page:
        for _ in range(5):
            assert (await send_token(page, "wrong", x_forwarded_for="192.0.2.7")).status == 401
        assert (await send_token(page, "wrong", x_forwarded_for="192.0.2.7")).status == 429
        assert (await send_token(page, "wrong", x_forwarded_for="192.0.2.8")).status == 401


@pytest.mark.parametrize("fold", [" ", "\t"])
async def test_a_folded_header_is_refused(reactor: Any, fold: str) -> None:
    """One reader takes it for a part of the header before, another for none."""
    async with visiting(reactor) as page:
        head = f"GET /login HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nX-A: 1\r\n{fold}Host: evil\r\n\r\n"
        assert (await page.send(head.encode())).startswith(b"HTTP/1.1 400 ")
        again = f"GET /login HTTP/1.1\r\n{fold}X: 1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n"
        assert (await page.send(again.encode())).startswith(b"HTTP/1.1 400 ")


async def test_session_ends_when_it_is_not_used(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        for _ in range(3):
            page.clock.advance(SESSION_SECONDS - 1)
            assert (await page.get("/")).status == 200
        page.clock.advance(SESSION_SECONDS + 1)
        assert (await page.get("/")).status == 302
        assert len(page.door) == 0


async def test_log_out_ends_the_session(reactor: Any) -> None:
    async with visiting(reactor) as page:
        await page.log_in()
        csrf, page.csrf = page.csrf, ""
        assert (await page.submit("/logout")).status == 403
        page.csrf = csrf
        got = await page.submit("/logout")
        assert (got.status, got.headers["location"]) == (303, "/login")
        assert "Max-Age=0" in got.headers["set-cookie"]
        assert (await page.get("/")).status == 302


async def test_a_thousand_sessions_do_not_grow_the_tables() -> None:
    clock = Clock()
    door = StandaloneDoor(clock, numbered_bytes(), port=1)
    cookies = []
    for _ in range(1_000):
        header = door.log_in(door.new_address().rpartition("=")[2], "127.0.0.1")
        cookies.append(dict([header.partition(";")[0].split("=", 1)]))
    assert len(door) == MAX_SESSIONS
    assert await door.visitor(cookies[-1]) is not None
    assert await door.visitor(cookies[0]) is None
    for number in range(5_000):
        with pytest.raises(PageError):
            door.log_in("wrong", f"10.0.{number % 250}.{number // 250}")
    assert len(door._tries) <= 1_000
    assert len(door) == MAX_SESSIONS


async def test_no_token_is_taken_when_none_was_printed() -> None:
    door = StandaloneDoor(Clock(), numbered_bytes(), port=1)
    for token in ("", "-" * 64, "None"):
        with pytest.raises(Unauthenticated):
            door.log_in(token, "127.0.0.1")


async def test_roles_decide(reactor: Any) -> None:
    path = "/api/v1/assistants/assistant%3A1/"
    async with visiting(reactor) as page:
        viewer, operator = f"Bearer {VIEWER_TOKEN}", f"Bearer {OPERATOR_TOKEN}"
        assert (await page.get("/api/v1/assistants", authorization=viewer)).status == 200
        got = await page.call_api(path + "stop", authorization=viewer)
        assert (got.status, got.headers["content-type"]) == (403, "application/problem+json")
        assert (await page.call_api(path + "stop", authorization=operator)).status == 200
        assert (await page.call_api(path + "settings", method="PATCH", authorization=operator)).status == 403
        nobody = await page.get("/api/v1/assistants")
        assert nobody.status == 401
        assert "location" not in nobody.headers
        assert nobody.headers["www-authenticate"].startswith("Bearer")


@implementer(ILogObserver)
class Everything:
    """All that is logged, as text and as data."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, event: LogEvent) -> None:
        self.text += f"{formatEvent(event)} {event!r}\n"


async def test_no_token_is_logged(reactor: Any) -> None:
    logged = Everything()
    globalLogPublisher.addObserver(logged)
    try:
        async with visiting(reactor) as page:
            token = page.door.new_address().rpartition("=")[2]
            await send_token(page, token + "x")
            await page.get(f"/?token={token}")
            await page.get(f"/login?token={token}")
            await page.send(f"GET /?token={token} HTTP/9\r\n\r\n".encode())
            got = await send_token(page, token)
            page.cookie = got.headers["set-cookie"].partition(";")[0]
            await page.get("/")
            await page.get("/api/v1/assistants", authorization=f"Bearer {OPERATOR_TOKEN}")
    finally:
        globalLogPublisher.removeObserver(logged)
    for secret in (token, page.cookie.partition("=")[2], OPERATOR_TOKEN):
        assert secret not in logged.text
        assert urlsafe_b64encode(secret.encode()).decode()[:20] not in logged.text
    for kept in (page.door, page.resource):
        assert token not in repr(vars(kept))
