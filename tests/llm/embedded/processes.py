# ruff: noqa: N802, N803 (the names are Twisted's)
"""Child processes that exist only in a test."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.interfaces import IAddress, IProcessProtocol, IProcessTransport, IReactorProcess
from twisted.python.failure import Failure
from zope.interface import implementer


@implementer(IProcessTransport)
@dataclass
class FakeProcess:
    """One child: what it was started with, and levers for what it does."""

    protocol: Any
    command: tuple[str, ...]
    environment: dict[str, str]
    #: Signals that end it.
    obeys: frozenset[str] = frozenset({"TERM", "KILL"})
    #: Whether its pipes close with it; a process of its own could hold them.
    lets_go: bool = True
    pid: int | None = 1000
    signals: list[str] = field(default_factory=list)
    stdin_closed: bool = False
    closed: set[int] = field(default_factory=set)

    def says(self, record: object) -> None:
        self.protocol.outReceived(json.dumps(record).encode() + b"\n")

    def grumbles(self, text: str) -> None:
        self.protocol.errReceived(text.encode())

    def ends(self, status: int = 0, signal: int | None = None) -> None:
        self.pid = None
        done = ProcessDone(0) if status == 0 and signal is None else ProcessTerminated(status, signal)
        reason = Failure(done)
        self.protocol.processExited(reason)
        if self.lets_go:
            self.protocol.processEnded(reason)

    def signalProcess(self, signalID: str | int) -> None:
        if self.pid is None:
            raise ProcessExitedAlready
        name = str(signalID)
        self.signals.append(name)
        if name in self.obeys:
            self.ends(signal={"TERM": 15, "KILL": 9}[name])

    def closeStdin(self) -> None:
        self.stdin_closed = True

    def closeChildFD(self, descriptor: int) -> None:
        self.closed.add(descriptor)
        if self.pid is None and self.closed >= {1, 2}:
            self.protocol.processEnded(Failure(ProcessDone(0)))

    def closeStdout(self) -> None:
        self.closeChildFD(1)

    def closeStderr(self) -> None:
        self.closeChildFD(2)

    def writeToChild(self, childFD: int, data: bytes) -> None:
        raise AssertionError

    def loseConnection(self) -> None:
        raise AssertionError

    def getPeer(self) -> IAddress:
        raise AssertionError

    def getHost(self) -> IAddress:
        raise AssertionError

    def write(self, data: bytes) -> None:
        raise AssertionError

    def writeSequence(self, data: Iterable[bytes]) -> None:
        raise AssertionError


@implementer(IReactorProcess)
@dataclass
class FakeProcesses:
    """A reactor that starts nothing, and the children it was asked for."""

    started: list[FakeProcess] = field(default_factory=list)
    fault: OSError | None = None

    @property
    def latest(self) -> FakeProcess:
        return self.started[-1]

    def spawnProcess(  # noqa: PLR0917  (the interface's signature)
        self,
        processProtocol: IProcessProtocol,
        executable: bytes | str,
        args: Sequence[bytes | str],
        env: Mapping[Any, Any] | None = None,
        path: bytes | str | None = None,
        uid: int | None = None,
        gid: int | None = None,
        usePTY: bool | tuple[int, int, str] = False,
        childFDs: Mapping[int, int | str] | None = None,
    ) -> IProcessTransport:
        if self.fault:
            raise self.fault
        process = FakeProcess(processProtocol, tuple(str(arg) for arg in args), dict(env or {}))
        self.started.append(process)
        processProtocol.makeConnection(process)
        return process
