"""Reads the head of a request before its body, and refuses one that two readers could understand in two ways."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from twisted.web.http_headers import Headers

from mud_assistant.assistant.http_server.bounds import UnreadRequest

_SLASHES = re.compile(r"//+")
_BEARER = "bearer "
#: Headers that are not handed on: the credential has a place of its own, and cookies are read elsewhere.
_KEPT_BACK = frozenset({"authorization", "x-api-key", "proxy-authorization", "cookie"})
#: More digits are no length of a body. Python refuses to read thousands of them.
_LENGTH_DIGITS = 15


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What a request says before its body. Nothing that may hold a key is in its repr.

    `path` is percent-encoded as it was sent, without doubled slashes and without one at its end; the root is "/". One
    that does not begin with a slash is as it was sent. `query` is what stood behind the question mark. The names of
    `headers` are in lower case; a header that was sent twice has both values with ", " between. Those of credentials
    and cookies are left out: `credential` is the key in x-api-key, else in Authorization: Bearer, else empty.
    `encoding` is that of the body.
    """

    method: str
    path: str
    query: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    credential: str = field(repr=False)
    encoding: str = ""


def read_head(method: bytes, target: bytes, headers: Headers) -> RequestHead:
    """Return what the head says, before anything of it is believed."""
    path, _, query = target.decode("latin-1").partition("?")
    named = header_map(headers)
    credential = named.get("x-api-key", "")
    authorization = named.get("authorization", "")
    if not credential and authorization.lower().startswith(_BEARER):
        credential = authorization[len(_BEARER) :].strip()
    return RequestHead(
        method=method.decode("latin-1"),
        path=_SLASHES.sub("/", path).rstrip("/") or "/" if path.startswith("/") else path,
        query=query,
        headers={name: value for name, value in named.items() if name not in _KEPT_BACK},
        credential=credential,
        encoding=named.get("content-encoding", "").lower(),
    )


def check_form(version: bytes, headers: Headers) -> None:
    """Refuse a head that two readers could understand in two ways. Raises UnreadRequest."""
    if version != b"HTTP/1.1" and headers.hasHeader(b"transfer-encoding"):
        raise UnreadRequest(400, "only HTTP/1.1 knows Transfer-Encoding")


def check_line(line: bytes) -> None:
    """Refuse a line of a head that could be read in two ways. Raises UnreadRequest."""
    name, _, value = line.partition(b":")
    if b"\r" in line or b"\n" in line or b"\0" in line:
        raise UnreadRequest(400, "a header holds a control character")
    match name.lower():
        case b"transfer-encoding" if value.strip(b" \t").lower() != b"chunked":
            raise UnreadRequest(400, "the only Transfer-Encoding that is read is chunked")
        case b"content-length" if len(value.strip(b" \t")) > _LENGTH_DIGITS:
            raise UnreadRequest(400, "Content-Length is not a length")


def header_map(headers: Headers) -> dict[str, str]:
    """Return headers by their names in lower case."""
    return {
        name.decode("latin-1").lower(): ", ".join(value.decode("latin-1") for value in values)
        for name, values in headers.getAllRawHeaders()
    }
