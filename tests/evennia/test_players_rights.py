"""What every player may ask: who is an AI, not to be heard, to be forgotten, what is remembered of him."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.worlds.evennia import creation
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step, serve
from tests.evennia.office import Office, office, ollama, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


def noting(request: RecordedRequest) -> Step:
    return Reply(calls=(Call("remember", {"text": "Anna likes |rtea."}), Call("say", {"text": "I noted it."})))


async def two(here: Office, url: str) -> tuple[AssistantRunner, AssistantRunner]:
    return await here.sage(url), await here.made("Mira", url)


async def test_everybody_is_told_who_is_an_ai(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        anna = here.player("Anna")
        assert await here.orders("assistants", anna) == "No AI character is in the game."
        await two(here, url)
        _, mira = creation.assistants()
        mira.location = here.village.garden
        shown = (await here.orders("assistants", anna)).splitlines()[2:]
        assert [line.split() for line in shown] == [["Sage", "AI", "here"], ["Mira", "AI", "elsewhere"]]
        assert "elsewhere" in await here.orders("assistants")  # which is not the admin's `assistant`
        anna.account.unpuppet_object(anna.session)
        shown = (await here.orders("assistants", anna)).splitlines()[2:]
        assert [line.split()[2] for line in shown] == ["elsewhere", "elsewhere"]


@pytest.mark.parametrize("command", ["assistant/stop all = yes", "assistant/stop Sage"])
async def test_everybody_is_told_that_all_are_stopped(tmp_path: Path, command: str) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        anna = here.player("Anna")
        await two(here, url)
        await here.orders(command)
        told = "All AI characters are stopped: none hears or answers."
        if command.endswith("Sage"):
            assert "Mira" in await here.orders("assistants", anna)
            await here.orders("assistant/stop Mira")
        assert await here.orders("assistants", anna) == told
        assert await here.orders("assistants") == f"{told} To start them: assistant/start all"
        await here.orders("assistant/start all")
        assert "stopped" not in await here.orders("assistants", anna)


async def test_who_mutes_is_not_heard_until_he_unmutes(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        sage, mira = await two(here, url)
        anna, ben = here.player("Anna"), here.player("Ben")
        assert "Sage neither hears nor remembers you from now on" in await here.orders("mute sa", anna)
        await here.says(anna, sage, "Sage, hello")
        assert fake.chats == []
        await here.says(ben, sage, "Sage, hello")
        await here.says(anna, mira, "Mira, hello")
        assert len(fake.chats) == 2
        assert "Sage hears you again." in await here.orders("unmute Sage", anna)
        await here.says(anna, sage, "Sage, hello")
        assert len(fake.chats) == 3


async def test_a_mute_holds_in_and_out_of_character(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        sage = await here.sage(url)
        anna = here.player("Anna")
        anna.account.characters.add(anna.character)
        anna.account.unpuppet_object(anna.session)
        await here.orders("mute Sage", anna)
        assert sage.assistant is not None
        assert sage.assistant.rights.muted == {f"account:{anna.account.pk}", f"character:{anna.character.pk}"}


async def test_a_player_sees_what_is_remembered_of_him_and_has_it_deleted(tmp_path: Path) -> None:
    fake = ollama(noting)
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        sage = await here.sage(url)
        anna, ben = here.player("Anna"), here.player("Ben")
        await here.says(anna, sage, "Sage, I like tea")
        told = await here.orders("what do you remember Sage", anna)
        assert "Sage has met you once, first just now. Sage has 3 of its latest experiences with you" in told
        assert "1. just now, Sage noted: Anna likes |rtea." in told
        assert '2. just now, Anna told Sage: "Sage, I like tea"' in told
        assert "remembers nothing of you besides" in await here.orders("what do you remember", ben)
        assert "remembers no number 3" in await here.orders("forget me Sage = 3", anna)
        assert "has forgotten number 1" in await here.orders("forget me Sage = 1", anna)
        assert "|rtea." not in await here.orders("what do you remember Sage", anna)
        assert "Sage has forgotten 1 things" in await here.orders("forget me", anna)
        assert "has 0 of its latest experiences" in await here.orders("what do you remember", anna)
        assert "I like tea" not in await here.orders("assistant/history Sage 50")


async def test_without_a_name_all_assistants_are_asked(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await two(here, url)
        told = await here.orders("what do you remember", here.player("Anna"))
        assert [line.split()[0] for line in told.splitlines()] == ["Sage", "Mira"]


async def test_one_thing_at_a_time(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        anna = here.player("Anna")
        anna.does("forget me")
        told = await here.orders("forget me", anna)
        assert "One thing at a time" in told
        assert "Sage has forgotten 0 things of you" in told
        assert "Sage has forgotten 0 things of you" in await here.orders("forget me", anna)


@pytest.mark.parametrize("line", ["mute Sage", "forget me", "what do you remember Sage"])
async def test_of_one_that_cannot_think_yet_nothing_is_promised(tmp_path: Path, line: str) -> None:
    async with office(tmp_path) as here:
        anna = here.player("Anna")
        assert "No AI character is in the game." in await here.orders(line, anna)
        await here.orders("assistant/create Sage")
        told = await here.orders(line, anna)
        assert "cannot think just now" in told
        assert "127.0.0.1" not in told


async def test_who_is_not_there_is_told_with_those_who_are(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await two(here, url)
        anna = here.player("Anna")
        assert "There is no assistant 'Bob'. There are: Sage, Mira." in await here.orders("mute Bob", anna)
        assert "Which one: Sage, Mira? Type: mute <name>" in await here.orders("mute", anna)
