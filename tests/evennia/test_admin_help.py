"""The help of the commands and their page tell of everything there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mud_assistant.assistant.worlds.evennia.commands import all_commands
from mud_assistant.assistant.worlds.evennia.commands.assistant import CmdAssistant
from mud_assistant.assistant.worlds.evennia.commands.switches import SWITCHES
from tests.evennia.office import office

PAGE = (Path(__file__).parents[2] / "docs/evennia-commands.md").read_text()


@pytest.mark.parametrize("switch", SWITCHES)
def test_every_switch_is_explained_in_the_game_and_on_the_page(switch: str) -> None:
    assert f"/{switch}" in str(CmdAssistant.__doc__)
    assert f"assistant/{switch}" in PAGE


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: str(command.key))
def test_every_command_is_on_the_page(command: type[CmdAssistant]) -> None:
    assert f"`{command.key}" in PAGE
    assert "Usage:" in str(command.__doc__)


@pytest.mark.usefixtures("db", "reactor_baseline")
async def test_the_game_shows_the_help(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        assert "assistant/create Sage = You keep the library" in await here.orders("help assistant")
        assert "forget me [<name>]" in await here.orders("help forget me", here.player("Anna"))
