"""The description of the API: every route is described, and no other."""

from __future__ import annotations

from typing import Any

from mud_assistant.assistant.page.api.openapi import api_routes, describe
from mud_assistant.assistant.page.http.call import PageCall, Reply
from tests.assistant.page.desk import MemoryDesk


async def no_stream(_: PageCall) -> Reply:
    return Reply()


def test_every_route_is_described_and_no_other() -> None:
    document = describe("1.0")
    described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    routes = api_routes(MemoryDesk(), no_stream, "1.0")
    assert described == {(route.method, route.pattern) for route in routes}
    assert all(route.is_api for route in routes)
    ids = [operation["operationId"] for item in document["paths"].values() for operation in item.values()]
    assert len(set(ids)) == len(ids)


def test_every_reference_leads_to_a_model() -> None:
    document = describe("1.0")
    names = set(document["components"]["schemas"])

    def references(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["$ref"].rpartition("/")[2]} if "$ref" in part else set()
            return own.union(*map(references, part.values()))
        return set().union(*map(references, part)) if isinstance(part, list) else set()

    found = references(document)
    assert found <= names
    assert {"Overview", "RunView", "ProblemDocument", "LiveEvent", "ApprovalDecision"} <= found
