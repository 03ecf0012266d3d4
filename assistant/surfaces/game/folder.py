"""Knows the folder of a game: where its files are, and what is remembered of it between two starts.

The game's five ports are chosen once, so that its addresses stay the same at the next start.
"""

from __future__ import annotations

import json
import secrets
import socket
import string
from pathlib import Path

from msgspec import Struct, to_builtins

from mud_assistant.assistant.errors import GameError

LOOPBACK = "127.0.0.1"
#: The first port of a new game, and the distance to the next group of ports. Evennia's own group, from 4000 on, is left
#: to a game of its own, which may be started at any time and takes no other.
FIRST = 4010
STEP = 10
_LAST = 65_535
#: The account that owns a new game, and the one that owns a game whose state file names none.
OWNER, FIRST_OWNER = "Owner", "Keeper"
_PASSWORD_LENGTH = 14


class Ports(Struct, frozen=True):
    """A group of ports, laid out from `first` as Evennia's own are from 4000."""

    first: int

    @property
    def telnet(self) -> int:
        """The port for MUD clients."""
        return self.first

    @property
    def web(self) -> int:
        """The port of the website and the web client's page."""
        return self.first + 1

    @property
    def websocket(self) -> int:
        """The port that the web client's page connects to."""
        return self.first + 2

    @property
    def server_web(self) -> int:
        """The port of the website between the game's two processes."""
        return self.first + 5

    @property
    def amp(self) -> int:
        """The port between the game's two processes and its launcher."""
        return self.first + 6

    def all(self) -> tuple[int, ...]:
        """Return all five ports."""
        return (self.telnet, self.web, self.websocket, self.server_web, self.amp)

    def taken(self) -> list[int]:
        """Return the ports that another program listens on."""
        return [port for port in self.all() if not _is_free(port)]


class Kept(Struct, frozen=True):
    """What is remembered of a game between two starts.

    `first_port` is the first of its ports, `assistant` the character in the first room. `versions` are those that the
    database was migrated to, and `owner` is the account that owns the game.
    """

    first_port: int
    assistant: str
    versions: str = ""
    owner: str = OWNER


class GameFolder(Struct, frozen=True):
    """A game's folder, which need not exist yet. Its path is absolute."""

    path: Path

    @property
    def state(self) -> Path:
        """The file that holds what is remembered. Its presence says that the game is ours."""
        return self.path / "mud-assistant-game.json"

    @property
    def settings(self) -> Path:
        """Evennia's settings of the game."""
        return self.path / "server" / "conf" / "settings.py"

    @property
    def setup(self) -> Path:
        """The module that the Server runs once, when it starts for the first time."""
        return self.path / "server" / "conf" / "at_initial_setup.py"

    @property
    def options(self) -> Path:
        """The settings of all assistants of the game."""
        return self.path / "server" / "conf" / "assistant.toml"

    @property
    def password_file(self) -> Path:
        """The file with the owner's password. Other accounts of this machine cannot read it."""
        return self.path / "login.txt"

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.path / "server" / "logs"

    @property
    def server_log(self) -> Path:
        """The log of what happens in the game."""
        return self.logs / "server.log"

    @property
    def launcher_log(self) -> Path:
        """The log of what the launcher printed."""
        return self.logs / "launcher.log"

    @property
    def pid_files(self) -> tuple[Path, Path]:
        """The files with the process numbers of the Portal and of the Server."""
        return self.path / "server" / "portal.pid", self.path / "server" / "server.pid"

    def resolved(self) -> GameFolder:
        """Return the same folder as Evennia names it, without links in its path."""
        return GameFolder(self.path.resolve())

    def kept(self) -> Kept | None:
        """Return what is remembered, None when there is no game. Raises GameError for a folder of anything else."""
        try:
            data = json.loads(self.state.read_text(encoding="utf-8"))
            owner = str(data.get("owner", FIRST_OWNER))
            return Kept(int(data["first_port"]), str(data["assistant"]), str(data["versions"]), owner)
        except FileNotFoundError:
            if self.path.is_dir() and not any(self.path.iterdir()):
                return None
            if self.path.exists():
                raise GameError(
                    f"{self.path} is there already and was not made by mud-assistant: name another with --folder"
                ) from None
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise GameError(f"{self.state} cannot be read: begin again with --fresh") from error

    def keep(self, kept: Kept) -> None:
        """Write down what is to be remembered."""
        self.state.write_text(json.dumps(to_builtins(kept), indent=1) + "\n", encoding="utf-8")

    def ports(self) -> Ports:
        """Return the game's ports. Raises GameError when there is no game."""
        return Ports(self._there().first_port)

    def owner(self) -> str:
        """Return the account that owns the game. Raises GameError when there is no game."""
        return self._there().owner

    def _there(self) -> Kept:
        kept = self.kept()
        if kept is None:
            raise GameError(f"there is no game in {self.path}")
        return kept

    def password(self) -> str:
        """Return the owner's password; make and store one when there is none yet."""
        try:
            return self.password_file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            made = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(_PASSWORD_LENGTH))
            self.password_file.touch(mode=0o600, exist_ok=False)
            self.password_file.write_text(f"{made}\n", encoding="utf-8")
            return made


def free_ports() -> Ports:
    """Return the first group from FIRST on of which no port is taken. Raises GameError when there is none."""
    for first in range(FIRST, _LAST - STEP, STEP):
        ports = Ports(first)
        if not ports.taken():
            return ports
    raise GameError("no free ports are left on this machine: stop a program that listens on some")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        # As servers do: a port is free even while the system still remembers its last connections.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((LOOPBACK, port))
            tried.listen(1)
        except OSError:
            return False
    return True
