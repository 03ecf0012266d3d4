"""What a request of twisted.web says, read once, before anything of it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson
from msgspec import Struct
from twisted.web.http import Request

from mud_assistant.assistant.http_server.addresses import FORWARDED, Proxies
from mud_assistant.assistant.page.http.call import JSON
from mud_assistant.assistant.page.http.errors import HttpRefusal
from mud_assistant.assistant.page.ports import InvalidInput

FORM = "application/x-www-form-urlencoded"
#: The most bytes of a body.
MAX_BODY_BYTES = 64 * 1024
#: The most fields of a form or a query.
_MAX_FIELDS = 200
_BEARER = "bearer "


class Incoming(Struct, frozen=True):
    """A request before any check. A header that was sent twice has both values with a comma, which no check lets pass.

    `path` is as it was sent, `host` and `origin` in lower case. `bearer` is the token of an Authorization header.
    `is_https`: the browser speaks HTTPS, as it says in Origin or a named proxy does.
    """

    method: str
    path: str
    query: str
    host: str
    address: str
    origin: str
    fetch_site: str
    content_type: str
    csrf: str
    bearer: str
    etag: str
    accept: str
    cookies: Mapping[str, str]
    is_https: bool = False

    @property
    def is_change(self) -> bool:
        """Whether the request may change something."""
        return self.method not in {"GET", "HEAD"}


def header(request: Request, name: str) -> str:
    """Return a header of a request, empty where there is none."""
    values = request.requestHeaders.getRawHeaders(name.encode("ascii")) or ()
    return ", ".join(value.decode("latin-1") for value in values).strip()


def read_incoming(request: Request, proxies: Proxies) -> Incoming:
    """Return what a request says of itself, without its body. Only `proxies` are believed whom they ask for."""
    peer = str(getattr(request.getClientAddress(), "host", "?"))
    forwarded = {name: header(request, name) for name in FORWARDED}
    origin = header(request, "origin").lower()
    path, _, query = request.uri.decode("latin-1").partition("?")
    authorization = header(request, "authorization")
    is_bearer = authorization.lower().startswith(_BEARER)
    return Incoming(
        method=request.method.decode("latin-1"),
        path=path,
        query=query,
        host=header(request, "host").lower(),
        address=proxies.client_of(peer, forwarded),
        origin=origin,
        fetch_site=header(request, "sec-fetch-site"),
        content_type=header(request, "content-type").partition(";")[0].strip().lower(),
        csrf=header(request, "x-csrf-token"),
        bearer=authorization[len(_BEARER) :].strip() if is_bearer else "",
        etag=header(request, "if-none-match"),
        accept=header(request, "accept"),
        cookies={
            name.decode("latin-1").strip(): value.decode("latin-1").strip()
            for name, value in request.received_cookies.items()
        },
        is_https=proxies.is_https(peer, forwarded) or origin.startswith("https://"),
    )


def read_body(request: Request) -> bytes:
    """Return the body. Raises HttpRefusal with 413 for one over 64 KiB, which is not read."""
    content = request.content
    if content is None:
        return b""
    content.seek(0, 2)
    size = content.tell()
    if size > MAX_BODY_BYTES:
        raise HttpRefusal(413, "Too large", f"At most {MAX_BODY_BYTES // 1024} KiB may be sent at once.")
    content.seek(0)
    return bytes(content.read())


def parse_fields(text: str, what: str) -> dict[str, str]:
    """Return the fields of a query or a form; the last one of a name counts. Raises InvalidInput."""
    try:
        found = parse_qsl(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    except ValueError:
        raise InvalidInput(f"The {what} cannot be read: it must be UTF-8, with at most {_MAX_FIELDS} fields.") from None
    return dict(found)


def parse_form(incoming: Incoming, body: bytes) -> dict[str, str]:
    """Return the fields of a form. Raises HttpRefusal with 415 for another type of content, and InvalidInput."""
    if incoming.content_type != FORM:
        raise _unsupported(FORM)
    try:
        return parse_fields(body.decode("ascii"), "form")
    except UnicodeDecodeError:
        raise InvalidInput("The form cannot be read: its fields must be percent-encoded.") from None


# Any: JSON of a client.
def parse_json(incoming: Incoming, body: bytes) -> Any:
    """Return a JSON body, None for an empty one. Raises HttpRefusal with 415 for another type, and InvalidInput."""
    if incoming.content_type != JSON and (body or incoming.method != "DELETE"):
        raise _unsupported(JSON)
    if not body:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise InvalidInput("The body is not JSON.") from None


def _unsupported(needed: str) -> HttpRefusal:
    return HttpRefusal(415, "Unsupported content", f"Send it with Content-Type: {needed}.")
