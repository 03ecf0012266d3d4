"""The processes of a game: calls the launcher that begins them, finds them, waits for them, and reads their logs.

The launcher is the `evennia` of this virtual environment, called in the game's folder. The processes are the game's
Portal, its Server, and all that they started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from mud_assistant.assistant.errors import GameError
from mud_assistant.assistant.surfaces.game.folder import GameFolder

#: How long one call may take, in seconds. A busy machine needs ten times as long as an idle one.
CALL_SECONDS = 300.0
#: How long an interrupted call may still take, as a half-started game could not be stopped.
_FINISH_SECONDS = 90.0
_SHOWN_LINES = 12
_PROC = Path("/proc")
#: The sockets of this machine, and the state of one that listens, in the system's table.
_TABLES = ("net/tcp", "net/tcp6")
_LISTENS = "0A"
#: What stands in the command line of the two processes of an Evennia game.
_EVENNIA = ("evennia/server/portal/portal.py", "evennia/server/server.py")


class EvenniaLauncher(Struct, frozen=True):
    """The launcher `evennia` for the game in `folder`. What it prints is appended to `log`."""

    folder: Path
    log: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Call the launcher and return what it printed. Its exit status is ignored: it is 0 after most failures.

        Raises GameError when there is no launcher, or the call does not end. Ctrl-C takes effect when the call is over,
        because a half-started game could not be stopped. Blocks.
        """
        binaries = Path(sysconfig.get_path("scripts"))
        if not (binaries / "evennia").exists():
            raise GameError("Evennia is not installed here: run pip install 'mud-assistant[evennia]'")
        whole = {**self._environment(binaries), **(environment or {})}
        with self.log.open("ab") as log:
            log.write(f"--- evennia {' '.join(arguments)}\n".encode())
            log.flush()
            begin = log.tell()
            child = subprocess.Popen(  # noqa: S603  (our own words, without a shell)
                [binaries / "evennia", *arguments],
                cwd=self.folder,
                env=whole,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C is ours, not the game's
            )
        self._await_end(child, arguments[0])
        with self.log.open("rb") as log:
            log.seek(begin)
            return log.read().decode("utf-8", "replace")

    def _environment(self, binaries: Path) -> dict[str, str]:
        """Return the launcher's environment. It calls twistd by name, and overwrites the first entry of PYTHONPATH."""
        changed = {"PATH": f"{binaries}{os.pathsep}{self.environment.get('PATH', os.defpath)}"}
        if modules := self.environment.get("PYTHONPATH"):
            changed["PYTHONPATH"] = f"{binaries}{os.pathsep}{modules}"
        others = {name: value for name, value in self.environment.items() if name != "DJANGO_SETTINGS_MODULE"}
        return {**others, **changed}

    def _await_end(self, child: subprocess.Popen[bytes], what: str) -> None:
        try:
            child.wait(CALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise GameError(
                f"'evennia {what}' took over {CALL_SECONDS:g} s; see {self.log}, and try again when the machine is idle"
            ) from None
        except KeyboardInterrupt:
            with suppress(subprocess.TimeoutExpired):  # then it is killed below
                child.wait(_FINISH_SECONDS)
            raise
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()


def ending(printed: str) -> str:
    """Return the last lines of what was printed, for an error."""
    return "\n".join(printed.strip().splitlines()[-_SHOWN_LINES:])


class Process(Struct, frozen=True):
    """A process of the game, known by its number and, where the system tells it, its start time."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        """Tell whether it still runs. A zombie, which has ended and was not collected, does not."""
        return _alive(self.pid) == self.started

    def kill(self, how: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.is_alive():
            try:
                os.kill(self.pid, how)
            except ProcessLookupError:
                return


def processes(folder: GameFolder) -> list[Process]:
    """Return the Portal and the Server, as far as they are alive and have written their pid files."""
    found = []
    for file in folder.pid_files:
        try:
            pid = int(file.read_text(encoding="ascii"))
        except (FileNotFoundError, ValueError):
            continue
        started = _alive(pid)
        if started is not None and (not _PROC.is_dir() or _is_of(pid, folder)):
            found.append(Process(pid, started))
    return found


def family(folder: GameFolder) -> list[Process]:
    """Return all processes of the game, also those still starting, and what they started, such as a model's server.

    Without /proc these are only the Portal and the Server, once they have written their pid files.
    """
    if not _PROC.is_dir():
        return processes(folder)
    numbers = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    parents = {pid: int(fields[1]) for pid in numbers if (fields := _fields(pid))}
    wanted = {pid for pid in numbers if _is_of(pid, folder)}
    while more := {pid for pid, parent in parents.items() if parent in wanted} - wanted:
        wanted |= more
    return [Process(pid, started) for pid in sorted(wanted) if (started := _alive(pid)) is not None]


def _fields(pid: int) -> list[str]:
    """Return the fields after the name in a process's /proc stat: state, parent, ...; empty when it is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _alive(pid: int) -> str | None:
    """Return when the process was started, in the system's own count.

    The empty string means that the system does not tell, None that the process has ended.
    """
    if _PROC.is_dir():
        fields = _fields(pid)
        return fields[19] if fields and fields[0] not in "ZX" else None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ""
    return ""


def _is_of(pid: int, folder: GameFolder) -> bool:
    """Tell whether the process was started for this game: an old number may belong to another process by now."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return any(f"--pidfile={file}".encode() in words for file in folder.resolved().pid_files)


class Patience(Struct, frozen=True):
    """A clock and a way to sleep, both in seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]

    def until(self, is_so: Callable[[], bool], seconds: float, every_seconds: float = 0.2) -> bool:
        """Wait until `is_so` returns True; return False when it did not within `seconds`.

        It is called at least once. Blocks.
        """
        end = self.now() + seconds
        while not is_so():
            if self.now() >= end:
                return False
            self.sleep(every_seconds)
        return True


