"""A guest in a stock Evennia game, over telnet: nothing of ours is installed there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.assistant.worlds.telnet.live.story import (
    hears_and_answers,
    holds_the_contract,
    is_cut_off_and_comes_back,
    refuses_what_a_guest_does_not_do,
    walks,
)
from tests.assistant.worlds.telnet.live.town import PASSWORD, Town, visited
from tests.evennia.live.game import Game, running
from tests.evennia.live.telnet import connected

#: A game is started, and a guest types a line a second and no faster.
pytestmark = pytest.mark.slow


async def test_a_guest_lives_in_a_game_of_evennia(reactor: Any, template: Path, tmp_path: Path) -> None:
    async with running(template, tmp_path / "game", lines="") as game:
        await build(game)
        town = Town("evennia", game.ports["telnet"], "Sage", (("create", f'connect Anna "{PASSWORD}"'),))
        async with visited(reactor, town) as visit:
            await hears_and_answers(visit)
            await holds_the_contract(visit)
            await refuses_what_a_guest_does_not_do(visit)
            await walks(visit)
            await is_cut_off_and_comes_back(visit)


async def build(game: Game) -> None:
    """Let the owner make a yard, a map and two accounts, and leave."""
    owner = await game.owner()
    await owner.asks("dig Yard = south, north", "Created room Yard")
    await owner.asks("create old map", "You create")
    await owner.asks("drop old map", "You drop")
    await owner.leave()
    for name in ("Anna", "Sage"):
        player = await connected(game.ports["telnet"])
        await player.saw("create")
        await player.asks(f"create {name} {PASSWORD}", "[Y]/N?")
        await player.asks("y", "created")
        await player.leave()
