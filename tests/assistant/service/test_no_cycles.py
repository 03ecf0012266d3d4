"""What a run and an ended life leave behind that only the garbage collector can free (`assistant/starting.py`)."""

from __future__ import annotations

from collections import Counter
from itertools import cycle
from pathlib import Path

import pytest
from twisted.internet.task import deferLater

from mud_assistant.llm.testing import Call, FakeOllama, Reply, serve
from tests.assistant.living import SAGE, reactor
from tests.assistant.service.village import village
from tests.garbage import garbage

#: As many runs, so that what one leaves is not overlooked among what the process needs once.
RUNS = 5
#: How many lives of an assistant.
LIVES = 2
pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def test_a_run_leaves_no_cycle(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    calls = cycle((Call("look", {}), Call("say", {"text": "It is here."})))
    model = FakeOllama(reactor, lambda _: Reply(calls=(next(calls),)))
    async with serve(model, reactor) as url, village(tmp_path) as there:
        runner = there.start({"model": {"provider": "ollama", "url": url, "model": "sage"}})

        async def ask() -> None:
            heard = len(there.witness.heard)
            there.says(runner, "Sage, where is the old map?")
            while len(there.witness.heard) == heard:
                await deferLater(reactor, 0.01)
            await runner.settled()

        for _ in range(2):
            await ask()
        with garbage(found):
            for _ in range(RUNS):
                await ask()
    assert len(model.requests) >= 2 * RUNS
    assert not {name: number for name, number in found.items() if number >= RUNS}


async def test_an_ended_life_leaves_nothing_large_to_the_collector(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    model = FakeOllama(reactor, lambda _: Reply(calls=(Call("say", {"text": "It is here."}),)))
    async with serve(model, reactor) as url, village(tmp_path) as there:

        async def live() -> None:
            runner = there.start({"model": {"provider": "ollama", "url": url, "model": "sage"}})
            await runner.first_attempt()
            there.says(runner, "Sage, where is the old map?")
            await runner.settled()

        await live()
        with garbage(found):
            for _ in range(LIVES):
                await live()
            await there.service.stop(SAGE.id)
    assert len(there.witness.heard) == 1 + LIVES
    assert found["AssistantRunner"]  # small, as are its observers
    large = {"Assistant", "RunContext", "History", "Knowledge", "Window", "Registry", "PackedEntries", "Tick"}
    assert not large & found.keys()
