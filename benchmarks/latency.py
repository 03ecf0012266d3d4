"""How soon: from a word of a player to the request on the wire, and to the first sentence of the answer.

The first sentence is set against the moment when all was heard: the rest is said as soon as the stream has ended.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import orjson
from twisted.internet.task import deferLater
from twisted.web.client import Agent, readBody

from benchmarks.canned import telling
from benchmarks.children import stub
from benchmarks.figures import Figure, percentile
from benchmarks.village import Tenant, Village

#: Seconds between the words of the player: the assistant is idle each time.
PAUSE = 0.06


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """An idle assistant with a journal on disk, event by event; then streams that take half a second."""
    with tempfile.TemporaryDirectory() as folder:
        async with stub(reactor) as (url,):
            village = Village(reactor, 2, journal=Path(folder) / "journal")
            assert village.file is not None
            await village.file.open()
            waits = await _to_the_wire(reactor, village, url, 300 if full else 60)
            shares, length = await _first_sentence(village, url, 10 if full else 4)
            await village.close()
    note = f"median {percentile(waits, 0.5):.2g} ms, max {max(waits):.2g} ms, over {len(waits)}; two fsyncs included"
    said = f"median of {len(shares)}; a stream of {1000 * length:.0f} ms, its first sentence whole after a sixth of it"
    return [
        Figure(
            "prompt", "word of a player to request on the wire, p95", percentile(waits, 0.95), "ms", 20.0, note=note
        ),
        Figure("prompt", "first sentence heard / end of the stream", percentile(shares, 0.5), "x", 0.5, note=said),
    ]


async def _to_the_wire(reactor: Any, village: Village, url: str, count: int) -> list[float]:
    """Milliseconds from each word to the arrival of its request at the server, on the clock that both share."""
    server = await village.settle(0, Tenant(f"{url}/whole/plain/v1"))
    await server.ask("Sage, good morning!")
    await _arrivals(reactor, url)
    waits = []
    for number in range(count):
        await deferLater(reactor, PAUSE)
        began = time.monotonic()  # noqa: TID251  (composition root)
        await server.ask(f"Sage, what about #{number}?")
        waits.append(1000 * ((await _arrivals(reactor, url))[0] - began))
    return waits


async def _first_sentence(village: Village, url: str, count: int) -> tuple[list[float], float]:
    """When the first was heard, as a share of the time until all was, and the median of that time in seconds."""
    heard: list[tuple[float, str]] = []
    tenant = Tenant(f"{url}/talk=1/drip=12/v1")
    server = await village.settle(1, tenant, hears=lambda text: heard.append((time.perf_counter(), text)))
    shares, lengths = [], []
    for number in range(count):
        heard.clear()
        began = time.perf_counter()
        await server.ask(f"Sage, tell me of #{number}.")
        said = " ".join(text for _, text in heard)
        assert said.split() == telling(f"#{number}").split(), said
        lengths.append(heard[-1][0] - began)
        shares.append((heard[0][0] - began) / lengths[-1])
    return shares, percentile(lengths, 0.5)


async def _arrivals(reactor: Any, url: str) -> list[float]:
    response = await Agent(reactor).request(b"GET", f"{url}/arrivals".encode())
    moments: list[float] = orjson.loads(await readBody(response))
    return moments
