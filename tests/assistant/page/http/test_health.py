"""What a monitor asks, and what it is not told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mud_assistant.assistant.errors import ServiceNotRunning
from mud_assistant.assistant.page.http.health import health_routes, metrics_route, open_metrics_route
from mud_assistant.assistant.page.operations.desk import Desk
from tests.assistant.page.http.visiting import VIEWER_TOKEN, visiting

BEARER = f"Bearer {VIEWER_TOKEN}"


class Health:
    """The one method of a desk that monitors ask for."""

    def __init__(self, found: Mapping[str, bool] | Exception) -> None:
        self.found = found

    async def health(self) -> Mapping[str, bool]:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


async def test_health_tells_strangers_little(reactor: Any) -> None:
    desk = Health({"journal": True, "model": True})
    async with visiting(reactor, public=health_routes(cast("Desk", desk))) as page:
        assert ((await page.get("/healthz")).status, (await page.get("/healthz")).body) == (200, b"ok\n")
        assert (await page.ask("POST", "/healthz", b"x")).status == 405
        got = await page.get("/readyz")
        assert (got.status, got.body) == (200, b"ready\n")
        desk.found = {"journal": True, "model": False}
        got = await page.get("/readyz")
        assert (got.status, got.body) == (503, b"not ready\n")
        got = await page.get("/readyz", authorization=BEARER)
        assert (got.status, got.body) == (503, b'{"ready":false,"journal":true,"model":false}')
        await page.log_in()
        assert b'"model":false' in (await page.get("/readyz")).body
        desk.found = ServiceNotRunning("it stops")
        got = await page.get("/readyz")
        assert (got.status, got.headers["content-type"]) == (503, "application/problem+json")
        assert (await page.get("/healthz")).status == 200


async def test_metrics_need_a_right(reactor: Any) -> None:
    figures = ("text/plain; version=0.0.4", b"up 1\n")
    async with visiting(reactor, metrics_route(lambda _: figures)) as page:
        assert (await page.get("/metrics")).status == 401
        got = await page.get("/metrics", authorization=BEARER)
        assert (got.status, got.headers["content-type"], got.body) == (200, *figures)
        await page.log_in()
        assert (await page.get("/metrics")).status == 200
    async with visiting(reactor, public=[open_metrics_route(lambda _: figures)]) as page:
        assert (await page.get("/metrics")).body == figures[1]
    async with visiting(reactor, metrics_route(lambda _: None)) as page:
        got = await page.get("/metrics", authorization=BEARER)
        assert got.status == 404
        assert "install" in got.text
