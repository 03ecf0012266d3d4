"""A guest in real games on loopback that the tests start: one game and one visit for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.assistant.worlds.telnet.live.mudpy_town import mudpy_town
from tests.assistant.worlds.telnet.live.ranvier_town import ranvier_town
from tests.assistant.worlds.telnet.live.story import (
    hears_and_answers,
    holds_the_contract,
    is_cut_off_and_comes_back,
    refuses_what_a_guest_does_not_do,
    walks,
)
from tests.assistant.worlds.telnet.live.town import visited

#: A guest types a line a second and no faster: half a minute of waiting for each game.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("town_of", [mudpy_town, ranvier_town])
async def test_a_guest_lives_in_a_real_game(reactor: Any, tmp_path: Path, town_of: Any) -> None:
    async with town_of(reactor, tmp_path) as town, visited(reactor, town) as visit:
        await hears_and_answers(visit)
        await holds_the_contract(visit)
        await refuses_what_a_guest_does_not_do(visit)
        await walks(visit)
        await is_cut_off_and_comes_back(visit)
