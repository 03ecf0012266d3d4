"""Makes routes of the endpoints, whose answers are the JSON of structs, and the OpenAPI 3.1 document of them."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Any

import msgspec
import orjson
from msgspec import Struct
from msgspec.json import schema_components

from mud_assistant.assistant.page.api.endpoints import ENDPOINTS, ApiEndpoint
from mud_assistant.assistant.page.http.call import JSON, Handler, PageCall, Reply, Route
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.values.common import ProblemDocument
from mud_assistant.assistant.page.values.live import LiveEvent

_PART = re.compile(r"\{(\w+)\}")
#: The path of the description.
OPENAPI_PATH = "/api/v1/openapi.json"
_REF = "#/components/schemas/{name}"
_PROBLEMS = {
    "401": "Nobody is logged in",
    "403": "Not allowed",
    "404": "Not found",
    "409": "Decided or changed by somebody else in the meantime",
    "422": "What was sent cannot be used; the detail says which field",
    "429": "Asked too often",
    "503": "The journal or the service cannot be used now",
}
_ABOUT = (
    "What the operator's page shows and does. Send a token of [page] tokens as `Authorization: Bearer TOKEN`. Errors "
    "are problem documents (RFC 9457). Times are seconds since 1970."
)

# Any in this module: JSON of an OpenAPI document.


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


def describe(version: str) -> dict[str, Any]:
    """Return the document; `version` is that of mud-assistant."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.pattern, {})[endpoint.method.lower()] = _operation(endpoint)
    paths["/api/v1/events"] = {"get": _events()}
    paths[OPENAPI_PATH] = {"get": _itself()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "mud-assistant", "version": version, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(endpoint: ApiEndpoint) -> dict[str, Any]:
    answer = _ref(endpoint.answers)
    operation: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "summary": endpoint.summary,
        "description": f"Needs the role of {endpoint.needs}.",
        "parameters": _parameters(endpoint),
        "responses": {
            "200": {
                "description": "Done",
                "content": {"application/json": {
                    "schema": {"type": "array", "items": answer} if endpoint.is_list else answer
                }},
            },
            **_problems(),
        },
    }  # fmt: skip
    if endpoint.takes is not None:
        body = {"application/json": {"schema": _ref(endpoint.takes)}}
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _parameters(endpoint: ApiEndpoint) -> list[dict[str, Any]]:
    numbers = {"type": "integer", "minimum": 0}
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": numbers if name == "number" else {"type": "string"}}
        for name in _PART.findall(endpoint.pattern)
    ]
    in_query = [
        {"name": name, "in": "query", "description": meaning, "schema": {"type": "string"}}
        for name, meaning in endpoint.query.items()
    ]
    return [*in_path, *in_query]


def _problems() -> dict[str, Any]:
    content = {"application/problem+json": {"schema": _ref(ProblemDocument)}}
    return {status: {"description": meaning, "content": content} for status, meaning in _PROBLEMS.items()}


def _events() -> dict[str, Any]:
    return {
        "operationId": "get_events",
        "summary": "What happens now, as server-sent events",
        "description": "The data of each event is one LiveEvent. The stream ends; resume it from Last-Event-ID.",
        "parameters": [
            {"name": name, "in": "query", "description": meaning, "schema": {"type": "string"}}
            for name, meaning in {
                "assistant": "the id of an assistant; empty for all",
                "kinds": "kinds of events with commas between them; empty for all",
                "last": "the id of the last event that is known",
                "tab": "a name: a new stream of the same name takes the place of the old one",
            }.items()
        ],
        "responses": {
            "200": {"description": "The stream", "content": {"text/event-stream": {"schema": _ref(LiveEvent)}}},
            **_problems(),
        },
    }


def _itself() -> dict[str, Any]:
    return {
        "operationId": "get_openapi",
        "summary": "This document",
        "responses": {"200": {"description": "Done", "content": {"application/json": {"schema": {"type": "object"}}}}},
    }


def _operation_id(endpoint: ApiEndpoint) -> str:
    words = re.sub(r"\W+", "_", endpoint.pattern.removeprefix("/api/v1/")).strip("_")
    return f"{endpoint.method.lower()}_{words}"


def _ref(kind: type[Struct]) -> dict[str, Any]:
    return {"$ref": _REF.format(name=kind.__name__)}


def _schemas() -> dict[str, Any]:
    answers = {endpoint.answers for endpoint in ENDPOINTS}
    bodies = {endpoint.takes for endpoint in ENDPOINTS if endpoint.takes is not None}
    wanted = {*answers, *bodies, ProblemDocument, LiveEvent}
    _, schemas = schema_components(sorted(wanted, key=lambda kind: kind.__name__), ref_template=_REF)
    for schema in schemas.values():
        schema["description"] = cleandoc(schema["description"])
    return schemas
