"""An assistant that plays a character from a file, over loopback: it greets without its model, and talks as written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from mud_assistant.assistant.characters import LoreEntry
from mud_assistant.assistant.characters.reading import everyday_topics
from mud_assistant.assistant.config.schema import AssistantConfig
from mud_assistant.assistant.events.events import Arrived
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.llm.testing import Call, FakeOllama, Reply, serve
from tests.assistant.living import ANN, reactor
from tests.assistant.refusing import BEA
from tests.assistant.service.village import Village, village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
WREN = """
persona = "You are {{char}}, and keep the bell tower."
speech = "In whispers."
greeting = ["Mind the ropes, {{user}}.", "Ding, {{user}}."]
[[examples]]
heard = "Who rings?"
said = "I do, at dusk."
[[lore]]
title = "The bell"
text = "It was cast from cannons."
"""


def asks(url: str, **assistant: Any) -> dict[str, Any]:
    model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1}
    return {"model": model, "assistant": {"character": "wren", **assistant}}


def fake() -> FakeOllama:
    return FakeOllama(reactor, lambda _: Reply(calls=(Call("say", {"text": "Hush."}),)))


def write(folder: Path, text: str = WREN) -> None:
    (folder / "characters").mkdir(exist_ok=True)
    (folder / "characters" / "wren.toml").write_text(text)


async def until_said(there: Village, text: str) -> None:
    while text not in there.witness.heard:
        await deferLater(reactor, 0.01)


async def until_state(runner: AssistantRunner, state: RunnerState) -> None:
    while runner.state is not state:
        await deferLater(reactor, 0.01)


def arrives(there: Village, runner: AssistantRunner, who: Any) -> None:
    runner.hear(lambda id_, at: Arrived(id=id_, at=at, who=who))


async def test_it_greets_strangers_with_its_first_greeting_and_those_it_knows_with_the_others(tmp_path: Path) -> None:
    write(tmp_path)
    model = fake()
    async with serve(model, reactor) as url, village(tmp_path) as there:
        runner = there.start(asks(url, greet_hours=0))
        await runner.settled()
        there.world.add(BEA)
        asked = len(model.requests)
        for who, words in ((ANN, "Mind the ropes"), (BEA, "Mind the ropes"), (ANN, "Ding"), (BEA, "Ding")):
            arrives(there, runner, who)
            await until_said(there, f"Sage: {words}, {who.name}.")
        assert len(model.requests) == asked


async def test_its_model_is_told_who_it_is_and_how_it_talks(tmp_path: Path) -> None:
    write(tmp_path)
    model = fake()
    async with serve(model, reactor) as url, village(tmp_path) as there:
        runner = there.start(asks(url))
        there.says(runner, "Sage, who are you?")
        await runner.settled()
        shown = json.dumps([dict(message) for message in model.requests[-1].messages])
        assert "You are Sage, and keep the bell tower. How you talk: In whispers." in shown
        assert "I do, at dusk." in shown


async def test_a_character_that_is_missing_is_a_trouble_until_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mud_assistant.assistant.service.runner.FIRST_PAUSE", 0.05)
    async with serve(fake(), reactor) as url, village(tmp_path) as there:
        runner = there.start(asks(url))
        await until_state(runner, RunnerState.WAITING)
        assert "there is no character 'wren'" in runner.trouble
        write(tmp_path)
        await until_state(runner, RunnerState.AWAKE)


async def test_the_lore_comes_as_far_as_what_an_assistant_is_built_from(tmp_path: Path) -> None:
    write(tmp_path)
    async with village(tmp_path) as there:
        _, lore = await there.service.parts.playing(there.start(asks("http://127.0.0.1:9")).config.assistant)
        assert lore is not None
        assert lore.lore.lorebook.entries == (LoreEntry("The bell", "It was cast from cannons.", ("The bell",)),)


@pytest.mark.parametrize("wren", [WREN, '[[topic]]\ntitle = "Thanks"\nsays = "Ring for me."\n'], ids=["none", "own"])
async def test_what_anybody_says_is_answered_in_plain_or_in_its_own_words_without_a_small_model(
    tmp_path: Path, wren: str
) -> None:
    write(tmp_path, wren)
    model, said = fake(), {"Ring for me."} if "Ring" in wren else set(everyday_topics()["Thanks"].says)
    async with serve(model, reactor) as url, village(tmp_path) as there:
        settings = asks(url)
        runner = there.start({**settings, "model": {**settings["model"], "asking": "plain"}})
        await runner.settled()
        asked = len(model.chats)
        there.says(runner, "Thank you very much.")
        while not there.witness.heard:
            await deferLater(reactor, 0.01)
        assert there.witness.heard[0].removeprefix("Sage: ") in {one.replace("{{user}}", "Ann") for one in said}
        assert len(model.chats) == asked


async def test_a_capable_model_is_told_nothing_of_what_anybody_says(tmp_path: Path) -> None:
    write(tmp_path)
    model = fake()
    async with serve(model, reactor) as url, village(tmp_path) as there:
        runner = there.start(asks(url))
        there.says(runner, "Thank you very much.")
        await runner.settled()
        shown = str([request.body for request in model.requests])
        assert there.witness.heard == ["Sage: Hush."]
        assert not [text for text in everyday_topics()["Thanks"].says if text in shown]


async def test_all_who_begin_at_once_share_what_anybody_says(tmp_path: Path) -> None:
    write(tmp_path)
    async with village(tmp_path) as there:
        settings = [AssistantConfig(), AssistantConfig(character="wren")] * 3
        playing = [Deferred.fromCoroutine(there.service.parts.playing(each)) for each in settings]
        indexes = [index for _, index in await gatherResults(playing)]
    assert len({id(index.everyday) for index in indexes}) == 1
    assert len({id(index.lore) for index in indexes[::2]}) == 1
