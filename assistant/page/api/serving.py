"""Makes routes of the endpoints. Every answer is the JSON of a value."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from assistant.page.api.endpoints import ENDPOINTS, Answer, ApiEndpoint
from assistant.page.api.openapi import describe
from assistant.page.http.call import JSON, Handler, PageCall, Reply, Route
from assistant.page.operations.desk import Desk

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
        return Reply(to_json(await endpoint.do(desk, call)), content_type=JSON)

    return answer


def to_json(answer: Answer) -> bytes:
    """Return a value, or several, as JSON."""
    if isinstance(answer, Sequence):
        return b"[" + b",".join(one.model_dump_json().encode() for one in answer) + b"]"
    return answer.model_dump_json().encode()
