"""One request as the pages and the API see it, and their answer to it. No Twisted here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct, field

from mud_assistant.assistant.page.ports import Visitor
from mud_assistant.assistant.page.values.common import VisitorRole

HTML = "text/html; charset=utf-8"
JSON = "application/json"


class PageCall(Struct, frozen=True):
    """A request that passed all checks. `prefix` is the path under which the page is served, without an end slash.

    `parts` are those of the path that the route names, such as {"id": "run-12"}. `form` holds the fields of a form,
    `json` the body of a call of the API. `csrf` is the token that every form of the answer carries.
    """

    method: str
    path: str
    visitor: Visitor
    prefix: str = ""
    csrf: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    # Any: JSON of a client, which a struct of `values` checks.
    json: Any = None
    #: The Accept header, which only a few answers look at.
    accept: str = ""


class Reply(Struct, frozen=True):
    """An answer. The safety headers are added to each by the server."""

    body: bytes = b""
    status: int = 200
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()


def redirect(to: str) -> Reply:
    """Answer a form that was dealt with: the browser goes to `to`, and reloading does not send the form again."""
    return Reply(status=303, headers=(("Location", to),))


class StreamReply(Struct, frozen=True):
    """An answer that goes on: `begin` is given the request of twisted.web, after its headers were checked."""

    # Any: twisted.web's Request, which this module does not import.
    begin: Callable[[Any], None]


Handler = Callable[[PageCall], Awaitable[Reply | StreamReply]]


class Route(Struct, frozen=True):
    """Which handler answers which requests. A pattern is like "/runs/{id}"; a part matches anything but a slash.

    `is_api` routes answer with JSON and problem documents, take JSON bodies and a bearer token.
    """

    method: str
    pattern: str
    handler: Handler
    needs: VisitorRole = VisitorRole.VIEWER
    is_api: bool = False


class PublicCall(Struct, frozen=True):
    """A request of somebody who may be nobody; its host, sender, size and rate were checked.

    `fields` are those of the query, or of a form or JSON object that was sent. `visitor` finds out who asks, and
    returns None for a stranger and for somebody who has no right to the page.
    """

    address: str
    cookies: Mapping[str, str]
    visitor: Callable[[], Awaitable[Visitor | None]]
    fields: Mapping[str, str] = field(default_factory=dict)
    is_json: bool = False
    accept: str = ""
    is_https: bool = False


class PublicRoute(Struct, frozen=True):
    """Which handler answers a path, such as "/login", for a stranger too. Its errors are pages unless `is_api`."""

    method: str
    path: str
    handler: Callable[[PublicCall], Awaitable[Reply]]
    is_api: bool = False
