"""Makes routes of the endpoints. Every answer is the JSON of a value."""

from __future__ import annotations

import msgspec
import orjson

from assistant.page.api.endpoints import ENDPOINTS, ApiEndpoint
from assistant.page.api.openapi import describe
from assistant.page.http.call import JSON, Handler, PageCall, Reply, Route
from assistant.page.ports import Desk

#: The path of the description.
OPENAPI_PATH = "/api/v1/openapi.json"


def api_routes(desk: Desk, live: Handler, version: str) -> list[Route]:
    """Return the routes of the API. `live` answers /api/v1/events with the stream of live events."""
    document = orjson.dumps(describe(version))

    async def openapi(_: PageCall) -> Reply:
        return Reply(document, content_type=JSON)

    routes = [Route(one.method, one.pattern, _handler(desk, one), needs=one.needs, is_api=True) for one in ENDPOINTS]
    return [
        *routes,
        Route("GET", "/api/v1/events", live, is_api=True),
        Route("GET", OPENAPI_PATH, openapi, is_api=True),
    ]


def _handler(desk: Desk, endpoint: ApiEndpoint) -> Handler:
    async def answer(call: PageCall) -> Reply:
        return Reply(msgspec.json.encode(await endpoint.do(desk, call)), content_type=JSON)

    return answer
