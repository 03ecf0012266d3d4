"""`mud-assistant serve`: a journal that is only looked at, and what keeps a page from opening."""

from __future__ import annotations

import gc
import re
import warnings
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
import treq
from twisted.internet.error import ConnectError
from twisted.web.client import Agent, HTTPConnectionPool

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.sections import PageConfig
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.gateway.running import GatewayNotOpened
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.page.ports import NotAllowed
from mud_assistant.assistant.page.reading.reader import JournalReader
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.gateway.run import open_gateway
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.serve.run import JournalHost
from mud_assistant.assistant.surfaces.serve.standing import PageNotOpened, StandingPage
from mud_assistant.assistant.surfaces.standalone import Standalone, StandaloneOptions
from mud_assistant.assistant.surfaces.start_progress import Progress
from mud_assistant.llm.testing import FakeOllama, Reply, serve
from tests.assistant.living import reactor
from tests.assistant.page.served import served

pytestmark = pytest.mark.usefixtures("reactor_baseline")


def looking(folder: Path, **page: Any) -> AssistantService:
    """A service that runs nobody."""
    config = merged({"page": page})
    made = ServiceConfig(config, folder, {}, lambda: 1_000_000.0, Secrets(), None)
    service = AssistantService(reactor, made, Random(1))  # noqa: S311  (jitter)
    service.open()
    return service


def program(service: AssistantService, said: list[str]) -> Standalone:
    """A program that runs, and writes its notes into a list."""
    config = service.config
    options = StandaloneOptions(config.settings, SettingsFile(config.folder / "assistant.toml"), config.wall)
    return Standalone(reactor, options, service, Progress(said.append, terminal=False), AsyncExitStack())


async def test_a_journal_is_shown_while_a_game_writes_it_and_nothing_is_changed(tmp_path: Path) -> None:
    async with served(tmp_path) as page:
        await page.tell("Sage, are you there?")
        service, reader = looking(tmp_path), JournalReader(tmp_path / "journal", reactor)
        host = JournalHost(reader)
        await host.load()
        assert [(one.id, one.name) for one in host.assistants()] == [("assistant:1", "Sage")]
        with pytest.raises(NotAllowed, match="only looked at"):
            _ = Operated(service, host).store
        standing = StandingPage(reactor, service, host, PageConfig(port=0), journal=tmp_path / "journal")
        address = standing.open()
        assert address.startswith("http://127.0.0.1:")
        await standing.close()
        reader.close()
        await service.finish()


async def test_a_port_that_is_taken_is_told_with_what_to_do(tmp_path: Path) -> None:
    service = looking(tmp_path)
    host = JournalHost(JournalReader(None, reactor))
    first = StandingPage(reactor, service, host, PageConfig(port=0))
    port = int(first.open().partition("#")[0].rstrip("/").rpartition(":")[2])
    second = StandingPage(reactor, service, host, PageConfig(port=port))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Twisted leaves a socket it could not bind to the collector
        with pytest.raises(PageNotOpened, match=f"port {port} of 127.0.0.1.*--port"):
            second.open()
        gc.collect()
    third = StandingPage(reactor, service, host, PageConfig(port=0, interface="0.0.0.0"))  # noqa: S104  (refused)
    with pytest.raises(PageNotOpened, match="hosts"):
        third.open()
    for page in (first, second, third):
        await page.close()
    await service.finish()


async def test_the_gateway_opens_beside_the_assistants_and_ends_with_them(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, [Reply("The miller.")]), reactor) as url:
        offered = {"small": {"provider": "ollama", "url": url, "model": "sage"}}
        made = ServiceConfig(
            merged({"gateway": {"port": 0, "models": offered}}), tmp_path, {}, lambda: 1e6, Secrets(), None
        )
        service = AssistantService(reactor, made, Random(1))  # noqa: S311  (jitter)
        service.open()
        said: list[str] = []
        await open_gateway(program(service, said))
        found = re.search(r"(http://127\.0\.0\.1:\d+)/v1 ", said[0])
        assert found is not None
        assert "Models: small." in said[0]
        assert "Every program on this machine may ask" in said[0]
        body = {"model": "small", "input": "Who is there?"}
        client = treq.client.HTTPClient(Agent(reactor, pool=HTTPConnectionPool(reactor, persistent=False)))
        answer = await client.post(f"{found[1]}/v1/responses", json=body)
        assert (await answer.json())["output"][0]["content"][0]["text"] == "The miller."
        await service.finish()
        with pytest.raises(ConnectError):
            await client.get(found[1])


async def test_a_gateway_for_others_needs_a_key_before_it_opens(tmp_path: Path) -> None:
    config = merged({"gateway": {"port": 0, "interface": "0.0.0.0"}})  # noqa: S104  (refused)
    made = ServiceConfig(config, tmp_path, {}, lambda: 1e6, Secrets(), None)
    service = AssistantService(reactor, made, Random(1))  # noqa: S311  (jitter)
    service.open()
    with pytest.raises(GatewayNotOpened, match="gateway keys add"):
        await open_gateway(program(service, []))
    await service.finish()


def test_a_setting_is_written_where_it_stands_and_the_command_line_gives_way(tmp_path: Path) -> None:
    path = tmp_path / "assistant.toml"
    path.write_text("# mine\n[model]\nmodel = 'one'  # the first\n")
    file = SettingsFile(path, {"model": {"model": "typed"}})
    assert file.config().model.model == "typed"
    changes: Any = {("model", "model"): "two", ("model", "temperature"): 0.5, ("assistant", "voice"): {"Who?": "I."}}
    assert file.with_changes(changes).model.model == "two"
    assert file.config().model.model == "typed"
    file.change(changes)
    assert (file.config().model.model, file.config().model.temperature) == ("two", 0.5)
    assert file.config().assistant.voice == {"Who?": "I."}
    assert path.read_text().startswith('# mine\n[model]\nmodel = "two"  # the first\n')
    with pytest.raises(SettingsError):
        file.change({("assistant", "max_steps"): 99})
    assert "max_steps" not in path.read_text()
