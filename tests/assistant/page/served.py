"""The whole page over loopback: a real service with a journal on disk, a fake model, and visitors of each role."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.page.http.door import StandaloneDoor, login_routes
from mud_assistant.assistant.page.http.listener import page_listener
from mud_assistant.assistant.page.site import OperatorPage, SiteOptions, make_site
from mud_assistant.assistant.page.views.door import login_page
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.serve.local_host import LocalAssistant, LocalHost
from mud_assistant.assistant.telemetry import watch_service
from mud_assistant.llm.testing import Call, FakeChat, FakeOllama, RecordedRequest, Reply, Step, serve
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.page.http.visiting import Got, Visiting, numbered_bytes
from tests.assistant.service.village import Village, village

#: A key in the settings, and the tokens of programs. None may ever be shown.
PLANTED = "sk-planted-0123456789abcdef0123456789abcdef"
TOKENS = {role: f"token-of-a-{role}-0123456789abcdef" for role in ("viewer", "operator", "owner")}
ENVIRONMENT = {"MODEL_KEY": PLANTED, **{f"{role.upper()}_TOKEN": token for role, token in TOKENS.items()}}
TOO_MANY = 429
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))


def hello(_: RecordedRequest) -> Step:
    return HELLO


@dataclass
class Served:
    """A page that is served, the village behind it, and what its visitors send."""

    here: Village
    sage: AssistantRunner
    fake: FakeChat | FakeOllama
    site: OperatorPage
    visiting: Visiting
    file: SettingsFile
    settings: Mapping[str, Any]

    async def api(self, role: str, method: str, path: str, body: object = None) -> Got:
        """Call the API with the token of a program."""
        sent = b"" if method == "GET" else orjson.dumps(body or {})
        headers = {
            "authorization": f"Bearer {TOKENS[role]}",
            "content_type": "" if method == "GET" else "application/json",
        }
        while (got := await self.visiting.ask(method, f"/api/v1{path}", sent, **headers)).status == TOO_MANY:
            await deferLater(reactor, 0.1)
        return got

    async def values(self, role: str, path: str) -> Any:
        """What the API answers."""
        got = await self.api(role, "GET", path)
        assert got.status == 200, got
        return orjson.loads(got.body)

    async def log_in(self) -> None:
        """Come in as a person, and read the token of forms."""
        visiting = self.visiting
        token = visiting.door.new_address().rpartition("=")[2]
        sent = orjson.dumps({"token": token})
        got = await visiting.ask("POST", "/login", sent, content_type="application/json", origin=visiting.origin)
        assert got.status == 200, got
        visiting.cookie = got.headers["set-cookie"].partition(";")[0]
        found = re.search(r'name="csrf"[^>]*value="([^"]+)"', (await visiting.get("/")).text)
        assert found
        visiting.csrf = found.group(1)

    async def tell(self, text: str) -> None:
        """Ann says something, and it is dealt with."""
        runner = self.here.service.runners[SAGE.id]
        self.here.says(runner, text)
        await runner.settled()


def _tables(url: str, more: Mapping[str, Any] | None) -> dict[str, Any]:
    model = {
        "provider": "local", "url": f"{url}/v1", "model": "sage", "max_attempts": 1, "examples": False, "warm": False,
        "key": "env:MODEL_KEY", "asking": "tools",
    }  # fmt: skip
    tokens = {role: {"key": f"env:{role.upper()}_TOKEN", "role": role} for role in TOKENS}
    found: dict[str, Any] = {"model": model, "assistant": {"join_seconds": 0}, "page": {"tokens": tokens}}
    for table, values in (more or {}).items():
        found[table] = {**found.get(table, {}), **values}
    return found


@asynccontextmanager
async def served(
    folder: Path,
    brain: Callable[[RecordedRequest], Step] | list[Step] = hello,
    settings: Mapping[str, Any] | None = None,
) -> AsyncIterator[Served]:
    """A page over a village of Sage and Ann, closed at the end."""
    fake = FakeChat(reactor, brain)
    async with serve(fake, reactor) as url:
        tables = _tables(url, settings)
        async with village(folder, settings=tables, environment=ENVIRONMENT) as here:
            if "telemetry" in tables:
                watch_service(here.service)
            file = SettingsFile(folder / "assistant.toml", tables)

            def begin(config: Config, entered: str = "") -> AssistantRunner:
                place = Embodiment(SAGE, here.home)
                return here.service.start(place, config, entered)

            door = StandaloneDoor(Clock(), numbered_bytes())
            one = LocalAssistant(SAGE, file, begin, where=lambda: "library")
            host = LocalHost(here.service, [one], {ANN.id: ANN.name})
            site = make_site(here.service, host, door, "", SiteOptions(public=login_routes(door, login_page)))
            listener = page_listener(reactor, site, reactor)
            door.port = listener.start(0).port
            sage = begin(file.config(), "env:MODEL_KEY")
            await sage.settled()
            try:
                visiting = Visiting(reactor, Clock(), door, site, listener, door.port, [])
                yield Served(here, sage, fake, site, visiting, file, tables)
            finally:
                await listener.close()
