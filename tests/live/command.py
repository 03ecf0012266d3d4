"""Runs the real command as its user does: a child process with pipes, while this process serves the fake model."""

from __future__ import annotations

import json
import os
import socket
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.error import ProcessTerminated
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure

reactor: Any = _reactor
_ROOT = str(Path(__file__).parents[2])
#: The commands that were started in this process.
_STARTED: set[str] = set()
#: What Python itself looks at when it is started.
_SEEN_BY_PYTHON = frozenset({"LANG", "LC_ALL", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS"})


@dataclass
class Result:
    """How a command ended: its status (None after a signal), and what it printed."""

    status: int | None
    out: str
    err: str


class Command(ProcessProtocol):
    """A running command. `ended` fires with its Result; `saw` fires when `text` appeared on its output."""

    def __init__(self) -> None:
        self.out = bytearray()
        self.err = bytearray()
        self.ended: Deferred[Result] = Deferred()
        self._watched: list[tuple[bytes, bytes, Deferred[None]]] = []

    def outReceived(self, data: bytes) -> None:
        self.out += data
        if b"\x1b[6n" in data:  # a terminal is asked where its cursor is, and answers
            self.transport.write(b"\x1b[5;1R")  # type: ignore[union-attr]  # a process has a transport
        self._look()

    def errReceived(self, data: bytes) -> None:
        self.err += data
        self._look()

    def processEnded(self, reason: Failure) -> None:
        status = reason.value.exitCode if isinstance(reason.value, ProcessTerminated) else 0
        watched, self._watched = self._watched, []
        for text, _, seen in watched:
            seen.errback(AssertionError(f"it ended without {text!r}: {self.out!r} {self.err!r}"))
        self.ended.callback(Result(status, self.out.decode(), self.err.decode()))

    def saw(self, text: str, after: str = "") -> Deferred[None]:
        """Fires when `text` was printed, behind the last place where `after` was."""
        seen: Deferred[None] = Deferred()
        self._watched.append((text.encode(), after.encode(), seen))
        self._look()
        return seen

    def _look(self) -> None:
        both = bytes(self.out + self.err)
        due = [entry for entry in self._watched if entry[0] in _behind(both, entry[1])]
        self._watched = [entry for entry in self._watched if entry not in due]
        for _, _, seen in due:
            seen.callback(None)


def _behind(printed: bytes, mark: bytes) -> bytes:
    """What was printed behind the last mark, nothing as long as there is none."""
    return printed.rpartition(mark)[2] if mark and mark in printed else b"" if mark else printed


def start(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    terminal: bool = False,
    module: str = "mud_assistant",
    python: str = sys.executable,
) -> Command:
    """Start `mud-assistant` with these arguments, on pipes or at a terminal; its standard input stays open.

    `module` is another program of ours to run instead, and `python` another interpreter to run it.
    """
    command = Command()
    env = {**os.environ, **(environment or {}), "PYTHONUNBUFFERED": "1"}
    line = [python, "-m", module, *arguments]
    reactor.spawnProcess(command, python, line, env=env, path=folder, usePTY=_terminal() if terminal else False)
    return command


def _terminal() -> tuple[int, int, str]:
    """A pseudo-terminal of the usual size, as spawnProcess takes one."""
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    return master, slave, os.ttyname(slave)


async def run(
    arguments: Sequence[str], given: bytes, environment: Mapping[str, str] | None = None, folder: str | None = None
) -> Result:
    """The result of the command with `given` as its whole input.

    Each command is started once; after that a process that has loaded it is forked, which spares half a second.
    """
    theirs, where = environment or {}, Path(folder or Path.cwd())
    if arguments[0] in _STARTED and _is_loaded_alike(theirs, where):
        return await _forked(arguments, given, theirs, str(where))
    _STARTED.add(arguments[0])
    command = start(*arguments, environment=environment, folder=folder)
    transport: Any = command.transport
    transport.write(given)
    transport.closeStdin()
    return await command.ended


def _is_loaded_alike(environment: Mapping[str, str], folder: Path) -> bool:
    """Whether Python would load there, with this environment, what is loaded here."""
    own = folder == Path(_ROOT) or not (folder / "mud_assistant").exists()
    is_usual = environment.get("PYTHONPATH", _ROOT) == _ROOT and not _SEEN_BY_PYTHON.intersection(environment)
    return sys.platform == "linux" and own and is_usual


async def _forked(arguments: Sequence[str], given: bytes, environment: Mapping[str, str], folder: str) -> Result:
    """The result of the command in a fork of the process that has loaded it."""
    told, asked = zip(*(os.pipe() for _ in range(3)), strict=True)
    stdin, feed = os.pipe()
    request = {
        "arguments": [*arguments],
        "environment": {**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
        "folder": folder,
    }
    socket.send_fds(_preloaded(), [json.dumps(request).encode()], [stdin, *asked])
    for file in (stdin, *asked):
        os.close(file)
    work = gatherResults([deferToThread(_read, file) for file in told] + [deferToThread(_write, feed, given)])
    out, err, status, _ = await work
    return Result(int(status) if int(status) >= 0 else None, out.decode(), err.decode())


def _read(file: int) -> bytes:
    with os.fdopen(file, "rb") as stream:
        return stream.read()


def _write(file: int, given: bytes) -> bytes:
    with suppress(BrokenPipeError), os.fdopen(file, "wb") as stream:  # some commands read nothing
        stream.write(given)
    return b""


@cache
def _preloaded() -> socket.socket:
    """The line to the process that has the product loaded; it ends when the line does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.set_inheritable(True)
    line = [sys.executable, "-m", "tests.live.preloaded", str(theirs.fileno())]
    nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    os.posix_spawn(sys.executable, line, {**os.environ, "PYTHONPATH": _ROOT}, file_actions=[nothing])
    theirs.close()
    return ours
