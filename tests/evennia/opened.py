"""The service as the Server opens it, for tests of the installation: a game's folder with its settings in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from django.test import override_settings
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.plugin import EvenniaService
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step
from tests.evennia.village import Village

reactor: Any = _reactor
#: A model that nobody serves: an assistant that is given none waits for it, and nothing else is started.
NO_MODEL = """
[model]
provider = "ollama"
url = "http://127.0.0.1:9"
model = "none"
max_attempts = 1
"""


def model_at(url: str) -> str:
    """The settings for a fake Ollama."""
    return f'[model]\nprovider = "ollama"\nurl = "{url}"\nmodel = "sage"\nexamples = false\nmax_attempts = 1\n'


def hello() -> FakeOllama:
    """A model server whose model says hello to everybody."""

    def brain(request: RecordedRequest) -> Step:
        return Reply(calls=(Call("say", {"text": "Hello there."}),))

    return FakeOllama(reactor, brain)


@asynccontextmanager
async def opened(folder: Path, toml: str = NO_MODEL) -> AsyncIterator[Village]:
    """A village in a Server whose service is open, with these game-wide settings; all is closed at the end."""
    conf = folder / "server/conf"
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "assistant.toml").write_text(toml)
    service = EvenniaService()
    with override_settings(GAME_DIR=str(folder)):
        service.startService()
        try:
            yield Village()
            await turns()
        finally:
            await service.stopService()


async def turns(count: int = 5) -> None:
    """Returns when the reactor has turned so often."""
    for _ in range(count):
        await deferLater(reactor, 0)


async def settled(character: Any) -> None:
    """Returns when the assistant of a character is awake and has dealt with all it heard."""
    runner = server.runner_of(character)
    assert runner is not None
    await turns()
    await Deferred.fromCoroutine(runner.settled()).addTimeout(20, reactor)
