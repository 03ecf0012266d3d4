"""Goals 14 and 15: what estimating tokens costs a step, and how much of a prompt the provider has seen before."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import orjson
from twisted.web.client import Agent, readBody

from benchmarks.canned import MODEL, QUESTION
from benchmarks.children import stub
from benchmarks.figures import Figure, is_noisy, ratio
from benchmarks.village import ENDLESS, Tenant, Village, past
from mud_assistant.llm.messages import Message
from mud_assistant.llm.providers import LocalProvider

QUESTIONS = 12
#: Modules that hold a tokenizer's table.
TABLES = ("tiktoken", "tiktoken_ext", "transformers", "tokenizers")


class Timed(LocalProvider):
    """A provider that knows the CPU seconds it spent on estimates."""

    spent = 0.0

    def count_tokens(self, messages: Sequence[Message] | str) -> int:
        """As its parent."""
        began = time.thread_time()
        count = super().count_tokens(messages)
        self.spent += time.thread_time() - began
        return count


async def figures(reactor: Any, *, full: bool) -> list[Figure]:  # noqa: ARG001  (sections are all called alike)
    """Estimates at 20 and at 1,000 messages; prefixes over a dozen questions."""
    async with stub(reactor) as (url,):
        short, long = [await _estimates(reactor, url, count) for count in (20, 1000)]
        shared, pairs = await _prefixes(reactor, url)
    loaded = sum(name in sys.modules for name in TABLES)
    return [
        ratio("14", "token estimates per step, 20 messages", short, 20.0, unit="us"),
        ratio("14", "token estimates per step, 1,000 messages", long, 20.0, unit="us"),
        Figure("14", "tokenizer tables loaded", loaded, "", 0),
        Figure("15", "calls that repeat the prefix of the one before", 100 * shared / pairs, "%", 100, at_least=True),
    ]


async def _estimates(reactor: Any, url: str, count: int) -> list[float]:
    """CPU microseconds of a step, which is half of a question here; twice as many steps where they are too noisy."""
    village = Village(reactor, 1)
    provider = Timed(f"{url}/whole/call/v1", MODEL)
    server = await village.settle(0, Tenant("", ENDLESS, stream=past(count), provider=provider))
    await server.assistant.settled()
    await server.ask(QUESTION)
    each: list[float] = []
    while not each or (len(each) == 3 * QUESTIONS and is_noisy(each)):
        for _ in range(3 * QUESTIONS):
            provider.spent = 0.0
            await server.ask(QUESTION)
            each.append(1e6 * provider.spent / 2)
    await village.close()
    return each


async def _prefixes(reactor: Any, url: str) -> tuple[int, int]:
    """How many requests begin with all of the request before, and how many have one before."""
    village = Village(reactor, 1)
    server = await village.settle(0, Tenant(f"{url}/whole/call/v1", ENDLESS, stream=past(20)))
    await server.assistant.settled()
    await _kept(reactor, url)
    for _ in range(QUESTIONS):
        await server.ask(QUESTION)
    bodies = await _kept(reactor, url)
    await village.close()
    pairs = list(pairwise(bodies))
    return sum(after.startswith(before.removesuffix("]}")) for before, after in pairs), len(pairs)


async def _kept(reactor: Any, url: str) -> list[str]:
    response = await Agent(reactor).request(b"GET", f"{url}/prompts".encode())
    bodies: list[str] = orjson.loads(await readBody(response))
    return bodies
