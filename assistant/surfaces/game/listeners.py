"""Names the program that listens on a port of this machine, as far as the system tells. Blocks for milliseconds."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_TABLES = ("net/tcp", "net/tcp6")
#: The state of a socket that listens, in the system's table.
_LISTENS = "0A"
#: What stands in the command line of the two processes of an Evennia game.
_EVENNIA = ("evennia/server/portal/portal.py", "evennia/server/server.py")


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
