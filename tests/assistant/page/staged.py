"""A few assistants on a fake model server, with their page on loopback: for tests in a browser and over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.sections import PageConfig
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.listener import BodyListener, MakeEvent
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.serve.local_host import LocalHost
from mud_assistant.assistant.surfaces.serve.standing import StandingPage
from mud_assistant.assistant.worlds.embedded.hamlet import Place, Room
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.game import Thing
from tests.assistant.living import reactor
from tests.assistant.page.day import Day, DayWall
from tests.assistant.page.http.visiting import Got, RawClient, parse
from tests.assistant.page.pictures import day_host

PRICES = {"input": 0.8, "output": 4.0}
#: What the model says word by word when somebody asks for a story.
STORY = " ".join(f"word{number}" for number in range(400))


def simple_brain(request: RecordedRequest) -> Step:
    """Answer the last line: a look at the thing, a request for leave, a long story, else "Well met."."""
    said = [str(one.get("content")) for one in request.messages if one.get("role") == "user"]
    last = said[-1] if said else ""
    if request.messages[-1].get("role") == "tool":
        return Reply(calls=(Call("say", {"text": "So it is done."}),), usage=(900, 12))
    if "story" in last:
        return Reply(text=STORY, piece_seconds=0.02)
    if "look at" in last:
        return Reply(calls=(Call("inspect", {"target": "astrolabe"}),), usage=(800, 20))
    if "lantern" in last:
        return Reply(calls=(Call("execute_command", {"command": "create lantern"}),), usage=(700, 25))
    return Reply(reasoning="They greet me.", calls=(Call("say", {"text": "Well met."}),), usage=(600, 15))


@dataclass
class Stage:
    """The service, its page and those who speak. `brain` may be changed at any time."""

    day: Day
    page: StandingPage
    host: LocalHost
    address: str
    fake: FakeOllama
    brain: Callable[[RecordedRequest], Step] = simple_brain

    @property
    def base(self) -> str:
        """The address of the overview, without the slash at its end."""
        return self.address.partition("/#")[0]

    def home(self, at: int = 0) -> EmbeddedBody:
        """The body of an assistant."""
        body = self.day.runners[at].embodiment.world
        assert isinstance(body, EmbeddedBody)
        return body

    async def says(self, text: str, at: int = 0, player: int = 0, *, waits: bool = True) -> None:
        """Let a player speak to an assistant, and wait until it has answered."""
        await self.day.players[at][player].say(text)
        if waits:
            await self.day.service.runners[f"assistant:{at + 1}"].settled()

    async def client(self) -> Client:
        """Log in over HTTP, as an owner."""
        found = Client(int(self.base.rpartition(":")[2]))
        await found.log_in(self.page.new_address())
        return found


@dataclass
class Client:
    """A browser without a window: a cookie, the token of its forms, and requests over loopback."""

    port: int
    cookie: str = ""
    csrf: str = ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def log_in(self, address: str) -> None:
        """Swap the token of an address for a cookie, and read the token of forms."""
        body = json.dumps({"token": address.rpartition("=")[2]}).encode()
        got = await self.send("POST", "/login", body, **{"Content-Type": "application/json"})
        assert got.status == 200, got
        self.cookie = got.headers["set-cookie"].partition(";")[0]
        found = re.search(rb'name="csrf" value="([^"]+)"', (await self.get("/")).body)
        assert found
        self.csrf = found[1].decode()

    async def get(self, path: str) -> Got:
        return await self.send("GET", path)

    async def api(self, path: str, data: object = None, method: str = "POST") -> Got:
        """Send JSON to the API."""
        headers = {"Content-Type": "application/json", "X-CSRF-Token": self.csrf}
        return await self.send(method, f"/api/v1{path}", json.dumps(data or {}).encode(), **headers)

    async def submit(self, path: str, **fields: str) -> Got:
        """Send a form."""
        body = urlencode({"csrf": self.csrf, **fields}).encode()
        return await self.send("POST", path, body, **{"Content-Type": "application/x-www-form-urlencoded"})

    async def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Got:
        """Return the whole answer to one request."""
        client = await self.open(method, path, body, **headers)
        await client.closed
        return parse(client.received)

    async def open(self, method: str, path: str, body: bytes = b"", **headers: str) -> RawClient:
        """Send a request, and return at once: what comes is in `received`."""
        said = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", "Origin": self.origin, **headers}
        said |= {"Cookie": self.cookie} if self.cookie else {}
        said |= {"Content-Length": str(len(body))} if method != "GET" else {}
        head = "".join(f"{name}: {value}\r\n" for name, value in said.items())
        client: RawClient = await connectProtocol(TCP4ClientEndpoint(reactor, "127.0.0.1", self.port), RawClient())
        assert client.transport is not None
        client.transport.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)
        return client


def settings_path(folder: Path, id_: str) -> Path:
    """The file of settings of an assistant."""
    return folder / f"{id_.replace(':', '-')}.d" / "assistant.toml"


def merge_tables(usual: dict[str, dict[str, Any]], more: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The usual settings, with more over them, table by table."""
    return {table: {**usual.get(table, {}), **more.get(table, {})} for table in {**usual, **more}}


