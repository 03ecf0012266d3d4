"""Looking for a planted key in all that a game leaves behind: files, databases, pickles, pages of the web admin."""

from __future__ import annotations

import re
import sqlite3
from base64 import b64decode
from collections.abc import Iterator
from http.cookiejar import CookieJar
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from twisted.web.client import Agent, CookieAgent, FileBodyProducer
from twisted.web.http_headers import Headers

from tests.live.test_keys_in_logs import PLANTED

#: Attributes of Evennia are pickles in base64.
_CODED = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')


def found_in(folder: Path, wanted: tuple[str, ...] = PLANTED) -> list[str]:
    """Every place in the folder's files, databases and pickles where one of these stands."""
    return [f"{form} in {where}" for where, data in _contents(folder) for form in wanted if form.encode() in data]


def decoded(data: bytes) -> Iterator[bytes]:
    """The data, and what it holds in base64, twice over."""
    yield data
    for run in _CODED.findall(data):
        for start in range(4):  # a run of its letters may begin before the coded part does
            piece = run[start:].rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
            whole = b64decode(piece[: len(piece) // 4 * 4])
            yield whole
            if len(whole) > 16:  # shorter ones hold no key
                yield from (
                    b64decode(inner[: len(inner) // 4 * 4]) for inner in re.findall(rb"[A-Za-z0-9+/]{16,}", whole)
                )


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix == ".pyc":
            continue
        data = path.read_bytes()
        yield path.name, data
        if data.startswith(b"SQLite format 3"):
            for where, value in _values(path):
                for view in decoded(value):
                    yield f"{path.name}, {where}", view
        elif path.stat().st_size < 2_000_000 and path.suffix in {".log", ".pid", ".restart", ".toml"}:
            for view in decoded(data):
                yield f"{path.name}, in base64", view


def _values(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every value of a database: long ones lie in pieces in its file."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):  # noqa: S608  (its own names)
                for value in row:
                    if isinstance(value, str | bytes) and value:
                        yield table, value.encode() if isinstance(value, str) else value
    finally:
        connection.close()


class _Body(Protocol):
    """Collects a page."""

    def __init__(self) -> None:
        self.data = b""
        self.whole: Deferred[bytes] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        self.data += data

    def connectionLost(self, reason: Failure | None = None) -> None:
        self.whole.callback(self.data)


class Admin:
    """A staff member in the game's web admin."""

    def __init__(self, reactor: Any, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._agent = CookieAgent(Agent(reactor, connectTimeout=10), CookieJar())

    async def log_in(self, name: str, password: str) -> None:
        """Log in as a person does, by the form."""
        token = _TOKEN.findall(await self.page("/auth/login/"))[0]
        form = urlencode({"username": name, "password": password, "csrfmiddlewaretoken": token})
        headers = {"Content-Type": ["application/x-www-form-urlencoded"], "Referer": [f"{self._url}/auth/login/"]}
        await self._exchange("POST", "/auth/login/", headers, form.encode())

    async def page(self, path: str) -> str:
        """The text of a page."""
        return (await self._exchange("GET", path, {})).decode(errors="replace")

    async def _exchange(self, method: str, path: str, headers: dict[str, list[str]], sent: bytes = b"") -> bytes:
        producer = FileBodyProducer(BytesIO(sent)) if sent else None
        # One connection for each: none is left over.
        headers["Connection"] = ["close"]
        url = f"{self._url}{path}".encode()
        response = await self._agent.request(method.encode(), url, Headers(headers), producer)
        body = _Body()
        response.deliverBody(body)
        return await body.whole
