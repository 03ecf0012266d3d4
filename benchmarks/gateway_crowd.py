"""The gateway with many clients: the longest block with 200 streams, and what the assistants beside it feel of them."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from benchmarks.children import Child, stub
from benchmarks.figures import Figure, percentile
from benchmarks.gateway import body_of
from benchmarks.gateway_load import Wire, connected, hang_up, post, whole_json, whole_stream

STREAMS = 200
#: Clients that fill the gateway while assistants call, calls of the assistants, and how often both are compared.
CLIENTS, CALLS, ROUNDS = 64, {True: 400, False: 80}, {True: 5, False: 3}
#: What the model server behind the assistants takes at once.
AT_ONCE = 8
#: Seconds between the beginnings of two streams.
APART = 0.005
_PATH = "/v1/chat/completions"


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """Streams of 63 events in three seconds; then a server that needs 100 ms for an answer."""
    async with stub(reactor) as (url,):
        return [*await _streams(reactor, url), await _beside(reactor, url, full=full)]


async def _streams(reactor: Any, url: str) -> list[Figure]:
    child = Child(reactor, "benchmarks.gateway_child", f"{url}/drip~50/plain/v1", str(2 * STREAMS))
    port, key = await child.answer()
    wires = await connected(reactor, port, STREAMS, whole_stream)
    request = post(port, _PATH, body_of(_PATH, "sage", streams=True), key)
    found = []
    for apart in (0.0, APART, 0.0):  # the first to connect, and to load what is loaded late
        await child.ask("blocks")
        begun = [deferLater(reactor, number * apart, wire.ask, request) for number, wire in enumerate(wires)]
        await gatherResults(begun, consumeErrors=True)
        found.append(await child.ask("blocks"))
    more = await child.ask("memory")
    hang_up(wires)
    await child.close()
    (longest, block), (_, at_once) = found[1:]
    note = f"longest block, of many of them, {block:.2g} ms; {at_once:.2g} ms when all begin in one moment"
    return [
        Figure("gateway", f"longest callback with {STREAMS} streams", longest, "ms", 50.0, note=note),
        Figure("gateway", f"memory over the assistants' process, with {STREAMS} streams", more, "MB", 30.0),
    ]


async def _beside(reactor: Any, url: str, *, full: bool) -> Figure:
    """The p95 of the assistants' calls with the gateway full over that with nobody at it, the best of a few rounds."""
    child = Child(reactor, "benchmarks.gateway_child", f"{url}/whole/wait~100/plain/v1", str(AT_ONCE))
    port, key = await child.answer()
    await child.ask("own 20")
    request = post(port, _PATH, body_of(_PATH, "sage", streams=False), key)
    ratios, told = [], []
    for _ in range(ROUNDS[full]):
        calm = percentile(await child.ask(f"own {CALLS[full]}"), 0.95)
        wires = await connected(reactor, port, CLIENTS, whole_json)
        load = Load(wires, request)
        busy = percentile(await child.ask(f"own {CALLS[full]}"), 0.95)
        await load.stop()
        hang_up(wires)
        ratios.append(busy / calm)
        told.append(f"{1000 * calm:.0f} and {1000 * busy:.0f} ms with {load.answered} answers")
    await child.close()
    name = "p95 of the assistants' calls with the gateway full / with nobody at it"
    return Figure("gateway", name, percentile(ratios, 0.5), "x", 1.1, note="; ".join(told))


class Load:
    """Requests on each connection, the next one as soon as there is an answer, until it is stopped."""

    def __init__(self, wires: list[Wire], request: bytes) -> None:
        self._request = request
        self._ends = False
        self.answered = 0
        self._all = [Deferred.fromCoroutine(self._on(wire)) for wire in wires]

    async def stop(self) -> None:
        """Return when the last answers are there."""
        self._ends = True
        await gatherResults(self._all, consumeErrors=True)

    async def _on(self, wire: Wire) -> None:
        while not self._ends:
            await wire.ask(self._request)
            self.answered += 1
