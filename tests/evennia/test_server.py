"""The service of a Server process: opened and closed with it, and never in the way of the game's start."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.application.service import MultiService

from mud_assistant.assistant.errors import ServiceNotRunning
from mud_assistant.assistant.starting import settle_heap
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.plugin import start_plugin_services
from mud_assistant.llm.testing import Call, FakeOllama, Hang, Reply, serve
from tests.evennia.opened import model_at, opened, reactor, settled, turns
from tests.evennia.village import script_of

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


def test_evennia_gets_one_service() -> None:
    application = MultiService()
    start_plugin_services(application)
    assert [service.name for service in application] == ["mud-assistant"]
    assert not server.is_open()


async def test_the_house_of_a_game_has_its_files_where_the_installation_says(tmp_path: Path) -> None:
    async with opened(tmp_path):
        home = server.service().config
        assert home.journal == tmp_path / "server/assistants.sqlite3"
        assert home.folder == tmp_path / "server/conf"
        assert home.settings.model.url == "http://127.0.0.1:9"


async def test_a_journal_in_the_settings_comes_first(tmp_path: Path) -> None:
    async with opened(tmp_path, "[journal]\nfile = 'memory.sqlite3'\n"):
        assert server.service().config.journal == tmp_path / "server/conf/memory.sqlite3"


async def test_wrong_settings_let_the_game_start_and_are_told_to_who_asks(tmp_path: Path) -> None:
    async with opened(tmp_path, "[assistant]\nmax_stepps = 3\n") as village:
        assert not server.is_open()
        with pytest.raises(ServiceNotRunning, match=r"line 2: assistant\.max_stepps.*then reload the game"):
            server.service()
        sage = creation.create_assistant("Sage", village.hall)
        assert server.runner_of(sage) is None


async def test_it_is_closed_in_time_while_a_model_server_hangs(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, lambda _: Hang("headers"))
    async with serve(fake, reactor) as url, opened(tmp_path, model_at(url)) as village:
        anna = village.player("Anna")
        sage = creation.create_assistant("Sage", village.hall)
        anna.does("say Hello Sage")
        while not fake.chats:
            await turns(1)
        started = reactor.seconds()
        await server.close_service()
        assert reactor.seconds() - started < 1.0
        assert not server.is_open()
        # What came in between ends nowhere, and raises nothing.
        anna.does("say Still there, Sage?")
        script = script_of(sage)
        assert script is not None
        script.at_server_start()
        assert server.runner_of(sage) is None


async def test_a_run_that_a_stop_cut_off_is_answered_after_the_next_start(tmp_path: Path) -> None:
    fake = FakeOllama(reactor, [Hang("headers"), Reply(calls=(Call("say", {"text": "Hello there."}),))])
    async with serve(fake, reactor) as url, opened(tmp_path, model_at(url)) as village:
        anna = village.player("Anna")
        sage = creation.create_assistant("Sage", village.hall)
        anna.does("say Hello Sage")
        while not fake.chats:
            await turns(1)
        await server.close_service()
        anna.raw()
        server.open_service()
        script = script_of(sage)
        assert script is not None
        script.at_server_start()
        await settled(sage)
        assert anna.heard().count('Sage says, "Hello there."') == 1


async def test_opening_twice_is_opening_once(tmp_path: Path) -> None:
    async with opened(tmp_path):
        first = server.service()
        server.open_service()
        assert server.service() is first


async def test_the_heap_is_settled_once_more_when_everybody_is_awake_unless_the_game_ends_before(
    tmp_path: Path,
) -> None:
    def settling() -> list[float]:
        return [call.getTime() for call in reactor.getDelayedCalls() if call.func is settle_heap]

    async with opened(tmp_path):
        (at,) = settling()
        assert at == pytest.approx(reactor.seconds() + server.AWAKE_SECONDS, abs=5)
        await server.close_service()
        assert settling() == []
