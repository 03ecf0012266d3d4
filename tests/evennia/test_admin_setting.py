"""How an assistant behaves is set in the game: options, persona, tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.llm.testing import serve
from tests.evennia.office import office, ollama, reactor
from tests.evennia.village import script_of

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


def overrides() -> dict[str, Any]:
    (sage,) = creation.assistants()
    return creation.settings_of(sage)


@pytest.mark.parametrize(
    ("typed", "table", "name", "value"),
    [
        ("max_steps = 7", "assistant", "max_steps", 7),
        ("max_st = 3", "assistant", "max_steps", 3),
        ("model.temperature = 0.3", "model", "temperature", 0.3),
        ("temp = 0.3", "model", "temperature", 0.3),
        ("Room-Speech = trigger", "assistant", "room_speech", "trigger"),
        ('aliases = ["Old Sage", "Sagey"]', "assistant", "aliases", ["Old Sage", "Sagey"]),
    ],
)
async def test_an_option_is_set_by_its_name_or_its_beginning(
    tmp_path: Path, typed: str, table: str, name: str, value: object
) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        assert "(kept)" in await here.orders(f"assistant/set Sage/{typed}")
        assert overrides()[table][name] == value


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("Sage/max_steps = 99", "max_steps: give a whole number from 1 to 10, as in: max_steps = 10"),
        ("Sage/max_steps = many", "max_steps"),
        ("Sage/max_ = 1", "'max_' is the beginning of max_steps"),
        ("Sage/stepps = 1", "there is no setting 'stepps'; those like it: max_steps"),
        ("Sage = 1", "Type: assistant/set NAME/option = value"),
        ("Sage/max_steps", "Type: assistant/set NAME/option = value"),
    ],
)
async def test_a_wrong_option_changes_nothing_and_says_what_is_right(tmp_path: Path, typed: str, told: str) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        assert told in await here.orders(f"assistant/set {typed}")
        assert overrides() == {}


async def test_nothing_behind_the_sign_takes_a_setting_back(tmp_path: Path) -> None:
    async with office(tmp_path, settings={"assistant": {"max_steps": 4}}) as here:
        await here.orders("assistant/create Sage")
        await here.orders("assistant/set Sage/max_steps = 7")
        assert "max_steps = 4 (again what the game says)" in await here.orders("assistant/set Sage/max_steps =")
        assert overrides() == {}


async def test_a_setting_counts_at_once(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        await here.orders("assistant/set Sage/max_steps = 7")
        (sage,) = creation.assistants()
        runner = server.runner_of(sage)
        assert runner is not None
        await runner.settled()
        assert runner.assistant is not None
        assert runner.assistant.context.settings.max_steps == 7


async def test_of_many_changes_in_a_row_the_last_one_counts_and_one_life_is_left(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        for steps in (2, 3, 4, 5):
            await here.orders(f"assistant/set Sage/max_steps = {steps}")
        await here.settled()
        (sage,) = creation.assistants()
        runner = server.runner_of(sage)
        assert runner is not None
        assert runner.config.assistant.max_steps == 5
        await here.says(here.player("Anna"), runner, "Sage, hello")
        assert len(fake.chats) == 1


async def test_options_are_shown_with_their_meaning_and_marked_when_set_here(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        await here.orders("assistant/set Sage/max_steps = 7")
        shown = await here.orders("assistant/show Sage max_")
        assert "*  max_steps " in shown
        assert "   max_run_tokens " in shown
        assert "temperature" not in shown
        assert "model.temperature" in await here.orders("assistant/show Sage/temp")
        assert "No option of Sage has 'nonesuch' in its name" in await here.orders("assistant/show Sage nonesuch")


async def test_a_persona_is_shown_told_and_taken_back(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage = A cook.")
        assert "Sage plays no character of a file.\nWho it is: A cook.\n" in await here.orders("assistant/persona Sage")
        assert await here.orders("assistant/persona Sage = Knows 1 + 1 = 2; |rred {you} $eval(1)") == (
            "Sage: Knows 1 + 1 = 2; |rred {you} $eval(1)"
        )
        assert "library" in await here.orders("assistant/persona Sage =")


@pytest.mark.parametrize(
    ("typed", "granted"),
    [
        ("-whisper -move", lambda there: [name for name in there if name not in {"whisper", "move"}]),
        ("look, say", lambda there: [name for name in there if name in {"look", "say"}]),
        ("all", lambda there: None),
    ],
    ids=["withdrawn", "listed", "all"],
)
async def test_tools_are_granted_and_withdrawn(tmp_path: Path, typed: str, granted: Any) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        runner = await here.sage(url)
        assert runner.assistant is not None
        there = list(runner.assistant.context.tools.registry.names())
        told = await here.orders(f"assistant/tools Sage = {typed}")
        assert overrides().get("assistant", {}).get("tools") == granted(there)
        assert told.startswith("Sage may use: ")


async def test_a_tool_that_was_withdrawn_can_be_granted_again(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        assert "Not granted: whisper" in await here.orders("assistant/tools Sage = -whisp")
        assert "Not granted: none" in await here.orders("assistant/tools Sage = +whisp")
        assert "There is no tool 'fly'. There are: say, look" in await here.orders("assistant/tools Sage = +fly")
        assert "cannot even speak" in await here.orders("assistant/tools Sage =")


async def test_what_a_game_keeps_under_a_former_name_goes_on_counting(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        (sage,) = creation.assistants()
        script = script_of(sage)
        assert script is not None
        script.overrides = {"assistant": {"needs": {"move": 0}, "excuse": "hums."}}
        config = creation.config_of(sage).assistant
        assert (config.required_permission, config.fallback_line) == ({"move": 0}, "hums.")
        await here.orders("assistant/set Sage/fallback_line =")
        assert overrides() == {"assistant": {"required_permission": {"move": 0}}}