@dataclass(slots=True)
class LogTail:
    """A reader of a log that grows, and that Evennia may put aside and begin anew."""

    path: Path
    _at: int = 0
    _rest: bytes = b""

    def to_end(self) -> None:
        """Skip what is in the log now."""
        self._at = self.path.stat().st_size if self.path.exists() else 0
        self._rest = b""

    def lines(self) -> list[str]:
        """Return the whole lines that were written since the last call."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                if size < self._at:
                    self._at, self._rest = 0, b""
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return []
        self._at += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [line.decode("utf-8", "replace").rstrip("\r") for line in whole]


def who_listens(port: int) -> str:
    """Return who listens on a port, for the owner of this machine: "the Evennia game in /srv/game (process 17)".

    Without /proc, and for a program of somebody else, it is "another program".
    """
    inodes = _listening(port)
    if inodes:
        for folder in _PROC.iterdir():
            if folder.name.isdigit() and not inodes.isdisjoint(_sockets(folder)):
                return _described(folder)
    return "another program"


def _listening(port: int) -> set[str]:
    """Return the sockets that listen on this port, as the system numbers them."""
    found = set()
    for table in _TABLES:
        with suppress(OSError):
            for line in (_PROC / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found


def _sockets(process: Path) -> set[str]:
    """Return what a process has open; nothing for one that is gone or of somebody else."""
    found = set()
    with suppress(OSError):
        for handle in (process / "fd").iterdir():
            with suppress(OSError):
                found.add(str(handle.readlink()))
    return found


def _described(process: Path) -> str:
    """Describe a process: the game, when it is one of Evennia's, else its program."""
    with suppress(OSError):
        words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        if any(word.endswith(_EVENNIA) for word in words):
            return f"the Evennia game in {(process / 'cwd').readlink()} (process {process.name})"
        name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
        return f"the program '{name}' (process {process.name})"
    return "another program"
