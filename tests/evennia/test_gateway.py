"""The gateway of a game: it opens with the Server when the owner switched it on, and closes with it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import treq
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater
from twisted.logger import LogEvent, capturedLogs, formatEvent
from twisted.web.client import Agent, HTTPConnectionPool

from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.llm.testing import FakeOllama, Hang, Reply, serve
from tests.evennia.opened import model_at, opened, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")

ON = "\n[gateway]\nenabled = true\nport = 0\n"


@pytest.fixture
def log() -> Iterator[Sequence[LogEvent]]:
    """What is logged."""
    with capturedLogs() as events:
        yield events


async def told(log: Sequence[LogEvent], begin: str) -> str:
    """Wait for a line that begins so, and return the rest of it."""
    for _ in range(5000):
        for line in map(formatEvent, log):
            if line.startswith(begin):
                return line.removeprefix(begin).strip()
        await deferLater(reactor, 0.002)
    raise AssertionError([*map(formatEvent, log)])


def asked(address: str, *, streams: bool) -> Any:
    """Ask the gateway of a game for the model of its assistants."""
    agent = Agent(reactor, pool=HTTPConnectionPool(reactor, persistent=False))
    body = {"model": "assistant", "stream": streams, "messages": [{"role": "user", "content": "Who is there?"}]}
    return treq.client.HTTPClient(agent).post(f"{address}/v1/chat/completions", json=body)


async def test_programs_ask_the_model_of_the_game_beside_its_assistants(
    tmp_path: Path, log: Sequence[LogEvent]
) -> None:
    fake = FakeOllama(reactor, lambda _: Reply("The miller."))
    async with serve(fake, reactor) as url, opened(tmp_path, model_at(url) + ON) as village:
        creation.create_assistant("Sage", village.hall)
        address = await told(log, "the gateway listens at ")
        answer = await asked(address, streams=False)
        said = await answer.json()
        assert said["choices"][0]["message"]["content"] == "The miller."


async def test_a_game_without_the_setting_has_no_gateway(tmp_path: Path, log: Sequence[LogEvent]) -> None:
    async with opened(tmp_path):
        await server.service().parts.ready()
        assert not [line for line in map(formatEvent, log) if "gateway" in line]


async def test_it_closes_in_time_with_the_server_while_an_answer_is_awaited(
    tmp_path: Path, log: Sequence[LogEvent]
) -> None:
    fake = FakeOllama(reactor, lambda _: Hang("headers"))
    async with serve(fake, reactor) as url, opened(tmp_path, model_at(url) + ON):
        address = await told(log, "the gateway listens at ")
        waiting = asked(address, streams=True)
        while not fake.chats:
            await deferLater(reactor, 0.002)
        started = reactor.seconds()
        await server.close_service()
        assert reactor.seconds() - started < 1.0
        answer = await waiting
        assert answer.code == 503
        await answer.content()


@pytest.mark.filterwarnings("ignore:.*socket")  # Twisted leaves one that it could not bind to the collector
async def test_a_port_that_is_taken_is_logged_and_the_game_goes_on(tmp_path: Path, log: Sequence[LogEvent]) -> None:
    taken: Any = reactor.listenTCP(0, Factory(), interface="127.0.0.1")
    try:
        on = ON.replace("port = 0", f"port = {taken.getHost().port}")
        async with opened(tmp_path, model_at("http://127.0.0.1:9") + on) as village:
            assert "Another program has it" in await told(log, "there is no gateway: ")
            assert server.is_open()
            assert creation.create_assistant("Sage", village.hall)
        gc.collect()
    finally:
        await taken.stopListening()
