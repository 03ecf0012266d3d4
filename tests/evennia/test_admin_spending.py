"""What may be spent is set in the game, and what was spent is shown with names."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.commands.spending import allowance
from mud_assistant.assistant.worlds.evennia.console.typed_command import CommandRefused
from mud_assistant.assistant.worlds.evennia.stored import game_overrides
from mud_assistant.llm.testing import serve
from tests.evennia.office import office, ollama, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("200 calls 100000 tokens 2.50 money", {"calls": 200, "tokens": 100_000, "money": 2.5}),
        ("100_000 tok, 3 m", {"tokens": 100_000, "money": 3.0}),
        ("0calls", {"calls": 0}),
        ("none", {}),
    ],
)
def test_limits_are_read(text: str, limits: dict[str, float]) -> None:
    assert allowance(text) == limits


@pytest.mark.parametrize(
    "text", ["", "many", "200", "calls 200", "2.5 calls", "3 calls 4 calls", "3 calls or so", "-3 calls", "3 x"]
)
def test_what_is_no_limit_is_told(text: str) -> None:
    with pytest.raises(CommandRefused, match="Type: assistant/budget"):
        allowance(text)


async def test_a_limit_of_one_assistant_counts_at_once(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        assert "may use in a day: 1 call." in await here.orders("assistant/budget Sage = 1 calls")
        (sage,) = creation.assistants()
        runner = server.runner_of(sage)
        assert runner is not None
        await runner.settled()
        anna = here.player("Anna")
        await here.says(anna, runner, "Sage, hello")
        asked = len(fake.chats)
        await here.says(anna, runner, "Sage, hello again")
        assert len(fake.chats) == asked > 0
        shown = await here.orders("assistant/budget")
        assert ["Sage", "1", "of", "1"] in [line.split()[:4] for line in shown.splitlines()]


async def test_none_lifts_a_limit_that_the_game_sets(tmp_path: Path) -> None:
    async with office(tmp_path, settings={"budget": {"assistant": {"calls": 5}}}) as here:
        await here.orders("assistant/create Sage")
        assert "as much as it wants" in await here.orders("assistant/budget Sage = none")
        assert creation.config_of(creation.assistants()[0]).budget.assistant.calls is None


async def test_limits_of_the_whole_game_count_for_everybody_at_once_and_later(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        await here.sage(url)
        assert "all assistants together may use: 300 calls" in await here.orders("assistant/budget all = 300 calls")
        await here.settled()
        assert "each player may use: 20 calls" in await here.orders("assistant/budget player = 20 calls")
        (sage,) = creation.assistants()
        runner = server.runner_of(sage)
        assert runner is not None
        await runner.settled()
        assert (runner.config.budget.total.calls, runner.config.budget.player.calls) == (300, 20)
        await here.orders("assistant/create Mira")
        mira = creation.assistants()[1]
        assert creation.config_of(mira).budget.player.calls == 20
        assert creation.settings_of(mira) == {}


async def test_a_limit_that_cannot_be_kept_leaves_the_game_as_it_was(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        await here.orders("assistant/provider Sage = openai gpt-5 env:NO_KEY force")
        told = await here.orders("assistant/budget all = 2.5 money")
        assert "a budget in money needs the prices of openai's model" in told
        assert game_overrides() == {}


async def test_usage_is_shown_by_day_by_assistant_and_by_player_with_names(tmp_path: Path) -> None:
    fake = ollama()
    async with office(tmp_path) as here, serve(fake, reactor) as url:
        runner = await here.sage(url)
        anna = here.player("Anna")
        await here.says(anna, runner, "Sage, hello")
        await here.service.pipeline.write_ledger()
        shown = await here.orders("assistant/usage")
        day, by_assistant, by_player = shown.split("\n\n")
        assert day.splitlines()[-1].split()[:2] == ["1970-01-12", "1"]
        assert by_assistant.splitlines()[-1].split()[:2] == ["Sage", "1"]
        assert by_player.splitlines()[-1].split()[:2] == ["Anna", "1"]
        anna.character.delete()
        assert "(gone)" in await here.orders("assistant/usage 3")
        assert "model:" not in shown + await here.orders("assistant/budget")
        assert "Sage, today:" in await here.orders("assistant/usage Sage 1")
        assert "from 1 to 366" in await here.orders("assistant/usage 1000")
        assert "Type: assistant/usage" in await here.orders("assistant/usage Sage often")