def settle(day: Day, name: str, players: Sequence[str], folder: Path, shared: dict[str, dict[str, Any]]) -> None:
    """Put one assistant and its players into a room of theirs. Its settings are in a file, so that they may change."""
    at = len(day.runners)
    me = Principal(f"assistant:{at + 1}", name, Kind.ASSISTANT, 1)
    own = {"name": name} if name.isalnum() else {}
    path = settings_path(folder, me.id)
    path.parent.mkdir()
    path.write_text(toml(merge_tables(shared, {"assistant": own})))
    home = day.world.add(me, f"room{at}")
    embodiment = Embodiment(me, home, where=lambda: home.room.name)
    runner = day.service.start(embodiment, SettingsFile(path).config())

    def hear(make: MakeEvent) -> None:
        if me.id in day.service.runners:  # another runner, when it was started again
            day.service.runners[me.id].hear(make)

    home.listener = BodyListener(me, hear, home.alone_with, home.others_than)
    day.runners.append(runner)
    day.players.append(
        [
            day.world.add(Principal(f"player:{at}-{n}", who, Kind.PLAYER, 1), f"room{at}")
            for n, who in enumerate(players)
        ]
    )


def toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write settings as TOML. JSON is good TOML for texts, numbers and lists; tables in tables stand on a line."""
    lines = []
    for table, values in tables.items():
        lines.append(f"[{table}]")
        lines += [f"{name} = {_value(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_value(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


@asynccontextmanager
async def a_stage(
    folder: Path,
    names: Sequence[str] = ("Sage", "Oda", "Venn"),
    players: Sequence[str] = ("Ann", "Bob"),
    *,
    thing: str = "Of brass.",
    settings: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    secrets: Secrets | None = None,
) -> AsyncIterator[Stage]:
    """Start assistants with these names, each in a room with these players, and open the page."""
    stages: list[Stage] = []

    def answer(request: RecordedRequest) -> Step:
        return stages[0].brain(request) if stages else Reply("Hm.")

    fake = FakeOllama(reactor, answer)
    async with serve(fake, reactor) as url:
        model = {
            "provider": "ollama", "url": url, "model": "sage", "examples": False, "max_attempts": 1, "prices": PRICES,
        }  # fmt: skip
        manner = {
            "join_seconds": 0.0,
            "pause_seconds": 0,
            "room_pause_seconds": 0,
            "required_permission": {"execute_command": 3},
            "character": "librarian",
        }
        shared = merge_tables(
            {"budget": {"total": {"money": 5.0}}, "model": model, "assistant": manner}, settings or {}
        )
        wall = DayWall(0.5)
        made = ServiceConfig(merged(shared), folder, environment or {}, wall, secrets or Secrets(), folder / "journal")
        rooms = [
            Room(f"room{at}", "the Old Library", "A room with a fire.", (), (Thing("astrolabe", thing),))
            for at in range(len(names))
        ]
        world = EmbeddedWorld(Place(tuple(rooms)))
        service = AssistantService(reactor, made, Random(1))  # noqa: S311  (jitter)
        service.open()
        day = Day(service, world, wall)
        for name in names:
            settle(day, name, players, folder, shared)
        host = day_host(day, lambda id_: settings_path(folder, id_))
        page = StandingPage(reactor, service, host, PageConfig(port=0))
        try:
            stages.append(Stage(day, page, host, page.open(), fake))
            for runner in day.runners:
                await runner.first_attempt()
            yield stages[0]
        finally:
            await page.close()
            await service.close()
