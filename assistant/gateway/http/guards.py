"""Judges the head of a request before its body is read: whether it is for us, who may send it, and in what form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from twisted.web.http_headers import Headers

from assistant.gateway.http.bodies import ENCODINGS, MAX_BODY, too_large
from assistant.http_server.addresses import is_loopback, split_host
from llm.dialects.failures import Failure, FailureKind, RequestRefused, invalid

_SLASHES = re.compile(r"//+")
_BEARER = "bearer "
#: Headers that are not handed on: the credential has a place of its own, and cookies are nobody's here.
_KEPT_BACK = frozenset({"authorization", "x-api-key", "proxy-authorization", "cookie"})
#: More digits are no length of a body. Python refuses to read thousands of them.
_LENGTH_DIGITS = 15


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What a request says before its body, as ClientRequest has it. `encoding` is that of the body."""

    method: str
    path: str
    query: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    credential: str = field(repr=False)
    encoding: str = ""


class HeadGuard:
    """Lets in what is meant for this gateway and was not sent by a page in a browser.

    `hosts` are names and addresses without a port, beside those of loopback and the address that was connected to.
    `origins` are what browsers send as Origin, such as "http://localhost:3000".
    """

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(split_host(host)[0] for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def check(self, head: RequestHead, local_address: str) -> None:
        """Refuse what must not be read on. `local_address` is that of our end of the connection.

        Raises RequestRefused.
        """
        host = head.headers.get("host", "")
        if not host or "," in host:
            raise invalid("a request needs exactly one Host header")
        if not self._is_own(host, local_address):
            said = "this gateway is not served under that name; put the name into [gateway] hosts"
            raise _refusal(FailureKind.WRONG_HOST, said)
        origin = head.headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            said = "requests of pages in a browser are refused; put their origin into [gateway] origins"
            raise _refusal(FailureKind.FORBIDDEN, said)
        if head.path == "/v1/v1" or head.path.startswith("/v1/v1/"):
            raise _refusal(FailureKind.NOT_FOUND, "there is no such path: your base URL has /v1 twice")
        if head.encoding not in ENCODINGS:
            raise _refusal(FailureKind.BAD_TYPE, "a body may be encoded as gzip or deflate, or not at all")
        if int(head.headers.get("content-length") or 0) > MAX_BODY:
            raise too_large()

    def _is_own(self, host: str, local_address: str) -> bool:
        name, _ = split_host(host)
        local = local_address.removeprefix("::ffff:")  # IPv4 on a port that takes both
        return is_loopback(name) or name == local or name in self._hosts


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
        path=_SLASHES.sub("/", path).rstrip("/") or "/",
        query=query,
        headers={name: value for name, value in named.items() if name not in _KEPT_BACK},
        credential=credential,
        encoding=named.get("content-encoding", "").lower(),
    )


def check_form(version: bytes, target: bytes, headers: Headers) -> None:
    """Refuse a head that two readers could understand in two ways. Raises RequestRefused."""
    if not target.startswith(b"/"):
        raise invalid("the target of a request must be a path")
    if version != b"HTTP/1.1" and headers.hasHeader(b"transfer-encoding"):
        raise invalid("only HTTP/1.1 knows Transfer-Encoding")


def check_line(line: bytes) -> None:
    """Refuse a line of a head that could be read in two ways. Raises RequestRefused."""
    name, _, value = line.partition(b":")
    if b"\r" in line or b"\n" in line or b"\0" in line:
        raise invalid("a header holds a control character")
    match name.lower():
        case b"transfer-encoding" if value.strip(b" \t").lower() != b"chunked":
            raise invalid("the only Transfer-Encoding that is read is chunked")
        case b"content-length" if len(value.strip(b" \t")) > _LENGTH_DIGITS:
            raise invalid("Content-Length is not a length")


def header_map(headers: Headers) -> dict[str, str]:
    """Return headers by their names in lower case."""
    return {
        name.decode("latin-1").lower(): ", ".join(value.decode("latin-1") for value in values)
        for name, values in headers.getAllRawHeaders()
    }


def _refusal(kind: FailureKind, said: str) -> RequestRefused:
    return RequestRefused(Failure(kind, said, should_retry=False))
