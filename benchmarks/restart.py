"""A game that starts again: 200 assistants of a household, each with something to answer that an earlier life left."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from benchmarks.blocks import Blocks
from benchmarks.canned import ANSWER, MODEL, QUESTION
from benchmarks.children import stub
from benchmarks.figures import Figure
from benchmarks.village import PlayerEars
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.schema import JournalConfig
from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.starting import settle_heap
from mud_assistant.assistant.worlds.embedded.hamlet import Place as Map
from mud_assistant.assistant.worlds.embedded.hamlet import Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.tools import Kind, Principal

ASSISTANTS = 200


async def figures(reactor: Any, *, full: bool) -> list[Figure]:
    """How long the reactor is held up until everybody has answered, and how long that takes."""
    longest, seconds, shares = 0.0, [], []
    for _ in range(3 if full else 1):
        with tempfile.TemporaryDirectory() as folder:
            async with stub(reactor) as (url,):
                await _left(reactor, Path(folder))
                blocks, took = await _again(reactor, Path(folder), f"{url}/whole/call/v1")
        longest = max(longest, blocks.longest)
        shares.append(blocks.at(0.99))
        seconds.append(took)
    note = f"p99 {max(shares):.1f} ms; all have answered after {max(seconds):.1f} s"
    return [Figure("lag", f"start with {ASSISTANTS} to take up: longest block", longest, "ms", 50.0, note=note)]


def _who(number: int) -> Principal:
    return Principal(f"assistant:{number}", "Sage", Kind.ASSISTANT)


async def _left(reactor: Any, folder: Path) -> None:
    """What an earlier life left: a word to each that it had not answered."""
    wall = time.time  # noqa: TID251  (composition root)
    journal = JournalFile(folder / "journal", reactor, wall, JournalConfig(file=str(folder / "journal")))
    await journal.open()
    for number in range(ASSISTANTS):
        storage = await journal.storage_of(_who(number).id, 100)
        anna = Principal(f"player:{number}", "Anna")
        word = Said(id=f"{number}.left", at=reactor.seconds(), who=anna, text=QUESTION, to_me=True)
        await storage.journal.accept(word, Attention(Classification.TRIGGER, 10, addressed=True))
    await journal.close()


async def _again(reactor: Any, folder: Path, url: str) -> tuple[Blocks, float]:
    """The household of the next life, until everybody has answered."""
    model = {"provider": "local", "url": url, "model": MODEL, "examples": False, "max_in_flight": ASSISTANTS}
    config = merged({"model": model})
    wall = time.time  # noqa: TID251  (composition root)
    world = EmbeddedWorld(Map(tuple(Room(f"room{number}", "A room", "", (), ()) for number in range(ASSISTANTS))))
    homes = [world.add(_who(number), f"room{number}") for number in range(ASSISTANTS)]
    heard: dict[int, list[str]] = {number: [] for number in range(ASSISTANTS)}
    for number, texts in heard.items():
        world.add(Principal(f"player:{number}", "Anna"), f"room{number}", PlayerEars(texts.append))
    settle_heap()
    began = time.perf_counter()
    with Blocks(reactor) as blocks:
        home = ServiceConfig(config, folder, {}, wall, Secrets(), folder / "journal")
        service = AssistantService(reactor, home, Random(1))  # noqa: S311  (jitter)
        service.open()
        runners = [service.start(Embodiment(_who(number), body), config) for number, body in enumerate(homes)]
        await gatherResults([Deferred.fromCoroutine(runner.settled()) for runner in runners], consumeErrors=True)
    took = time.perf_counter() - began
    await service.close()
    assert all(" ".join(texts) == ANSWER for texts in heard.values()), heard
    return blocks, took
