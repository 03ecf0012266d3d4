from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import Thread
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from msgspec.structs import replace

from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.opener import HttpAnswer, SafeRedirects, https_opener
from mud_assistant.llm.embedded.fetching.upstream import fetch_upstream
from tests.llm.embedded.stage import CONTENT, Stage


@dataclass
class Upstream:
    """A file server on loopback whose faults a test chooses."""

    content: bytes = CONTENT
    #: Bytes after which each of the next answers breaks off.
    breaks: list[int] = field(default_factory=list)
    status: int = 0
    ranges: bool = True
    asked: list[str] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def upstream(stage: Stage) -> Iterator[Upstream]:
    told = Upstream()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, told)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the base class's name)
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told.url = f"http://127.0.0.1:{server.server_port}/model"
        stage.model = replace(stage.model, upstream_url=told.url)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield told
        server.shutdown()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, told: Upstream) -> None:
    wanted = handler.headers.get("Range", "")
    told.asked.append(wanted)
    start = int(re.sub(r"\D", "", wanted) or 0) if told.ranges else 0
    status = told.status or (206 if start else 200)
    if start >= len(told.content):
        status = 416
    body = told.content[start:] if status < 300 else b"no"
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    if status == 206:
        handler.send_header("Content-Range", f"bytes {start}-{len(told.content) - 1}/{len(told.content)}")
    handler.end_headers()
    handler.wfile.write(body[: told.breaks.pop(0)] if told.breaks else body)


def plain_opener(request: Request, timeout_seconds: float) -> HttpAnswer:
    answered: HttpAnswer = build_opener(ProxyHandler({})).open(request, timeout=timeout_seconds)
    return answered


def fetch(stage: Stage) -> None:
    fetch_upstream(stage.store(), plain_opener)


def test_fetches_the_pinned_file(stage: Stage, upstream: Upstream) -> None:
    fetch(stage)

    assert stage.store().path.read_bytes() == CONTENT
    assert stage.kinds() == {"download", "verify"}
    assert upstream.asked == [""]


def test_goes_on_after_a_broken_connection(stage: Stage, upstream: Upstream) -> None:
    upstream.breaks = [1000, 500]

    fetch(stage)

    assert stage.store().path.read_bytes() == CONTENT
    assert upstream.asked == ["", "bytes=1000-", "bytes=1500-"]


def test_goes_on_in_a_later_process(stage: Stage, upstream: Upstream) -> None:
    upstream.breaks = [1000, 0, 0, 0]
    with pytest.raises(SourceFailed, match="too early"):
        fetch(stage)

    fetch(stage)

    assert stage.store().path.read_bytes() == CONTENT
    assert upstream.asked[-1] == "bytes=1000-"


def test_starts_over_when_the_server_knows_no_ranges(stage: Stage, upstream: Upstream) -> None:
    upstream.breaks = [1000]
    upstream.ranges = False

    fetch(stage)

    assert stage.store().path.read_bytes() == CONTENT


def test_a_partial_file_that_is_whole_is_only_checked(stage: Stage, upstream: Upstream) -> None:
    store = stage.store()
    store.work.mkdir()
    (store.work / "upstream.part").write_bytes(CONTENT)

    fetch(stage)

    assert store.path.exists()
    assert upstream.asked == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [(CONTENT[::-1], "SHA-256"), (CONTENT + b"more", "longer"), (CONTENT[:-5], "shorter")],
)
def test_refuses_another_file_and_keeps_nothing_of_it(
    stage: Stage,
    upstream: Upstream,
    content: bytes,
    reason: str,
) -> None:
    upstream.content = content

    with pytest.raises(SourceFailed, match=reason):
        fetch(stage)

    assert list(stage.store().work.iterdir()) == []


def test_drops_a_partial_file_that_the_server_cannot_continue(stage: Stage, upstream: Upstream) -> None:
    upstream.content = CONTENT[:1000]
    store = stage.store()
    store.work.mkdir()
    (store.work / "upstream.part").write_bytes(CONTENT[:2000])

    with pytest.raises(SourceFailed, match="416"):
        fetch(stage)

    assert list(store.work.iterdir()) == []


@pytest.mark.parametrize("status", [403, 404, 503])
def test_an_error_answer_ends_it_at_once(stage: Stage, upstream: Upstream, status: int) -> None:
    upstream.status = status

    with pytest.raises(SourceFailed, match=f"HTTP {status}"):
        fetch(stage)

    assert len(upstream.asked) == 1


def test_gives_up_when_the_server_is_silent(stage: Stage) -> None:
    asked: list[float] = []

    def silent(_: Request, timeout_seconds: float) -> HttpAnswer:
        asked.append(timeout_seconds)
        raise URLError(TimeoutError("timed out"))

    with pytest.raises(SourceFailed, match="in time"):
        fetch_upstream(stage.store(), silent)

    assert asked == [10.0, 10.0, 10.0]


def test_the_real_opener_speaks_nothing_but_https(upstream: Upstream) -> None:
    for url in (upstream.url, "file:///etc/hostname", "ftp://127.0.0.1/model"):
        with pytest.raises(URLError, match="unknown url type"):
            https_opener({})(Request(url), 1.0)  # noqa: S310  (that is the point)

    assert upstream.asked == []


def test_a_redirect_away_from_https_is_not_followed() -> None:
    def follow(url: str) -> Request | None:
        old = Request("https://127.0.0.1/model", headers={"Range": "bytes=5-"})
        return SafeRedirects().redirect_request(old, BytesIO(), 302, "Found", HTTPMessage(), url)

    with pytest.raises(URLError, match="not HTTPS"):
        follow("http://127.0.0.1/model")
    followed = follow("https://127.0.0.1/elsewhere")
    assert followed is not None
    assert followed.get_header("Range") == "bytes=5-"
