"""Evennia 6.1 closes the connection that its SQLite pragmas were set on: the doctor names it, and the cure cures it."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from mud_assistant.assistant.worlds.evennia.console.doctor import DATABASE, PRAGMAS_CURE
from tests.evennia.live.game import INSTALL_LINE, running

#: Two whole games start and stop here: half a minute for each.
pytestmark = pytest.mark.slow

LOSES_THEM = int(version("evennia").partition(".")[0]) >= 6
PRAGMA = "__import__('django.db').db.connection.cursor().execute('PRAGMA synchronous').fetchone()[0]"


async def test_the_fault_is_named_where_it_is_and_the_line_it_gives_cures_it(template: Path, tmp_path: Path) -> None:
    async with running(template, tmp_path / "as shipped") as game:
        owner = await game.owner()
        in_force = int(await game.py(owner, PRAGMA))
        assert (in_force == 2) is LOSES_THEM
        await owner.asks("assistant/create Sage", "Sage is here")
        told = await owner.asks("assistant/doctor Sage", DATABASE)
        told = await owner.saw("synchronous=", owner.text.rindex(DATABASE)) or told
        assert ("synchronous=full are in force although" in flat(told)) is LOSES_THEM
        assert (PRAGMAS_CURE in flat(owner.text)) is LOSES_THEM
        assert (PRAGMAS_CURE in game.log()) is LOSES_THEM
    async with running(template, tmp_path / "cured", f"{PRAGMAS_CURE}\n{INSTALL_LINE}") as game:
        owner = await game.owner()
        # Where Evennia's own pragmas are not lost they come last.
        assert int(await game.py(owner, PRAGMA)) == (1 if LOSES_THEM else 0)
        await owner.asks("assistant/create Sage", "Sage is here")
        told = flat(await owner.asks("assistant/doctor Sage", "synchronous="))
        assert f"synchronous={'normal' if LOSES_THEM else 'off'} are in force" in told
        assert "although" not in told
        assert PRAGMAS_CURE not in flat(owner.text)
        assert PRAGMAS_CURE not in game.log()


def flat(text: str) -> str:
    """The text with its lines put together again where the game broke them."""
    return re.sub(r"\s+", " ", text)
