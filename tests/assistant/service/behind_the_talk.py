"""A service of one assistant in the embedded world whose embedded models and fetches a test plays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import deferLater

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig, ServiceHooks
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.models import ModelFile, pinned_path
from mud_assistant.llm.embedded.progress import Endpoint, FetchProgress
from mud_assistant.llm.testing import FakeChat, RecordedRequest, Reply, Step, serve
from tests.assistant.living import ANN, SAGE, Witness, reactor


def put(folder: Path, model: ModelFile) -> None:
    """A file of the right size, of which no byte is on the disk."""
    with (folder / model.file_name).open("wb") as file:
        file.truncate(model.size_bytes)


@dataclass
class Server:
    """The process of one model, which answers where a fake server does."""

    url: str
    model: str
    fails: bool = False
    running: bool = False

    def start(self) -> Deferred[Endpoint]:
        if self.fails:
            failed: Deferred[Endpoint] = Deferred()
            failed.errback(EmbeddedUnavailable("the model file could not be loaded"))
            return failed
        self.running = True
        return succeed(Endpoint(self.url, f"key of {self.model}", self.model, own_template=True))

    def stop(self) -> Deferred[None]:
        self.running = False
        return succeed(None)


@dataclass
class Fetch:
    """The process of one fetch, which ends when a test says so."""

    name: str
    show: Callable[[FetchProgress], None]
    over: Deferred[Path] = field(default_factory=Deferred)
    stopped: bool = False

    def fetch(self) -> Deferred[Path]:
        return self.over

    def stop(self) -> Deferred[None]:
        self.stopped = True
        return succeed(None)


@dataclass
class Talk:
    """A service of one assistant, its model servers and fetches, and what its owner was told."""

    small: Server
    better: Server
    folder: Path
    fetches: list[Fetch] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    fakes: list[FakeChat] = field(default_factory=list)
    service: Any = None
    runner: Any = None
    ann: Any = None

    def served(self, path: Path | None, _: Callable[[Endpoint], None]) -> Server:
        return self.better if path == pinned_path("better") else self.small

    def make_fetch(self, name: str, show: Callable[[FetchProgress], None]) -> Fetch:
        self.fetches.append(Fetch(name, show))
        return self.fetches[-1]

    def brain(self, model: str) -> Callable[[RecordedRequest], Step]:
        def answer(request: RecordedRequest) -> Step:
            line = str(request.messages[-1]["content"])
            self.asked.append((model, line))
            return Reply(text=f"The {model} model is glad of it.")

        return answer

    async def until(self, is_so: Callable[[], object]) -> None:
        while not is_so():
            await deferLater(reactor, 0.01)

    def has_begun(self, number: int) -> bool:
        return len(self.fetches) == number

    def arrives(self, model: ModelFile) -> None:
        """Let the latest fetch end with its file in the folder."""
        put(self.folder, model)
        self.fetches[-1].over.callback(self.folder / model.file_name)

    async def says(self, text: str) -> str:
        """What Sage says last, after Ann has said this."""
        await self.ann.say(text)
        await self.runner.settled()
        return str(self.ann.listener.heard[-1])


@asynccontextmanager
async def talk(
    tmp_path: Path, folder: Path, environment: Mapping[str, str], model: Mapping[str, Any] | None = None
) -> AsyncIterator[Talk]:
    made = Talk(Server("", "small-0.5b"), Server("", "better-1.5b"), folder)
    fakes = made.fakes = [FakeChat(reactor, made.brain(name)) for name in ("small", "better")]
    tables = {
        "model": {"provider": "embedded", "examples": False, **(model or {})},
        "assistant": {"join_seconds": 0},
    }
    async with serve(fakes[0], reactor) as made.small.url, serve(fakes[1], reactor) as made.better.url:
        inputs = ServiceConfig(merged(tables), tmp_path, environment, lambda: 1e6, Secrets(), None)
        hooks = ServiceHooks(made.served, made.make_fetch, made.told.append)
        made.service = service = AssistantService(reactor, inputs, Random(1), hooks)  # noqa: S311  (jitter)
        service.open()
        try:
            made.runner, made.ann = await living(service, tables)
            yield made
        finally:
            await service.finish()
    assert not made.small.running
    assert not made.better.running
    assert all(one.stopped for one in made.fetches)


async def living(service: AssistantService, tables: Mapping[str, Any]) -> tuple[AssistantRunner, EmbeddedBody]:
    world = EmbeddedWorld()
    body = world.add(SAGE)
    runner = service.start(Embodiment(SAGE, body), merged(tables))
    body.listener = BodyListener(SAGE, runner.hear, body.alone_with, body.others_than)
    await runner.first_attempt()
    return runner, world.add(ANN, listener=Witness())
