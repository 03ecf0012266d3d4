"""The processes of a game: its Portal and its Server, and all that they started."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from assistant.game.folder import GameFolder

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the game, by its number and, where the system tells, the time at which it was started."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        """Whether it still runs. One that has ended and was not collected does not."""
        return _alive(self.pid) == self.started

    def kill(self, how: signal.Signals) -> None:
        """Send it a signal; nothing happens when it has ended."""
        if self.is_alive():
            try:
                os.kill(self.pid, how)
            except ProcessLookupError:
                return


def processes(folder: GameFolder) -> list[Process]:
    """Portal and Server, those of them that are alive and have written their numbers down, as they do to serve."""
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
    """All processes of the game, also those that only begin, and what they started, such as a model's server.

    Without /proc only the two that have written their numbers down.
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
    """What the system tells of a process behind its name: state, parent, ...; nothing when it is gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _alive(pid: int) -> str | None:
    """When the process was started, in the system's own count; "" where it does not tell, None without the process."""
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
    """Whether the process was started to be this game's: an old number may have been given to another since."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return any(f"--pidfile={file}".encode() in words for file in folder.resolved().pid_files)
