"""Knows the folder of a game: where its files are, and what is remembered of it between two starts."""

from __future__ import annotations

import json
import secrets
import string
from dataclasses import asdict, dataclass
from pathlib import Path

from assistant.errors import GameError
from assistant.surfaces.game.ports import Ports

#: The account that owns a new game, and the one that owns a game whose state file names none.
OWNER, FIRST_OWNER = "Owner", "Keeper"
_PASSWORD_LENGTH = 14


@dataclass(frozen=True, slots=True)
class Kept:
    """What is remembered of a game between two starts.

    `first_port` is the first of its ports, `assistant` the character in the first room. `versions` are those that the
    database was migrated to, and `owner` is the account that owns the game.
    """

    first_port: int
    assistant: str
    versions: str = ""
    owner: str = OWNER


@dataclass(frozen=True, slots=True)
class GameFolder:
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
        self.state.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")

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
