"""A run that was cut off waits for the next start, over any number of stops on purpose before it is taken up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.service.runner import RunnerState
from mud_assistant.llm.testing import Call, FakeOllama, Hang, Reply, Step, serve
from tests.assistant.living import SAGE, reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
DEAD = "http://127.0.0.1:1"


def asks(url: str) -> dict[str, Any]:
    model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False}
    return {"model": model, "assistant": {"join_seconds": 0}}


@pytest.mark.parametrize("way", ["restarted", "stopped", "halted", "closed"])
async def test_stops_before_a_model_is_there_are_no_crashes_of_the_run_that_waits(tmp_path: Path, way: str) -> None:
    steps: list[Step] = [Hang(), HELLO]
    fake = FakeOllama(reactor, lambda _: steps.pop(0))
    async with serve(fake, reactor) as url:
        async with village(tmp_path) as here:
            sage = here.start(asks(url))
            here.says(sage, "Sage, hello")
            while not fake.chats:
                await deferLater(reactor, 0.01)
        for _ in range(2 if way == "closed" else 1):
            async with village(tmp_path) as here:
                for _ in range(4 if way != "closed" else 2):
                    sage = here.start(asks(DEAD))
                    while sage.state is not RunnerState.WAITING:
                        await deferLater(reactor, 0.01)
                    if way == "stopped":
                        await here.service.stop(SAGE.id)
                    elif way == "halted":
                        here.service.halt(SAGE.id)
        async with village(tmp_path) as here:
            sage = here.start(asks(url))
            await sage.settled()
            assert sage.assistant is not None
            assert await sage.assistant.context.memory.journal.parked() == ()
            assert here.witness.heard == ["Sage: Hello, Ann."]
