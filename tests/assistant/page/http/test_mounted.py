"""The page in the web server of a game: below a prefix, in a site that is not ours, with a door of accounts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from twisted.web.resource import Resource
from twisted.web.server import Site

from mud_assistant.assistant.http_server.addresses import Proxies
from mud_assistant.assistant.http_server.token_bucket import TokenBuckets
from mud_assistant.assistant.page.http.incoming import FORM
from mud_assistant.assistant.page.ports import NotAllowed, TooManyRequests, Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.tools import Principal
from tests.assistant.page.http.visiting import OPERATOR_TOKEN, Visiting, visiting


class AccountDoor:
    """Knows accounts by a cookie alone, and players of the game who may not see the page."""

    login_url = ""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, str]] = []

    def is_own_host(self, host: str) -> bool:
        return host.startswith("127.0.0.1:")

    def is_own_origin(self, origin: str, host: str) -> bool:
        return origin == f"http://{host}"

    async def visitor(self, cookies: Mapping[str, str]) -> Visitor | None:
        self.asked.append(cookies)
        match cookies.get("sessionid", ""):
            case "":
                return None
            case "player":
                raise NotAllowed("Only an Admin may see this page.")
            case "busy":
                raise TooManyRequests("Wait a minute.")
            case name:
                return Visitor(Principal("account:1", name), VisitorRole.OPERATOR, name)


@asynccontextmanager
async def mounted(reactor: Any, door: AccountDoor, login_url: str = "") -> AsyncIterator[Visiting]:
    door.login_url = login_url
    async with visiting(reactor, prefix="/assistants", door=door) as page:
        root = Resource()
        root.putChild(b"assistants", page.resource)
        port: Any = reactor.listenTCP(0, Site(root), interface="127.0.0.1")
        page.port = port.getHost().port
        try:
            yield page
        finally:
            await port.stopListening()


async def test_account_opens_the_page_and_sends_forms(reactor: Any) -> None:
    async with mounted(reactor, AccountDoor()) as page:
        page.cookie = "sessionid=ala"
        for path in ("/assistants", "/assistants/", "/assistants/runs/assistant%3A1"):
            got = await page.get(path)
            assert (got.status, got.body) == (200, b"hello ala")
            assert "server" not in got.headers
            page.csrf = got.headers["x-test-csrf"]
        assert (await page.submit("/assistants", {"do": "stop"})).status == 200
        assert page.calls[-1].form == {"do": "stop"}
        assert (await page.submit("/assistants", {"do": "x" * 70_000})).status == 413
        assert (await page.get("/assistants/../secret")).status == 404


async def test_who_is_not_an_admin_is_told_so(reactor: Any) -> None:
    door = AccountDoor()
    async with mounted(reactor, door, "/auth/login/?a=1") as page:
        got = await page.get("/assistants/runs/1?b=2")
        assert (got.status, got.headers["location"]) == (302, "/auth/login/?a=1&next=%2Fassistants%2Fruns%2F1%3Fb%3D2")
        page.cookie = "sessionid=player"
        got = await page.get("/assistants")
        assert (got.status, b"Only an Admin" in got.body) == (403, True)
        page.cookie = "sessionid=busy"
        got = await page.get("/assistants")
        assert (got.status, got.headers["retry-after"]) == (429, "60")
        # Who is let in nowhere has a rate as well.
        assert [(await page.get("/assistants")).status for _ in range(30)][-1] == 429
    async with mounted(reactor, door) as page:
        got = await page.get("/assistants")
        assert (got.status, b"Open the printed address again" in got.body) == (401, True)


async def test_cookie_is_not_looked_at_beside_a_bearer_token(reactor: Any) -> None:
    door = AccountDoor()
    async with mounted(reactor, door) as page:
        page.cookie = "sessionid=ala"
        got = await page.call_api("/assistants/api/v1/assistants/1/stop", authorization="Bearer wrong")
        assert (got.status, door.asked) == (401, [])
        got = await page.call_api("/assistants/api/v1/assistants/1/stop", authorization=f"Bearer {OPERATOR_TOKEN}")
        assert (got.status, page.calls[-1].visitor.name, door.asked) == (200, "script", [])
        await page.ask("POST", "/assistants", b"", content_type=FORM, authorization=f"Bearer {OPERATOR_TOKEN}")
        assert door.asked == [{"sessionid": "ala"}]


async def test_a_thousand_sessions_and_strangers_do_not_grow_the_page(reactor: Any) -> None:
    door = AccountDoor()
    async with visiting(reactor, door=door, proxies=Proxies(["127.0.0.1"])) as page:
        for number in range(1_100):
            cookie = f"sessionid=a{number}" if number % 2 else ""
            got = await page.get("/", Cookie=cookie, X_Forwarded_For=f"10.0.{number // 250}.{number % 250}")
            assert got.status == (200 if number % 2 else 401)
        tables = [table for table in vars(page.resource).values() if isinstance(table, TokenBuckets)]
        assert len(tables) == 2
        assert max(len(table) for table in tables) == 550
        for table in tables:
            for number in range(1_000):
                table.take(f"more {number}")
            assert len(table) == 1_000
        assert len(page.resource) == 0
