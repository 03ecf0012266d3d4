"""A game on Ranvier's engine (`ranvier/town.js`): `scripts/telnet_games.sh` fetches the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from tests.assistant.worlds.telnet.live.game_process import game_process
from tests.assistant.worlds.telnet.live.town import PASSWORD, Town

_HERE = Path(__file__).parent / "ranvier"


@asynccontextmanager
async def ranvier_town(reactor: Any, folder: Path) -> AsyncIterator[Town]:
    """Run the game; the test is skipped where its engine was not fetched, or Node is not here."""
    node = which("node")
    if node is None or not (_HERE / "node_modules/ranvier").is_dir():
        pytest.skip("Ranvier is not here: scripts/telnet_games.sh fetches it, with npm")
    line = [node, str(_HERE / "town.js"), str(folder)]
    async with game_process(reactor, line, folder, r"port (\d+)\n") as (process, ready):
        anna = ("your name?", "visitor"), ("password", PASSWORD), ("`->", "3")
        yield Town("ranvier", int(ready[1]), "keeper", anna)
        assert "harm" not in process.printed
        assert "Error" not in process.printed
