"""Makes a new game, applies options to an existing one, and brings its database up to date."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from assistant.errors import GameError
from assistant.surfaces.game.folder import GameFolder, Kept
from assistant.surfaces.game.launcher import EvenniaLauncher, ending
from assistant.surfaces.game.ports import Ports, free_ports
from assistant.surfaces.game.writing import write_options, write_settings, write_setup

DEFAULT_NAME = "Sage"
#: Django prints this when it can migrate, whether there is something to do or not.
_MIGRATED = "Running migrations:"


@dataclass(frozen=True, slots=True)
class GameOptions:
    """The options given: the model's settings by name, the assistant's name, and the first port."""

    model: Mapping[str, str]
    name: str | None = None
    port: int | None = None

    @property
    def is_anything(self) -> bool:
        """Whether an option was given."""
        return bool(self.model or self.name or self.port)


@dataclass(frozen=True, slots=True)
class Maker:
    """A maker of games. `say` is called with a sentence for each step."""

    environment: Mapping[str, str]
    say: Callable[[str], None]

    def launcher(self, folder: GameFolder) -> EvenniaLauncher:
        """Return the launcher for a game that exists."""
        return EvenniaLauncher(folder.path, folder.launcher_log, self.environment)

    def make(self, folder: GameFolder, wanted: GameOptions) -> None:
        """Make a new game, as a whole or not at all. Raises GameError. Blocks for a few seconds."""
        name = wanted.name or DEFAULT_NAME
        self.say(f"Making a game in {folder.path} ...")
        parent = folder.path.parent
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".mud-assistant-", dir=parent) as there:
            launcher = EvenniaLauncher(Path(there), Path(there) / "launcher.log", self.environment)
            printed = launcher.run("--init", "game")
            new = GameFolder(Path(there) / "game")
            if not new.settings.exists():
                raise GameError(f"Evennia could not make a game; it said:\n{ending(printed)}")
            ports = Ports(wanted.port) if wanted.port else free_ports()
            write_settings(new, ports)
            write_setup(new, name)
            write_options(new, wanted.model, name)
            new.password()
            new.keep(Kept(ports.first, name))
            if folder.path.exists():
                folder.path.rmdir()  # it is empty: `kept` refuses any other folder
            os.replace(new.path, folder.path)  # noqa: PTH105  (the same call; this one says that it replaces)

    def adapt(self, folder: GameFolder, kept: Kept, wanted: GameOptions) -> None:
        """Apply the options to a game that is not running. Raises GameError."""
        if wanted.name and wanted.name != kept.assistant:
            raise GameError(
                f"{kept.assistant} lives in this game, not {wanted.name}: leave --name out, begin again with --fresh, "
                "or make another game with --folder"
            )
        if wanted.port and wanted.port != kept.first_port:
            write_settings(folder, Ports(wanted.port))
            folder.keep(replace(kept, first_port=wanted.port))
        if wanted.model:
            write_options(folder, wanted.model, kept.assistant)

    def migrate(self, folder: GameFolder) -> None:
        """Migrate the database to the installed versions, unless it is there already. Raises GameError. Blocks."""
        kept = folder.kept()
        assert kept is not None
        if kept.versions == _versions():
            return
        self.say("Preparing the database ...")
        printed = self.launcher(folder).run("migrate")
        if _MIGRATED not in printed:
            raise GameError(f"the database could not be prepared; Evennia said:\n{ending(printed)}")
        folder.keep(replace(kept, versions=_versions()))


def remove(folder: GameFolder) -> None:
    """Delete a game that was made by us and is not running. Raises GameError for a folder of anything else."""
    if folder.state.exists():
        shutil.rmtree(folder.path)
    else:
        folder.kept()


def _versions() -> str:
    """Return the installed versions of Evennia and Django, which decide the database's migrations. Raises GameError."""
    try:
        return f"evennia {version('evennia')}, django {version('django')}"
    except PackageNotFoundError:
        raise GameError("Evennia is not installed here: run pip install 'mud-assistant[evennia]'") from None
