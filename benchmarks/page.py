"""The operator's page over HTTP: how long each view holds the reactor up, with a full journal and with watchers."""

from __future__ import annotations

import json
import re
import tempfile
import time
from contextlib import closing
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.task import LoopingCall, deferLater
from twisted.python.failure import Failure

from benchmarks.blocks import Blocks
from benchmarks.children import stub
from benchmarks.figures import Figure
from benchmarks.page_live import awake_service
from benchmarks.searching import PLAYERS, fill
from mud_assistant.assistant.config.sections import PageConfig
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.journal.files import connect
from mud_assistant.assistant.page.ports import KnownAssistant
from mud_assistant.assistant.page.values.actions import CharacterView
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.starting import settle_heap
from mud_assistant.assistant.surfaces.serve.standing import StandingPage
from mud_assistant.tools import Principal

ASSISTANTS, TALKING, WATCHERS = 200, 50, 20
#: How many runs are in the journal, and of how many days what was spent; without `full`, and with it.
RUNS, FULL_RUNS, DAYS = 20_000, 100_000, 60
#: How often each page is asked for: the slowest counts, but for the first.
TIMES = 4
#: Seconds between two lines of players, and how many lines.
EVERY, LINES = 0.04, 200
_LIMIT_MS = 50.0
VIEWS = {
    "overview": "/",
    "live": "/live",
    "one assistant": "/a/assistant%3A7",
    "runs": "/runs",
    "runs, words that nobody said": "/runs?text=xyzzy",
    "runs of a loud player": "/runs?player=character%3A0",
    "one run": "/runs/run-{middle}",
    "money by assistant": "/money?by=assistant",
    "money by player": "/money?by=player",
    "approvals": "/approvals",
    "API: assistants": "/api/v1/assistants",
    "API: usage": "/api/v1/usage?by=player",
    "API: runs": "/api/v1/runs?limit=100",
}


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Each view with 200 assistants and a journal of many runs; then 50 that talk, before 20 watchers."""
    runs = FULL_RUNS if full else RUNS
    async with stub(reactor) as (url,):
        path = f"{url}/talk=1/drip=12/v1"
        views = await _views(reactor, path, runs)
        watched = await _watched(reactor, path)
    return [*views, *watched]


async def _views(reactor: Any, url: str, runs: int) -> list[Figure]:
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "journal", runs)
        _spend(folder / "journal")
        async with awake_service(reactor, folder, url, ASSISTANTS) as (service, runners):
            page = StandingPage(reactor, service, _host(runners), PageConfig(port=0))
            visitor = await Visitor.log_in(reactor, page.open())
            settle_heap()
            for view, path in VIEWS.items():
                blocks, took, size = await _visit(reactor, visitor, path.format(middle=runs // 2))
                note = f"answered within {took:.0f} ms, {size / 1024:.0f} KiB, {runs:,} runs"
                found.append(
                    Figure("page", f"{ASSISTANTS} assistants, {view}: block", blocks, "ms", _LIMIT_MS, note=note)
                )
            await page.close()
    return found


async def _visit(reactor: Any, visitor: Visitor, path: str) -> tuple[float, float, int]:
    """CPU milliseconds of the longest block, milliseconds until the answer is here, and its bytes."""
    longest = slowest = 0.0
    body = await visitor.get(path)  # what is made once, such as tables of the style sheet
    for _ in range(TIMES):
        began = time.perf_counter()
        with Blocks(reactor) as blocks:
            body = await visitor.get(path)
            await deferLater(reactor, 0.02)
        slowest = max(slowest, 1000 * (time.perf_counter() - began) - 20)
        longest = max(longest, blocks.longest)
        await deferLater(reactor, 0.15)
    return longest, slowest, len(body)


async def _watched(reactor: Any, url: str) -> list[Figure]:
    """Fifty that talk: twenty streams, and five open overviews that are refreshed every five seconds."""
    with tempfile.TemporaryDirectory() as name:
        async with awake_service(reactor, Path(name), url, TALKING) as (service, runners):
            page = StandingPage(reactor, service, _host(runners), PageConfig(port=0))
            visitors = [await Visitor.log_in(reactor, page.open())]
            visitors += [await Visitor.log_in(reactor, page.new_address()) for _ in range(4)]
            streams = [await visitors[number % 5].stream() for number in range(WATCHERS)]
            refreshing = LoopingCall(lambda: gatherResults([Deferred.fromCoroutine(one.get("/")) for one in visitors]))
            settle_heap()
            with Blocks(reactor) as blocks:
                over = refreshing.start(5.0)
                for number in range(LINES):
                    _say(runners[number % TALKING], number)
                    await deferLater(reactor, EVERY)
                await gatherResults([Deferred.fromCoroutine(one.settled()) for one in runners], consumeErrors=True)
                await deferLater(reactor, 0.2)
            refreshing.stop()
            await over
            seen = [len(re.findall(rb"event: outcome", one.received)) for one in streams]
            assert min(seen) >= LINES // 2, seen
            for one in streams:
                one.transport.abortConnection()
            await page.close()
    name = f"{TALKING} talk, {WATCHERS} streams, 5 overviews: longest block"
    note = f"p99 {blocks.at(0.99):.1f} ms; {min(seen)} outcomes on each stream"
    return [Figure("page", name, blocks.longest, "ms", _LIMIT_MS, note=note)]


def _say(runner: AssistantRunner, number: int) -> None:
    anna = Principal(f"player:{number % TALKING}", "Anna")
    text = f"Sage, tell me of #{number}."
    runner.hear(lambda id_, at: Said(id=id_, at=at, who=anna, text=text, to_me=True, alone=True))


def _spend(path: Path) -> None:
    """Write what was spent on each of the last days, by assistants and players."""
    today = (date.today() - date(1970, 1, 1)).days  # noqa: DTZ011  (the days of a bench)
    names = [f"assistant:{number}" for number in range(ASSISTANTS)]
    names += [f"character:{number}" for number in range(PLAYERS // 2)]
    with closing(connect(path)) as db:
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO usage VALUES (?, ?, 3, 900, 0.01)",
            ((today - ago, who) for ago in range(DAYS) for who in names),
        )
        total = len(names)
        db.executemany(
            "INSERT INTO usage VALUES (?, 'all assistants', ?, ?, ?)",
            ((today - ago, 3 * total, 900 * total, 0.01 * total) for ago in range(DAYS)),
        )
        db.execute("COMMIT")


def _host(runners: list[AssistantRunner]) -> Any:
    """A world that knows its assistants and nothing else."""
    known = [KnownAssistant(one.embodiment.me.id, one.embodiment.me.name, place="A room") for one in runners]

    async def names(_: list[str]) -> dict[str, str]:
        return {}

    async def settings(_: str) -> list[Any]:
        return []

    async def character(id_: str) -> CharacterView:
        return CharacterView(assistant=id_, name="Sage", persona="A sage.")

    return SimpleNamespace(assistants=lambda: known, names=names, settings=settings, character=character)


class _Client(Protocol):
    """Collects what comes until the end."""

    transport: Any

    def __init__(self) -> None:
        self.received = bytearray()
        self.closed: Deferred[None] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        """Keep it."""
        self.received += data

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Tell."""
        self.closed.callback(None)


