"""The page hangs in the game's web server while the service is open, and nothing of it is left afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import override_settings
from twisted.web.resource import Resource

from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.page.mounting import own_addresses
from mud_assistant.assistant.worlds.evennia.plugin import EvenniaService
from tests.evennia.opened import NO_MODEL, opened

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


async def mounted(folder: Path, toml: str = NO_MODEL) -> tuple[list[bytes], list[bytes]]:
    """The names in the root of the web server while the service is open, and afterwards."""
    (folder / "server/conf").mkdir(parents=True)
    (folder / "server/conf/assistant.toml").write_text(toml)
    root = Resource()
    service = EvenniaService(root)
    with override_settings(GAME_DIR=str(folder)):
        service.startService()
        try:
            there = list(root.children)
        finally:
            await service.stopService()
    return there, list(root.children)


async def test_it_is_there_while_the_service_is_open(tmp_path: Path) -> None:
    assert await mounted(tmp_path) == ([b"assistants"], [])


async def test_the_owner_may_switch_it_off(tmp_path: Path) -> None:
    assert await mounted(tmp_path, f"{NO_MODEL}\n[page]\nenabled = false\n") == ([], [])


async def test_a_game_without_a_web_server_has_none_and_starts(tmp_path: Path) -> None:
    (tmp_path / "server/conf").mkdir(parents=True)
    service = EvenniaService(None)
    with override_settings(GAME_DIR=str(tmp_path)):
        service.startService()
        assert server.is_open()
        await service.stopService()


async def test_with_settings_that_cannot_be_used_the_game_starts_without_it(tmp_path: Path) -> None:
    assert await mounted(tmp_path, "[page]\nenabled = 7\n") == ([], [])


async def test_it_answers_under_the_names_that_the_owner_gave_and_no_others(tmp_path: Path) -> None:
    toml = f'{NO_MODEL}\n[page]\nhosts = ["proxy.example"]\n'
    names = {"SERVER_HOSTNAME": "mud.example", "ALLOWED_HOSTS": ["*", ".games.example"]}
    async with opened(tmp_path, toml):
        with override_settings(**names, CSRF_TRUSTED_ORIGINS=["https://front.example"]):
            own = own_addresses()
    hosts = ("mud.example", "eu.games.example", "proxy.example:8000", "localhost", "10.0.0.7:4001")
    assert [own.is_own_host(host) for host in hosts] == [True] * len(hosts)
    assert not own.is_own_host("rebound.example")
    assert own.is_own_origin("https://front.example", "127.0.0.1:4001")
    assert not own.is_own_origin("http://front.example", "127.0.0.1:4001")
