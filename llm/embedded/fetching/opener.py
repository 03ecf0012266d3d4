"""Sends the requests of a fetch: over HTTPS alone, to loopback also without it. A key stays with its server.

This runs in a child process, so it may block.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPMessage
from ipaddress import ip_address
from typing import IO, Protocol
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

_KEY_HEADER = "Authorization"


class HttpAnswer(Protocol):
    """What an opener returns."""

    status: int
    headers: HTTPMessage

    def read(self, amount: int, /) -> bytes:
        """Return the next bytes, at most `amount`; empty at the end."""

    def close(self) -> None:
        """Close the connection."""


class Opener(Protocol):
    """A sender of requests that follows redirects, within a time-out in seconds."""

    def __call__(self, request: Request, timeout_seconds: float, /) -> HttpAnswer:
        """Return the answer to the request. Raises OSError, of which URLError is one."""


def is_safe(url: str, *, loopback: bool) -> bool:
    """Tell whether the address is one of HTTPS or, where `loopback` allows it, of this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return True
    return loopback and parts.scheme == "http" and _is_here(parts.hostname or "")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SafeRedirects(HTTPRedirectHandler):
    """A handler that follows redirects to safe addresses alone, and takes the key along only to the same server."""

    def __init__(self, *, loopback: bool = False) -> None:
        self._loopback = loopback

    def redirect_request(  # noqa: PLR0917  (the standard library's signature)
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> Request | None:
        """Return the request for the new place. Raises URLError when that is not safe."""
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if not is_safe(newurl, loopback=self._loopback and before.scheme == "http"):
            fp.close()
            raise URLError("it redirects to a place that is not HTTPS")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        key = req.unredirected_hdrs.get(_KEY_HEADER)
        if request is not None and key and before[:2] == after[:2]:
            request.add_unredirected_header(_KEY_HEADER, key)
        return request


def with_key(request: Request, token: str) -> Request:
    """Return the request with a key, which goes to this server and to no other."""
    if token:
        request.add_unredirected_header(_KEY_HEADER, f"Bearer {token}")
    return request


def https_opener(proxies: Mapping[str, str] | None = None, *, loopback: bool = False) -> Opener:
    """Return an opener for HTTPS, and with `loopback` for HTTP to this machine.

    `proxies` are given by scheme; None takes those of the environment.
    """
    director = OpenerDirector()
    handlers = (
        ProxyHandler(None if proxies is None else dict(proxies)),
        HTTPSHandler(),
        SafeRedirects(loopback=loopback),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
        UnknownHandler(),
    )
    for handler in handlers:
        director.add_handler(handler)
    if loopback:
        director.add_handler(HTTPHandler())

    def open_safely(request: Request, timeout_seconds: float) -> HttpAnswer:
        if loopback and not is_safe(request.full_url, loopback=True):
            raise URLError("it is neither HTTPS nor on this machine")
        answer: HttpAnswer = director.open(request, timeout=timeout_seconds)
        return answer

    return open_safely