class Visitor:
    """Somebody who is logged in, with a connection for each request."""

    def __init__(self, reactor: Any, port: int) -> None:
        self._reactor = reactor
        self._port = port
        self._cookie = ""

    @classmethod
    async def log_in(cls, reactor: Any, address: str) -> Visitor:
        """Swap the token of an address for a cookie."""
        base, _, token = address.partition("/#token=")
        visitor = cls(reactor, int(base.rpartition(":")[2]))
        body = json.dumps({"token": token})
        head = f"Origin: {base}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        client = await visitor._open("POST", "/login", head, body)
        await client.closed
        found = re.search(rb"(?i)set-cookie: ([^;]+)", client.received)
        assert found, bytes(client.received)
        visitor._cookie = found[1].decode()
        return visitor

    async def get(self, path: str) -> bytes:
        """The answer, which must be a good one."""
        client = await self._open("GET", path)
        await client.closed
        assert client.received.startswith(b"HTTP/1.1 200 "), bytes(client.received[:300])
        return bytes(client.received)

    async def stream(self) -> _Client:
        """A stream of the live events."""
        return await self._open("GET", "/api/v1/events")

    async def _open(self, method: str, path: str, head: str = "", body: str = "") -> _Client:
        endpoint = TCP4ClientEndpoint(self._reactor, "127.0.0.1", self._port)
        client: _Client = await connectProtocol(endpoint, _Client())
        usual = f"Host: 127.0.0.1:{self._port}\r\nConnection: close\r\nCookie: {self._cookie}\r\n"
        client.transport.write(f"{method} {path} HTTP/1.1\r\n{usual}{head}\r\n{body}".encode())
        return client
