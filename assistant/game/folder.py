"""The folder of a game: where its files are, and what is remembered of it between two starts."""

from __future__ import annotations

import json
import secrets
import string
from dataclasses import asdict, dataclass
from pathlib import Path

from assistant.game.errors import GameError
from assistant.game.ports import Ports

#: The account that owns a new game, and the one that owned games before this name was kept.
OWNER, FIRST_OWNER = "Owner", "Keeper"
_PASSWORD_LENGTH = 14


@dataclass(frozen=True, slots=True)
class Kept:
    """What is remembered: the first port, who was put into the first room, and for which versions the database is.

    `owner` is the account that owns the game.
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
        """Its presence says that the game is ours."""
        return self.path / "mud-assistant-game.json"

    @property
    def settings(self) -> Path:
        """Evennia's settings of the game."""
        return self.path / "server" / "conf" / "settings.py"

    @property
    def setup(self) -> Path:
        """What the Server runs once, when it starts for the first time."""
        return self.path / "server" / "conf" / "at_initial_setup.py"

    @property
    def options(self) -> Path:
        """The settings of all assistants of the game."""
        return self.path / "server" / "conf" / "assistant.toml"

    @property
    def password_file(self) -> Path:
        """The owner's password, for nobody else on this machine."""
        return self.path / "login.txt"

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.path / "server" / "logs"

    @property
    def server_log(self) -> Path:
        """What happens in the game."""
        return self.logs / "server.log"

    @property
    def launcher_log(self) -> Path:
        """What the launcher printed."""
        return self.logs / "launcher.log"

    @property
    def pid_files(self) -> tuple[Path, Path]:
        """Those of the Portal and of the Server."""
        return self.path / "server" / "portal.pid", self.path / "server" / "server.pid"

    def resolved(self) -> GameFolder:
        """The same folder as Evennia names it, without links in its path."""
        return GameFolder(self.path.resolve())

    def kept(self) -> Kept | None:
        """What is remembered; None where no game is. Raises GameError for a folder that is something else."""
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
        """Remember."""
        self.state.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")

    def ports(self) -> Ports:
        """The game's ports. Raises GameError where no game is."""
        return Ports(self._there().first_port)

    def owner(self) -> str:
        """The account that owns the game. Raises GameError where no game is."""
        return self._there().owner

    def _there(self) -> Kept:
        kept = self.kept()
        if kept is None:
            raise GameError(f"there is no game in {self.path}")
        return kept

    def password(self) -> str:
        """The owner's password, made when there is none yet."""
        try:
            return self.password_file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            made = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(_PASSWORD_LENGTH))
            self.password_file.touch(mode=0o600, exist_ok=False)
            self.password_file.write_text(f"{made}\n", encoding="utf-8")
            return made
