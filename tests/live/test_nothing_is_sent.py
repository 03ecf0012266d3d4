"""Nothing is sent anywhere but to what the owner named: seen in the system calls of whole programs, and their children.

strace sees what C code, threads and child processes do; a look-up of a name is a connection to a name server.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from twisted.internet.threads import deferToThread

from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from tests.live.command import reactor, start

#: Everything that could be tempted to call home is switched on: searches, metrics, a journal.
SETTINGS = """
[journal]
file = "sage.journal"
[telemetry]
metrics = true
[web]
search_provider = ["duckduckgo"]
"""
_INTERNET = re.compile(r'htons\((\d+)\), (?:sin_addr=inet_addr\("([^"]+)"\)|.*?inet_pton\(AF_INET6, "([^"]+)")')
#: Sockets of this machine that look up names for others: nscd, systemd-resolved, the bus.
_LOCAL = re.compile(r'sun_path=@?"([^"]+)"')


class Watched:
    """An interpreter under strace, and where its programs went."""

    def __init__(self, folder: Path) -> None:
        self._trace, script = folder / "trace", folder / "python"
        strace = ["strace", "-D", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(self._trace)]
        script.write_text(f'#!/bin/sh\nexec {shlex.join([*strace, sys.executable])} "$@"\n')
        script.chmod(0o755)
        self.python = str(script)

    def reached(self) -> set[str]:
        """Return every address of the internet's protocols, and every service of this machine, that was called."""
        text = self._trace.read_text(errors="replace")
        addresses = {f"{four or six}:{port}" for port, four, six in _INTERNET.findall(text)}
        return addresses | set(_LOCAL.findall(text))


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    probe = subprocess.run(["strace", "-D", "-o", "/dev/null", "true"], capture_output=True, check=False)  # noqa: S607
    if probe.returncode:
        pytest.skip("strace may not trace here")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "assistant.toml").write_text(SETTINGS)
    return Watched(tmp_path)


def hello(_: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": "Good day."}),))


async def interrupted(command: Any) -> Any:
    command.transport.signalProcess("INT")
    return await command.ended


async def test_a_trial_calls_its_model_and_nobody_else(watched: Watched, tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, hello), reactor) as url:
        arguments = ("trial", "--url", url, "--provider", "ollama", "--model", "sage", "--page", "0")
        trial: Any = start(*arguments, folder=str(tmp_path / "own"), python=watched.python)
        trial.transport.write(b"Hello Sage\n")
        trial.transport.closeStdin()
        ended = await trial.ended
    assert "Good day." in ended.out, ended
    assert watched.reached() == {urlsplit(url).netloc}


async def test_serve_calls_its_model_and_nobody_else(watched: Watched, tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, hello), reactor) as url:
        arguments = ("serve", "--url", url, "--provider", "ollama", "--model", "sage", "--port", "0")
        serving = start(*arguments, folder=str(tmp_path / "own"), python=watched.python)
        await serving.saw("thinks with")
        assert (await interrupted(serving)).status == 0
    assert watched.reached() == {urlsplit(url).netloc}


def asked(url: str) -> bytes:
    """Return the answer of a gateway to one line."""
    line = b'{"model": "assistant", "messages": [{"role": "user", "content": "Hello"}]}'
    request = Request(f"{url}/chat/completions", line, {"Content-Type": "application/json"})  # noqa: S310  (loopback)
    with urlopen(request, timeout=60) as answer:  # noqa: S310  (loopback)
        return bytes(answer.read())


async def test_the_gateway_calls_the_model_and_nobody_else(watched: Watched, tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, [Reply("Good day.")]), reactor) as url:
        arguments = ("gateway", "--url", url, "--provider", "ollama", "--model", "sage", "--port", "0")
        gateway = start(*arguments, folder=str(tmp_path / "own"), python=watched.python)
        await gateway.saw("/v1")
        (own,) = set(re.findall(r"http://127\.0\.0\.1:\d+/v1", (gateway.out + gateway.err).decode()))
        assert b"Good day." in await deferToThread(asked, own)
        assert (await interrupted(gateway)).status == 0
    assert watched.reached() == {urlsplit(url).netloc}


def test_the_watch_sees_every_kind_of_call(watched: Watched) -> None:
    """Or the others would hold for nothing."""
    code = (
        "import os, socket\n"
        "kinds = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX\n"
        "for kind, place in zip(kinds, (('127.0.0.1', 9), ('::1', 53), 'nscd')):\n"
        "    if os.fork() == 0:\n"
        "        sock = socket.socket(kind, socket.SOCK_DGRAM)\n"
        "        os._exit(sock.sendto(b'?', place) if kind == socket.AF_INET6 else sock.connect_ex(place))\n"
        "    os.wait()\n"
    )
    subprocess.run([watched.python, "-c", code], check=True, timeout=60)
    assert watched.reached() == {"127.0.0.1:9", "::1:53", "nscd"}
