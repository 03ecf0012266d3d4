"""`python -m mud_assistant.resilience.testing` as its user runs it: a child, before a server of this process."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from mud_assistant.resilience.testing import PASS
from mud_assistant.resilience.testing.names import NAMES
from tests.live.command import Command, Result
from tests.resilience.testing.test_proxy import BODY, rigged

reactor: Any = _reactor


def start(*arguments: str) -> Command:
    """The running command."""
    command = Command()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    line = [sys.executable, "-m", "mud_assistant.resilience.testing", *arguments]
    reactor.spawnProcess(command, sys.executable, line, env=environment)
    return command


async def run(*arguments: str) -> Result:
    return await start(*arguments).ended


async def test_it_prints_its_address_then_each_request_and_ends_at_ctrl_c() -> None:
    async with rigged() as rig:
        real = f"http://127.0.0.1:{rig.proxy.port}/v1"
        command = start(real, "--every", "2", "--fault", "status=503", "--fault", "latency=0.01,0.01+slicer=100")
        await command.saw("\n")
        url = command.out.decode().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
        rig.proxy.url = url  # from here on our client asks the child
        answers = [await rig.ask() for _ in range(5)]
        assert [answer.status for answer in answers] == [200, 503, 200, 200, 200]
        assert answers[3].body == BODY
        await command.saw("request 4")
        transport: Any = command.transport
        transport.signalProcess("INT")
        result = await command.ended
        await rig.exchange.close()
    assert result.status == 0
    assert result.err.splitlines() == [
        "request 0: pass",
        "request 1: status=503",
        "request 2: pass",
        "request 3: latency=0.01,0.01+slicer=100,0",
        "request 4: pass",
    ]


async def test_it_ends_at_once_while_requests_hang() -> None:
    async with rigged() as rig:
        command = start(f"http://127.0.0.1:{rig.proxy.port}", "--fault", "hang")
        await command.saw("\n")
        rig.proxy.url = command.out.decode().strip()
        bare = await rig.raw(b"GET / HTTP/1.1\r\n\r\n")
        await command.saw("request 0: hang")
        transport: Any = command.transport
        transport.signalProcess(signal.SIGTERM)
        await bare.lost
        assert (await command.ended).status == 0


async def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as held:  # which nobody else can have meanwhile, and at which nobody listens
        held.bind(("127.0.0.1", 0))
        await _told_of(f"http://127.0.0.1:{held.getsockname()[1]}")


async def _told_of(url: str) -> None:
    async with rigged(PASS) as rig:
        command = start(url)
        await command.saw("\n")
        rig.proxy.url = command.out.decode().strip()
        assert (await rig.ask()).status == 502
        await command.saw("request 0: pass, but cannot connect to http://127.0.0.1:")
        transport: Any = command.transport
        transport.signalProcess("INT")
        assert (await command.ended).status == 0
        await rig.exchange.close()


async def test_it_names_all_faults() -> None:
    result = await run("--list")
    assert (result.status, result.err) == (0, "")
    names = [re.match(r"[a-z-]+", line) for line in result.out.splitlines()]
    assert [name and name[0] for name in names] == sorted(NAMES)


async def test_its_help_teaches() -> None:
    result = await run("--help")
    assert result.status == 0
    assert "--fault throttled=10 --every 3" in result.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "required: URL"),
        (["https://api.openai.com/v1"], "the fault proxy speaks plain http, not https"),
        (["localhost:11434"], "write the model server's address like http://127.0.0.1:11434/v1"),
        (["http://h", "--fault", "explode"], "there is no fault 'explode'; `--list` names all"),
        (["http://h", "--fault", "latency=soon"], "type a number, as in `latency=1`"),
        (["http://h", "--fault", "latency=-1"], "give latency and jitter as 0 or more seconds"),
        (["http://h", "--every", "0"], "type 1 for each request"),
        (["http://h", "--port", "70000"], "type a port from 0 to 65535"),
        (["http://h", "--seed", "x"], "--seed"),
    ],
)
async def test_what_cannot_be_understood_is_explained(arguments: list[str], says: str) -> None:
    result = await run(*arguments)
    assert (result.status, result.out) == (2, "")
    assert says in result.err
    assert "Traceback" not in result.err


async def test_a_port_that_is_taken_is_explained() -> None:
    async with rigged() as rig:
        port = rig.proxy.url.split(":")[2].split("/")[0]
        result = await run(rig.proxy.url, "--port", port)
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("cannot serve: ")
    assert port in result.err
