"""A real game whose journal is in PostgreSQL: nothing is lost or repeated over a reload, a kill and an outage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mud_assistant.llm.testing import Hang
from tests.evennia.live.living import game_with_sage
from tests.evennia.live.test_reload_and_kill import BACK, said
from tests.postgres import PostgresServer

JOURNAL = "assistants.sqlite3"
#: A whole game starts and stops here.
pytestmark = pytest.mark.slow


async def test_a_game_lives_on_postgresql(
    template: Path, tmp_path: Path, postgres_url: str, postgres_server: PostgresServer
) -> None:
    ours = shutil.copytree(template, tmp_path / "template", ignore=shutil.ignore_patterns(f"{JOURNAL}*"))
    (ours / "server/conf/assistant.toml").write_text(f'[journal]\nurl = "{postgres_url}"\n')
    async with game_with_sage(ours, tmp_path / "game") as (game, model):
        owner = game.telnets[0]
        await owner.asks("say Sage, 1", "I heard 1.")
        model.next = [Hang("headers")]
        before = model.asked()
        owner.type("say Sage, 2")
        await model.was_asked(before + 1)
        await owner.asks("reload", BACK)
        await owner.saw("I heard 2.")
        model.next = [Hang("headers")]
        before = model.asked()
        owner.type("say Sage, 3")
        await model.was_asked(before + 1)
        await game.kill_server()
        await game.start()
        await owner.saw("I heard 3.")
        postgres_server.stop_immediate()
        owner.type("say Sage, 4")
        postgres_server.start()
        await owner.saw("I heard 4.")
        assert [said(game, number) for number in (1, 2, 3, 4)] == [1, 1, 1, 1]
        assert not list((game.folder / "server").glob(f"{JOURNAL}*"))
        await game.stop()
        assert "Traceback" not in game.log()
