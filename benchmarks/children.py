"""Child processes of a benchmark: the stub server, and peers that take their turns over a pipe."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone
from twisted.internet.interfaces import IReactorProcess
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from benchmarks.certificate import Made, certificate
from benchmarks.paired import Turn

#: A stub that was forgotten ends by itself after this many seconds.
STUB_SECONDS = 1800
#: How a line to standard error begins that says how far a long section is.
PROGRESS = "  ... "
ROOT = Path(__file__).parent.parent


class ChildFailed(Exception):
    """A child ended before it answered; the message is the end of what it wrote to standard error."""


class Child(ProcessProtocol):
    """A `python -m MODULE` that answers lines with lines of JSON."""

    def __init__(self, reactor: IReactorProcess, module: str, *arguments: str) -> None:
        self._held = b""
        self._said = b""
        self._waiting: list[Deferred[Any]] = []
        self.gone: Deferred[None] = Deferred()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", module, *arguments]
        reactor.spawnProcess(self, sys.executable, command, env=environment, path=str(ROOT))

    def answer(self) -> Deferred[Any]:
        """The next line, read as JSON. Fails with ChildFailed when there will be none."""
        waiting: Deferred[Any] = Deferred()
        self._waiting.append(waiting)
        self._hand_out()
        if self.gone.called:
            self._give_up()
        return waiting

    def ask(self, line: str) -> Deferred[Any]:
        """The answer to a line."""
        answer = self.answer()
        assert self.transport is not None
        self.transport.write(line.encode() + b"\n")
        return answer

    async def close(self) -> None:
        """Let it end; returns when it has."""
        assert self.transport is not None
        self.transport.closeStdin()
        await self.gone

    def outReceived(self, data: bytes) -> None:
        """Take what it writes."""
        self._held += data
        self._hand_out()

    def errReceived(self, data: bytes) -> None:
        """Keep its last words, and show at once how far it is."""
        self._said = (self._said + data)[-2000:]
        for line in data.decode(errors="replace").splitlines():
            if line.startswith(PROGRESS):
                print(line, file=sys.stderr, flush=True)

    def processEnded(self, reason: Failure) -> None:
        """Tell those who wait for it."""
        if not self._waiting and not reason.check(ProcessDone) and self._said:
            print(self._words(), file=sys.stderr)
        self._give_up()
        self.gone.callback(None)

    def _words(self) -> str:
        return self._said.decode("utf-8", "replace")

    def _give_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.errback(ChildFailed(self._words()))

    def _hand_out(self) -> None:
        while self._waiting and b"\n" in self._held:
            line, _, self._held = self._held.partition(b"\n")
            self._waiting.pop(0).callback(json.loads(line))


class Peer:
    """One kind of work of a peer, as a subject; the peer lives on when this is closed, for its next kind of work."""

    def __init__(self, child: Child, kind: str, url: str, count: int = 20, callers: int = 8) -> None:
        self._child = child
        self._asked = [kind, url, count, callers]

    async def turn(self, seconds: float) -> Turn:
        """One turn."""
        return Turn(*await self._child.ask(json.dumps([*self._asked, seconds])))

    async def close(self) -> None:
        """Nothing: the process is not this subject's alone."""


@asynccontextmanager
async def peers(reactor: IReactorProcess, names: Sequence[str]) -> AsyncIterator[Mapping[str, Child]]:
    """A process of each of these peers, for as long as the block lasts."""
    children = {name: Child(reactor, "benchmarks.peer", name) for name in names}
    try:
        yield children
    finally:
        for child in children.values():
            await child.close()


@asynccontextmanager
async def stub(reactor: IReactorProcess, ports: int = 1) -> AsyncIterator[list[str]]:
    """The base URLs of a stub server with so many ports, for as long as the block lasts."""
    child = Child(reactor, "benchmarks.stub", str(ports), str(STUB_SECONDS))
    try:
        yield [f"http://127.0.0.1:{port}" for port in await child.answer()]
    finally:
        await child.close()


@asynccontextmanager
async def https_stub(reactor: IReactorProcess) -> AsyncIterator[tuple[str, Made]]:
    """The base URL of a stub server over HTTPS, and its certificate."""
    made = certificate()
    with tempfile.TemporaryDirectory() as folder:
        public, private = Path(folder) / "certificate", Path(folder) / "key"
        public.write_bytes(made.public)
        private.write_bytes(made.private)
        child = Child(reactor, "benchmarks.stub", "1", str(STUB_SECONDS), str(public), str(private))
        try:
            yield f"https://127.0.0.1:{(await child.answer())[0]}", made
        finally:
            await child.close()
