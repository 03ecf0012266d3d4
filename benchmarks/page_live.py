"""The live page: how soon a heard word is on the stream, how long 20 watchers hold the reactor up, what none cost."""

from __future__ import annotations

import re
import tempfile
import time
import timeit
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.protocol import Protocol
from twisted.internet.task import deferLater
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from benchmarks.blocks import Blocks
from benchmarks.canned import MODEL
from benchmarks.children import stub
from benchmarks.figures import Figure, percentile
from benchmarks.product import Steps
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.events.watching import Watchers
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.loop.overheard import overheard, request_hook
from mud_assistant.assistant.models.chosen import ChosenModel
from mud_assistant.assistant.page.http.stream import EventStream, Wanted
from mud_assistant.assistant.page.live import AskedRequests, LiveHub
from mud_assistant.assistant.page.ports import Visitor
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.starting import settle_heap
from mud_assistant.assistant.worlds.embedded.hamlet import Place as Map
from mud_assistant.assistant.worlds.embedded.hamlet import Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.llm import get_provider
from mud_assistant.tools import Kind, Principal

ASSISTANTS, WATCHERS = 50, 20
#: Seconds between two lines that players say, and how often each assistant is spoken to.
EVERY, ROUNDS = 0.04, 4
#: How often the hooks of a step are run to time them.
TIMES = 20_000
#: A line as it stands in an event, and the most bytes of one.
_LINE, _LINE_BYTES = re.compile(rb"Sage, tell me of #\d+\."), 30


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Fifty assistants that talk, with and without watchers; then the hooks of a step by themselves."""
    rounds = 3 * ROUNDS if full else ROUNDS
    async with stub(reactor) as (url,):
        path = f"{url}/talk=1/drip=12/v1"
        _, alone = await _talk(reactor, path, rounds, watchers=0)
        waits, blocks = await _talk(reactor, path, rounds, watchers=WATCHERS)
        steps = Steps(reactor, f"{url}/whole/call/v1")
        await steps.turn(0.2)
        step = min([(await steps.turn(0.2)).each for _ in range(5)])
        await steps.close()
    soon = f"median {percentile(waits, 0.5):.2g} ms, max {max(waits):.2g} ms, over {len(waits)}, {WATCHERS} watchers"
    held = f"p99 {blocks.at(0.99):.1f} ms; nobody watching {alone.longest:.1f} ms, p99 {alone.at(0.99):.1f} ms"
    unwatched, keeping = _hooks(keeps=False), _hooks(keeps=True)
    name, p95 = f"{ASSISTANTS} assistants", percentile(waits, 0.95)
    each = f"{1000 * unwatched:.2f} us of {step:.2f} ms"
    kept = f"{1000 * keeping:.2f} us"
    return [
        Figure("live", f"{name}: heard to the event on the stream, p95", p95, "ms", 300.0, note=soon),
        Figure("live", f"{name}, {WATCHERS} watchers: longest block", blocks.longest, "ms", 50.0, note=held),
        Figure("live", "nobody watching: hooks of a step / step", 100 * unwatched / step, "%", 1.0, note=each),
        Figure("live", "a page is mounted: the same with requests kept", 100 * keeping / step, "%", 1.0, note=kept),
    ]


def _hooks(*, keeps: bool) -> float:
    """Milliseconds of what a step of two model calls does for watchers when there are none."""
    watchers, body = Watchers(), b"x" * 20_000
    if keeps:
        watchers.keep_requests(AskedRequests(str))
    context: Any = SimpleNamespace(watchers=watchers, me=SimpleNamespace(id="assistant:1"))
    run: Any = SimpleNamespace(id="run", written=1, meter=SimpleNamespace(steps=1))

    def step() -> None:
        for _ in range(2):
            overheard(context, run, None)
            hook = request_hook(context, run)
            if hook is not None:
                hook("http://127.0.0.1:11434/v1/chat/completions", body)
            for _ in range(3):  # those of thinking, a step, and the end of a run
                if watchers.is_watched:
                    raise AssertionError("nobody watches")

    return 1000 * min(timeit.repeat(step, number=TIMES, repeat=5)) / TIMES


class _Live(Resource):
    """The stream of the live page, for everybody."""

    isLeaf = True

    def __init__(self, hub: LiveHub) -> None:
        Resource.__init__(self)
        self._hub = hub
        self._count = 0

    def render_GET(self, request: Any) -> int:
        """Begin a stream; four are of one session."""
        visitor = Visitor(Principal("player:9", "Boss"), VisitorRole.OPERATOR, f"s{self._count // 4}")
        self._count += 1
        EventStream(self._hub, request, visitor, Wanted(), 3600.0).begin()
        return NOT_DONE_YET


class _Browser(Protocol):
    """A browser that notes when each line came, when it is given where to."""

    transport: Any

    def __init__(self, arrived: dict[str, float] | None) -> None:
        self._arrived = arrived
        self._tail = b""

    def connectionMade(self) -> None:
        """Ask for the stream."""
        self.transport.write(b"GET / HTTP/1.0\r\n\r\n")

    def dataReceived(self, data: bytes) -> None:
        """Look for lines."""
        if self._arrived is not None:
            now, data = time.perf_counter(), self._tail + data
            self._tail = data[-_LINE_BYTES:]
            for line in _LINE.findall(data):
                self._arrived.setdefault(line.decode(), now)


async def _talk(reactor: Any, url: str, rounds: int, *, watchers: int) -> tuple[list[float], Blocks]:
    """Milliseconds from each line to its event, and how long the reactor was held up."""
    arrived: dict[str, float] = {}
    said: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with awake_service(reactor, Path(folder), url, ASSISTANTS) as (service, runners):
            hub = LiveHub(service, reactor, time.time, service.scrub)  # noqa: TID251  (composition root)
            port = reactor.listenTCP(0, Site(_Live(hub)), interface="127.0.0.1")
            browsers = [_Browser(arrived if number == 0 else None) for number in range(watchers)]
            for browser in browsers:
                await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", port.getHost().port), browser)
            while hub.streams < watchers:
                await deferLater(reactor, 0.01)
            settle_heap()
            with Blocks(reactor) as blocks:
                for number in range(rounds * ASSISTANTS):
                    _say(runners[number % ASSISTANTS], number, said)
                    await deferLater(reactor, EVERY)
                await gatherResults([Deferred.fromCoroutine(one.settled()) for one in runners], consumeErrors=True)
                await deferLater(reactor, 0.2)
            hub.close()
            await port.stopListening()
    assert not watchers or arrived.keys() == said.keys(), (len(arrived), len(said))
    return [1000 * (arrived[line] - at) for line, at in said.items() if line in arrived], blocks


def _say(runner: AssistantRunner, number: int, said: dict[str, float]) -> None:
    text, anna = f"Sage, tell me of #{number}.", Principal(f"player:{number % ASSISTANTS}", "Anna")
    said[text] = time.perf_counter()
    runner.hear(lambda id_, at: Said(id=id_, at=at, who=anna, text=text, to_me=True, alone=True))


@asynccontextmanager
async def awake_service(
    reactor: Any, folder: Path, url: str, count: int
) -> AsyncIterator[tuple[AssistantService, list[AssistantRunner]]]:
    """So many assistants with a journal, each in a room of its own, awake."""
    model = {"provider": "local", "url": "http://127.0.0.1/v1", "model": MODEL, "max_in_flight": count}
    config = merged({"model": {**model, "examples": False}})
    chosen = ChosenModel(get_provider("local", url, MODEL), "a stub, which lists no models", config.model)
    world = EmbeddedWorld(Map(tuple(Room(f"room{number}", "A room", "", (), ()) for number in range(count))))
    homes = [
        Embodiment(who, world.add(who, f"room{number}"))
        for number in range(count)
        for who in [Principal(f"assistant:{number}", "Sage", Kind.ASSISTANT)]
    ]
    made = ServiceConfig(config, folder, {}, time.time, Secrets(), folder / "journal")  # noqa: TID251  (the same)
    service = AssistantService(reactor, made, Random(1))  # noqa: S311  (jitter)
    service.open()
    runners = [service.start(home, config) for home in homes]
    for runner in runners:
        runner.models = (chosen,)
    await gatherResults([Deferred.fromCoroutine(runner.settled()) for runner in runners], consumeErrors=True)
    try:
        yield service, runners
    finally:
        await service.close()
