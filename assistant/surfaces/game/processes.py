"""Finds the processes of a game: its Portal, its Server, and all that they started."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from assistant.surfaces.game.folder import GameFolder

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
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
