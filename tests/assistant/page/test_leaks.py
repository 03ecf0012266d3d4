"""No key and no word of a forgotten player in any byte: of pages, answers, streams, metrics, the log."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from twisted.internet.task import deferLater
from twisted.logger import globalLogPublisher, textFileLogObserver

from mud_assistant.assistant.events.events import Said
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from mud_assistant.tools import Principal
from mud_assistant.tools.game import Thing
from tests.assistant.living import SAGE, reactor
from tests.assistant.page.http.visiting import RawClient
from tests.assistant.page.live.browsers import until
from tests.assistant.page.served import PLANTED, TOKENS, Served, served
from tests.assistant.page.test_site import ID, PAGES, READS

pytestmark = pytest.mark.usefixtures("reactor_baseline")
#: Told by somebody whom it is then to forget: their name, and a word that nobody else says.
ZEPHYRINE, WORD = Principal("player:77", "Zephyrine"), "quagmire"
HIDDEN = Principal("player:78", f"Bob{PLANTED}")
MANNER = {"join_seconds": 0, "required_permission": {"execute_command": 3}}
SETTINGS = {"telemetry": {"metrics": True}, "assistant": MANNER}
MORE = (
    "/runs?player=player%3A77", f"/runs?text={PLANTED}", f"/runs?player={PLANTED}&assistant={PLANTED}",
    f"/?q={PLANTED}",
    "/money?by=player", "/money?by=model", "/runs/run-2", "/runs/run-3", "/runs/run-4", f"/settings?q={PLANTED}",
    f"/doctor?assistant={ID}", f"/a/{ID}/character?line={PLANTED}", "/players/player%3A77", "/players/player%3A78",
    f"/live?assistant={PLANTED}", "/metrics",
)  # fmt: skip


def spellings(key: str) -> list[bytes]:
    """The key, and the ways in which an answer may write it."""
    return [key.encode(), key.upper().encode(), b64encode(key.encode()), key.encode().hex().encode()]


def leaky(request: RecordedRequest) -> Step:
    """Tell the key in thoughts, in words, in the arguments of a call that needs leave, after reading it in a thing."""
    last = request.messages[-1]
    said = str([one.get("content") for one in request.messages if one.get("role") == "user"][-1:])
    if "astrolabe" in said and last.get("role") != "tool":
        return Reply(calls=(Call("inspect", {"target": "astrolabe"}),))
    if "lantern" in said and last.get("role") != "tool":
        return Reply(calls=(Call("execute_command", {"command": f"create {PLANTED} {WORD}"}),), chunk_size=7)
    text = f"Hello, Zephyrine. The {WORD} is deep, and my key is {PLANTED}."
    return Reply(reasoning=f"{PLANTED} {WORD}", calls=(Call("say", {"text": text}),), chunk_size=7)


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """All that is logged, as it stands in a log file."""
    found = io.StringIO()
    observer = textFileLogObserver(found)
    globalLogPublisher.addObserver(observer)
    try:
        yield found
    finally:
        globalLogPublisher.removeObserver(observer)


async def talk(page: Served) -> None:
    """Zephyrine asks three things and leave for one; Bob, who has a key in his name, asks one."""
    page.here.world.things[page.here.home.room.key].append(Thing("astrolabe", f"On it stands {PLANTED}."))
    lines = (
        (ZEPHYRINE, f"Sage, is the {WORD} deep? My key is {PLANTED}, {PLANTED.encode().hex()}."),
        (ZEPHYRINE, "Sage, look at the astrolabe."),
        (HIDDEN, "Sage, hello."),
        (ZEPHYRINE, f"Sage, make a lantern of {WORD}."),
    )
    for who, text in lines:
        page.sage.hear(lambda id_, at, who=who, text=text: Said(id=id_, at=at, who=who, text=text, alone=True))  # type: ignore[misc]
        await page.sage.settled()


async def open_stream(page: Served, last_id: str) -> RawClient:
    """Ask for the live events until they may be had: a program may ask only so often."""
    headers = {"Authorization": f"Bearer {TOKENS['owner']}", "Last-Event-ID": last_id}
    while True:
        client = await page.visiting.connect()
        assert client.transport is not None
        client.transport.write(page.visiting.request("GET", "/api/v1/events", headers))
        await until(lambda client=client: b"\r\n\r\n" in client.received)  # type: ignore[misc]
        if b" 200 " in client.received[:20]:
            return client
        await client.closed
        await deferLater(reactor, 0.1)


@asynccontextmanager
async def streaming(page: Served, last_id: str = "") -> AsyncIterator[RawClient]:
    """A stream of the live events."""
    client = await open_stream(page, last_id)
    try:
        yield client
    finally:
        assert client.transport is not None
        client.transport.loseConnection()
        await client.closed


async def everything(page: Served) -> dict[str, bytes]:
    """Every byte of every page, answer and figure, by its path."""
    await page.log_in()
    answers = {}
    for path in dict.fromkeys((*PAGES, *MORE)):
        got = await page.visiting.get(path)
        while got.status == 429:
            await page.log_in()  # another session may ask as often again
            got = await page.visiting.get(path)
        assert got.status in {200, 404, 422}, (path, got)
        answers[path] = got
    for path in (*READS, "/doctor", "/runs/run-2", "/runs/run-4"):
        answers[f"/api/v1{path}"] = await page.api("owner", "GET", path)
    return {path: got.body + repr(got.headers).encode() for path, got in answers.items()}


def leaks(shown: Mapping[str, bytes], *what: bytes) -> dict[str, bytes]:
    """Where any of these stands, with what is round it."""
    found = {}
    for path, text in shown.items():
        for one in what:
            if (at := text.find(one)) >= 0:
                found[path] = text[max(0, at - 80) : at + 80]
    return found


async def test_a_key_is_in_no_byte_of_pages_answers_streams_figures_and_log(tmp_path: Path) -> None:
    with logged() as log:
        async with served(tmp_path, leaky, SETTINGS) as page, streaming(page) as stream:
            await talk(page)
            shown = await everything(page)
            bad = {"option": "max_steps", "value": PLANTED}
            shown["PATCH"] = (await page.api("owner", "PATCH", f"/assistants/{ID}/settings", bad)).body
            for fields in ({"do": "change", "option": "max_steps", "value": PLANTED}, {"do": PLANTED}):
                got = await page.visiting.submit(f"/settings?assistant={ID}", {"assistant": SAGE.id, **fields})
                shown[f"POST {fields['do'][:6]}"] = got.body + repr(got.headers).encode()
            await until(lambda: stream.received.count(b"event: outcome") == 4)
            shown["stream"] = bytes(stream.received)
        shown["log"] = log.getvalue().encode()
    assert {"/runs/run-1", "/live", "stream"} - leaks(shown, WORD.encode()).keys() == {"/live"}
    assert b"mud_assistant_runs_total" in shown["/metrics"]
    assert b"reads a list of" in shown["log"]
    for secret in (PLANTED, *TOKENS.values()):
        assert leaks(shown, *spellings(secret)) == {}


async def test_a_forgotten_player_is_in_no_byte_afterwards(tmp_path: Path) -> None:
    async with served(tmp_path, leaky, SETTINGS) as page:
        async with streaming(page) as stream:
            await talk(page)
            await until(lambda: stream.received.count(b"event: outcome") == 4)
        first = re.findall(rb"id: (\S+)", bytes(stream.received))[0].decode()
        names = (ZEPHYRINE.name.encode(), WORD.encode())
        before = await everything(page)
        for name in names:
            assert {"/", "/runs", "/runs/run-1", "/approvals", f"/a/{ID}"} - leaks(before, name).keys() == set()
        assert b"Asked" in before["/runs/run-1"]
        got = await page.api("owner", "POST", f"/players/{quote(ZEPHYRINE.id, safe='')}/forget")
        assert got.status == 200, got
        assert leaks(await everything(page), *names) == {}
        async with streaming(page, first) as again:
            page.sage.hear(lambda id_, at: Said(id=id_, at=at, who=HIDDEN, text="Sage, look about.", alone=True))
            await until(lambda: b"look about" in again.received)
            assert leaks({"stream": bytes(again.received)}, *names) == {}
