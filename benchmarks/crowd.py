"""Goals 8 and 9: 200 assistants, a model that needs half a second, all at once: wall time, and the longest block."""

from __future__ import annotations

import time
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from benchmarks.bare_treq import Bare
from benchmarks.blocks import Blocks
from benchmarks.canned import ANSWER, QUESTION
from benchmarks.children import stub
from benchmarks.figures import Figure
from benchmarks.village import ENDLESS, House, Tenant, Village, past
from mud_assistant.assistant.starting import settle_heap

ASSISTANTS = 200
WAIT_SECONDS = 0.5
#: Model calls of one question.
CALLS = 2


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """The product, and treq with the same load."""
    questions = 10 if full else 5
    ideal = questions * CALLS * WAIT_SECONDS
    async with stub(reactor) as (url,):
        path = f"{url}/whole/call/wait={1000 * WAIT_SECONDS:g}/v1"
        wall, blocks = await _product(reactor, path, questions)
        treq_wall, treq_blocks = await _treq(reactor, path, questions)
    note = f"{ASSISTANTS * questions * CALLS:,} calls; treq {treq_wall / ideal:.2f}"
    longest = f"treq p99 {treq_blocks.at(0.99):.0f} ms, max {treq_blocks.longest:.0f} ms"
    return [
        Figure("8", "200 assistants, 500 ms, at once: wall / ideal", wall / ideal, "x", 1.15, note=note),
        Figure("9", "longest block in it, p99", blocks.at(0.99), "ms", 15.0, note=longest),
        Figure("9", "longest block in it, max", blocks.longest, "ms", 40.0),
    ]


async def _product(reactor: Any, url: str, questions: int) -> tuple[float, Blocks]:
    """Seconds until everybody has all answers."""
    village = Village(reactor, ASSISTANTS)
    houses = [await village.settle(number, Tenant(url, ENDLESS, stream=past(20))) for number in range(ASSISTANTS)]
    for server in houses:
        await server.assistant.settled()
    settle_heap()
    began = time.perf_counter()
    with Blocks(reactor) as blocks:
        await gatherResults([Deferred.fromCoroutine(_talk(server, questions)) for server in houses], consumeErrors=True)
    wall = time.perf_counter() - began
    await village.close()
    return wall, blocks


async def _talk(server: House, questions: int) -> None:
    for _ in range(questions):
        await server.ask(QUESTION)
    assert " ".join(server.heard) == " ".join([ANSWER] * questions), server.heard


async def _treq(reactor: Any, url: str, questions: int) -> tuple[float, Blocks]:
    settle_heap()
    bare = Bare(reactor, url, "step", callers=ASSISTANTS)
    began = time.perf_counter()
    with Blocks(reactor) as blocks:
        for _ in range(questions):
            await bare.volley()
    wall = time.perf_counter() - began
    await bare.close()
    return wall, blocks
