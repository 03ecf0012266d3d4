"""A worker that exists only in a test: what it was sent can be read, what it says is up to the test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from twisted.internet.error import ProcessDone, ProcessTerminated
from twisted.internet.interfaces import IProcessProtocol, IProcessTransport, IReactorProcess
from twisted.python.failure import Failure
from zope.interface import implementer

from mud_assistant.llm.messages import JSONObject
from mud_assistant.tools.web.extracting.worker import FrameBuffer, pack
from tests.llm.embedded.processes import FakeProcess


@dataclass
class FakeWorker(FakeProcess):
    """Messages in and out."""

    obeys: frozenset[str] = frozenset({"KILL"})
    pages: list[tuple[JSONObject, bytes]] = field(default_factory=list)
    _in: FrameBuffer = field(default_factory=lambda: FrameBuffer(10_000_000))

    def write(self, data: bytes) -> None:
        self.pages += list(self._in.feed(data))

    def tells(self, say: str, body: bytes = b"", **head: Any) -> None:
        self.protocol.outReceived(pack({"say": say, **head}, body))

    def reads(self, text: str = "") -> None:
        """Answer the latest page."""
        self.tells("begun")
        self.tells("done", (text or self.pages[-1][1].decode()).encode(), title="T", flags=["cut", "odd", 3])

    def closeStdin(self) -> None:  # noqa: N802
        super().closeStdin()
        if self.pid is not None:
            self.ends()

    def dies(self, signal: int = 11) -> None:
        """End for a reason of its own."""
        self.pid = None
        reason = Failure(ProcessTerminated(None, signal) if signal else ProcessDone(0))
        self.protocol.processExited(reason)
        self.protocol.processEnded(reason)


@implementer(IReactorProcess)
@dataclass
class FakeWorkers:
    """A reactor that starts none but these."""

    started: list[FakeWorker] = field(default_factory=list)
    fault: OSError | None = None

    @property
    def latest(self) -> FakeWorker:
        return self.started[-1]

    def spawnProcess(  # noqa: N802, PLR0917  (the interface's signature)
        self,
        processProtocol: IProcessProtocol,
        executable: Any,
        args: Any,
        env: Any = None,
        path: Any = None,
        uid: Any = None,
        gid: Any = None,
        usePTY: Any = False,  # noqa: N803
        childFDs: Any = None,
    ) -> IProcessTransport:
        if self.fault:
            raise self.fault
        worker = FakeWorker(processProtocol, tuple(args), dict(env or {}))
        self.started.append(worker)
        processProtocol.makeConnection(worker)
        return worker
