"""Debian's searx, the ancestor of SearXNG: the real program on loopback, its only engine a server of ours."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.resilience import HttpExchange
from mud_assistant.resilience.testing.fake import Fake, Response, ServedRequest, json_response
from mud_assistant.resilience.testing.fault_server import serve
from mud_assistant.tools.web.errors import ErrorKind, WebError
from mud_assistant.tools.web.search.api import Shared
from mud_assistant.tools.web.search.searxng import SearxngSearchProvider
from mud_assistant.tools.web.source.protocol import SearchQuery, TimeRange
from tests.tools.web.search.calling import error_of

PYTHON = "/usr/bin/python3"  # searx is a Debian package, so it runs on Debian's Python
EXAMPLE = Path("/usr/share/doc/searx/examples/settings.yml")
SETTINGS = """
import sys, yaml
settings = yaml.safe_load(open(sys.argv[1]))
backend, port, formats = sys.argv[2], int(sys.argv[3]), sys.argv[4].split(",")
settings["server"].update(port=port, bind_address="127.0.0.1", secret_key="made for a test", method="GET")
settings["search"].update(formats=formats, ban_time_on_fail=0, max_ban_time_on_fail=0)
settings["engines"] = [{
    "name": "loopback", "engine": "json_engine", "shortcut": "lo", "categories": "general", "timeout": 5.0,
    "paging": True, "search_url": backend + "/?q={query}&page={pageno}", "results_query": "hits",
    "url_query": "link", "title_query": "name", "content_query": "text", "enable_http": True,
}]
yaml.safe_dump(settings, open(sys.argv[5], "w"))
"""


def _is_there() -> bool:
    if not EXAMPLE.exists() or not Path(PYTHON).exists():
        return False
    found = subprocess.run(
        [PYTHON, "-c", "import yaml, importlib.util as i; i.find_spec('searx') or 1 / 0"],
        capture_output=True,
        check=False,
        cwd="/",
    )
    return found.returncode == 0


pytestmark = [
    pytest.mark.slow,  # searx takes 2 to 9 s to start, and its package is 80 MB
    pytest.mark.skipif(not _is_there(), reason="Debian's package searx is not installed"),
]


class Backend(Fake[ServedRequest]):
    """What searx's engine asks."""

    request_type = ServedRequest

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.status = 200

    def answer(self, request: ServedRequest) -> Response:
        self.asked.append(request.query["q"])
        hits = [{"link": f"http://a.example.org/{n}", "name": f"Well {n}", "text": f"deep {n}"} for n in range(1, 5)]
        return json_response({"hits": hits}, self.status)


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


def started(folder: Path, backend: str, port: int, formats: str) -> subprocess.Popen[bytes]:
    """The searx process, with the packaged example settings but for its engines."""
    settings = folder / "settings.yml"
    arguments = [str(EXAMPLE), backend, str(port), formats, str(settings)]
    subprocess.run([PYTHON, "-c", SETTINGS, *arguments], check=True, cwd=folder)
    environment = {"SEARX_SETTINGS_PATH": str(settings), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    command = [PYTHON, "-m", "searx.webapp"]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)


@asynccontextmanager
async def searx(reactor: Any, folder: Path, formats: str = "html,json") -> AsyncIterator[tuple[Any, Backend]]:
    """A provider of a searx of our own, and the backend of its engine."""
    backend, port = Backend(), free_port()
    exchange = HttpExchange(reactor)
    async with serve(backend, reactor) as url:
        child = started(folder, url, port, formats)
        provider = SearxngSearchProvider(Shared(exchange, reactor), "", f"http://127.0.0.1:{port}")
        try:
            await _up(reactor, child, provider, folder)
            backend.asked.clear()
            yield provider, backend
        finally:
            child.terminate()
            child.wait(timeout=10)
            await exchange.close()


async def _up(reactor: Any, child: subprocess.Popen[bytes], provider: Any, folder: Path) -> None:
    for _ in range(300):
        try:
            await provider.search(SearchQuery("up"))
        except WebError as error:
            if error.kind is not ErrorKind.NETWORK:
                return
        else:
            return
        assert child.poll() is None, (folder / "log").read_text()[-2000:]
        await deferLater(reactor, 0.2)
    raise AssertionError("searx did not start")


async def test_the_real_thing_answers_through_our_provider(reactor: Any, tmp_path: Path) -> None:
    async with searx(reactor, tmp_path) as (provider, backend):
        results = await provider.search(SearchQuery("village well", 3, ("a.example.org",)))
        assert [(result.title, result.url) for result in results] == [
            (f"Well {n}", f"http://a.example.org/{n}") for n in range(1, 4)
        ]
        assert results[0].snippet == "deep 1"
        assert backend.asked == ["village well site:a.example.org"]

        # An engine without time ranges is dropped in silence: no results, and nobody to blame.
        assert await provider.search(SearchQuery("well", time_range=TimeRange.DAY)) == []

        backend.status = 429
        error = await error_of(provider.search(SearchQuery("well")))
        assert error.kind is ErrorKind.BLOCKED_OR_EMPTY
        assert "loopback" in error.message
