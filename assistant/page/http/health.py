"""What a monitor asks: is the process there, is it ready, what are its figures."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from mud_assistant.assistant.page.http.call import JSON, PageCall, PublicCall, PublicRoute, Reply, Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import NotFound

_TEXT = "text/plain; charset=utf-8"
#: Returns the type of content and the figures for an Accept header, or None where none are kept.
ReadMetrics = Callable[[str], tuple[str, bytes] | None]


def health_routes(desk: Desk) -> list[PublicRoute]:
    """Return /healthz, which answers while the process does, and /readyz: 503 when anything is not ready.

    A stranger is told "ready" or "not ready"; a visitor also what is.
    """

    async def alive(_: PublicCall) -> Reply:
        return Reply(b"ok\n", content_type=_TEXT)

    async def ready(call: PublicCall) -> Reply:
        found = dict(await desk.health())
        is_ready = all(found.values())
        status = 200 if is_ready else 503
        if await call.visitor() is None:
            return Reply(b"ready\n" if is_ready else b"not ready\n", status, _TEXT)
        return Reply(orjson.dumps({"ready": is_ready, **found}), status, JSON)

    return [PublicRoute("GET", "/healthz", alive), PublicRoute("GET", "/readyz", ready, is_api=True)]


def metrics_route(read: ReadMetrics) -> Route:
    """Return /metrics for those who have a bearer token or may see the page."""

    async def metrics(call: PageCall) -> Reply:
        return _figures(read(call.accept))

    return Route("GET", "/metrics", metrics, is_api=True)


def open_metrics_route(read: ReadMetrics) -> PublicRoute:
    """Return /metrics for everybody who reaches the server."""

    async def metrics(call: PublicCall) -> Reply:
        return _figures(read(call.accept))

    return PublicRoute("GET", "/metrics", metrics, is_api=True)


def _figures(found: tuple[str, bytes] | None) -> Reply:
    if found is None:
        raise NotFound(
            "There are no metrics: install mud-assistant[metrics], set telemetry.metrics = true, and start again."
        )
    return Reply(found[1], content_type=found[0])
