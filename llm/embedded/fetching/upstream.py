"""Fetches the official upstream file over HTTPS: resumes where it stopped, and never takes more than the pinned size.

This runs in a child process, so it may block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request

from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.opener import HttpAnswer, Opener
from mud_assistant.llm.embedded.fetching.store import CHUNK_BYTES, ModelStore

#: The time limit in seconds for connecting, and for each wait for more bytes.
TIMEOUT_SECONDS = 10.0
#: How many connections in a row may break without a byte in between.
MAX_BARREN_ATTEMPTS = 3
_PARTIAL_CONTENT, _RANGE_NOT_SATISFIABLE = 206, 416
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")

#: Looks at what has come so far, and returns whether it has seen enough. Raises SourceFailed when it is of no use.
Look = Callable[[Path], bool]


def fetch_upstream(store: ModelStore, opener: Opener, look: Look = lambda _: True, source: str = "upstream") -> None:
    """Make the upstream file the model file. Raises SourceFailed when it could not be fetched.

    `look` is called as the file grows, until it has seen enough. `source` is what the owner is told.
    """
    partial = store.work / "upstream.part"
    store.work.mkdir(parents=True, exist_ok=True)
    store.require_room(store.model.size_bytes - _size(partial))
    barren = 0
    while _size(partial) < store.model.size_bytes:
        before = _size(partial)
        try:
            _continue(store, opener, partial, look, source)
        except (OSError, HTTPException) as error:
            _clear_up(error, partial)
            barren = 0 if _size(partial) > before else barren + 1
            if barren >= MAX_BARREN_ATTEMPTS or _is_final(error):
                raise SourceFailed(_reason(error)) from error
            continue
        if _size(partial) < store.model.size_bytes:
            partial.unlink()
            raise SourceFailed("the file there is shorter than the pinned one")
    store.adopt(partial, source)


def _continue(store: ModelStore, opener: Opener, partial: Path, look: Look, source: str) -> None:
    """Continue from where the partial file ends, to the end of the answer or the pinned size."""
    have = _size(partial)
    headers = {"User-Agent": "mud-assistant", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    answer = opener(Request(store.model.upstream_url, headers=headers), TIMEOUT_SECONDS)  # noqa: S310  (https only)
    try:
        resumed = have > 0 and answer.status == _PARTIAL_CONTENT and _range_start(answer) == have
        got = 0
        seen = have if resumed else 0
        for got in _append(store, answer, partial, seen):
            store.report.progress("download", seen + got, store.model.size_bytes, source)
            if look(partial):
                look = _seen
    except SourceFailed:
        partial.unlink()
        raise
    finally:
        answer.close()
    announced = answer.headers.get("Content-Length", "")
    if announced.isdigit() and got < int(announced):
        raise ConnectionError("the connection ended too early")


def _append(store: ModelStore, answer: HttpAnswer, partial: Path, have: int) -> Iterator[int]:
    """Write this answer after the first `have` bytes of the partial file. Yield the number of bytes written so far."""
    done, total = have, store.model.size_bytes
    with partial.open("ab" if have else "wb") as file:
        while chunk := answer.read(CHUNK_BYTES):
            done += len(chunk)
            if done > total:
                raise SourceFailed("the file there is longer than the pinned one")
            file.write(chunk)
            file.flush()
            yield done - have


def _seen(_: Path) -> bool:
    """Look no more."""
    return True


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
