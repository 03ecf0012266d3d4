"""Fetches the official upstream file over HTTPS: resumes where it stopped, and never takes more than the pinned size.

This runs in a child process, so it may block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Protocol
from urllib.error import HTTPError, URLError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from llm.embedded.errors import SourceFailed
from llm.embedded.fetching.store import CHUNK_BYTES, ModelStore

#: The time limit in seconds for connecting, and for each wait for more bytes.
TIMEOUT_SECONDS = 10.0
#: How many connections in a row may break without a byte in between.
MAX_BARREN_ATTEMPTS = 3
_PARTIAL_CONTENT, _RANGE_NOT_SATISFIABLE = 206, 416
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


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


class _HttpsRedirects(HTTPRedirectHandler):
    """A handler that follows redirects, but never away from HTTPS."""

    def redirect_request(  # noqa: PLR0917  (the standard library's signature)
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> Request | None:
        """Return the request for the new place. Raises URLError when that is not HTTPS."""
        if not newurl.lower().startswith("https://"):
            raise URLError("it redirects to a place that is not HTTPS")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def https_opener(proxies: Mapping[str, str] | None = None) -> Opener:
    """Return an opener for HTTPS and nothing else.

    `proxies` are given by scheme; None takes those of the environment.
    """
    director = OpenerDirector()
    for handler in (
        ProxyHandler(None if proxies is None else dict(proxies)),
        HTTPSHandler(),
        _HttpsRedirects(),
        HTTPDefaultErrorHandler(),
        HTTPErrorProcessor(),
        UnknownHandler(),
    ):
        director.add_handler(handler)

    def open_https(request: Request, timeout_seconds: float) -> HttpAnswer:
        answer: HttpAnswer = director.open(request, timeout=timeout_seconds)
        return answer

    return open_https


def fetch_upstream(store: ModelStore, opener: Opener) -> None:
    """Make the upstream file the model file. Raises SourceFailed when it could not be fetched."""
    partial = store.work / "upstream.part"
    store.work.mkdir(parents=True, exist_ok=True)
    store.require_room(store.model.size_bytes - _size(partial))
    barren = 0
    while _size(partial) < store.model.size_bytes:
        before = _size(partial)
        try:
            _continue(store, opener, partial)
        except (OSError, HTTPException) as error:
            _clear_up(error, partial)
            barren = 0 if _size(partial) > before else barren + 1
            if barren >= MAX_BARREN_ATTEMPTS or _is_final(error):
                raise SourceFailed(_reason(error)) from error
            continue
        if _size(partial) < store.model.size_bytes:
            partial.unlink()
            raise SourceFailed("the file there is shorter than the pinned one")
    store.adopt(partial, "upstream")


def _continue(store: ModelStore, opener: Opener, partial: Path) -> None:
    """Continue from where the partial file ends, to the end of the answer or the pinned size."""
    have = _size(partial)
    headers = {"User-Agent": "mud-assistant", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    answer = opener(Request(store.model.upstream_url, headers=headers), TIMEOUT_SECONDS)  # noqa: S310  (https only)
    try:
        resumed = have > 0 and answer.status == _PARTIAL_CONTENT and _range_start(answer) == have
        got = _append(store, answer, partial, have if resumed else 0)
    except SourceFailed:
        partial.unlink()
        raise
    finally:
        answer.close()
    announced = answer.headers.get("Content-Length", "")
    if announced.isdigit() and got < int(announced):
        raise ConnectionError("the connection ended too early")


def _append(store: ModelStore, answer: HttpAnswer, partial: Path, have: int) -> int:
    """Write this answer after the first `have` bytes of the partial file. Return the number of bytes written."""
    done, total = have, store.model.size_bytes
    with partial.open("ab" if have else "wb") as file:
        while chunk := answer.read(CHUNK_BYTES):
            done += len(chunk)
            if done > total:
                raise SourceFailed("the file there is longer than the pinned one")
            file.write(chunk)
            store.report.progress("download", done, total, "upstream")
    return done - have


def _range_start(answer: HttpAnswer) -> int:
    found = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    return int(found[1]) if found else -1


def _clear_up(error: Exception, partial: Path) -> None:
    """Close an error answer. Drop the partial file when the server does not have what comes after it."""
    if isinstance(error, HTTPError):
        error.close()
        if error.code == _RANGE_NOT_SATISFIABLE:
            partial.unlink(missing_ok=True)


def _is_final(error: Exception) -> bool:
    """Tell whether asking again is useless."""
    return isinstance(error, HTTPError) or (isinstance(error, URLError) and isinstance(error.reason, str))


def _reason(error: BaseException) -> str:
    if isinstance(error, HTTPError):
        return f"the server answered HTTP {error.code}"
    if isinstance(error, TimeoutError):
        return "the server did not answer in time"
    if isinstance(error, URLError):
        return _reason(error.reason) if isinstance(error.reason, OSError) else str(error.reason)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
