"""Makes a new game and its files, applies options to an existing one, and brings its database up to date.

The files are: lines at the end of its settings, the first room's character, the model's options.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.config.known_providers import known_names, left_behind, no_such_provider, special_settings
from mud_assistant.assistant.config.settings import SettingsError, read_settings
from mud_assistant.assistant.config.toml_edit import CannotEdit, edited
from mud_assistant.assistant.errors import GameError
from mud_assistant.assistant.surfaces.game.folder import LOOPBACK, GameFolder, Kept, Ports, free_ports
from mud_assistant.assistant.surfaces.game.processes import EvenniaLauncher, ending

DEFAULT_NAME = "Sage"
#: Django prints this when it can migrate, whether there is something to do or not.
_MIGRATED = "Running migrations:"
_BEGIN = "# --- written by mud-assistant game; see its --help before you change a line between here and the end"
_SETTINGS = """{begin}
SERVERNAME = "Sage's hamlet"
# Nobody but this machine may connect.
TELNET_INTERFACES = ["{loopback}"]
WEBSERVER_INTERFACES = ["{loopback}"]
WEBSOCKET_CLIENT_INTERFACE = "{loopback}"
AMP_HOST = AMP_INTERFACE = "{loopback}"
ALLOWED_HOSTS = ["{loopback}", "localhost"]
TELNET_PORTS = [{telnet}]
WEBSERVER_PORTS = [({web}, {server_web})]
WEBSOCKET_CLIENT_PORT = {websocket}
AMP_PORT = {amp}
{clock}# Evennia 6.1 loses its own choice when it starts, and then a write takes five times as long.
DATABASES["default"].setdefault("OPTIONS", {{}})["init_command"] = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
)
# The line that every game with assistants has.
from mud_assistant.assistant.worlds.evennia.install import install; install(globals())
"""
#: The clock of a new game: whoever plays for an hour sees half a day of its people. A game that is there keeps its own,
#: since another pace would move its clock by years.
_CLOCK = """# A day of the game takes two hours (docs/days.md).
TIME_FACTOR = 12
"""
_SETUP = '''"""Run once, when the Server starts for the first time: a hamlet, and who lives in it."""

from mud_assistant.assistant.worlds.evennia.demo import build_demo


def at_initial_setup():
    build_demo({name!r}, inhabited=True)
'''
_UNSET = {"provider": "auto", "model": "", "url": "", "key": ""}
_OPTIONS = "# The settings of all assistants in this game; docs/settings.md says what else can stand here.\n"


class GameOptions(Struct, frozen=True):
    """The options given: the model's settings by name, the assistant's name, and the first port."""

    model: Mapping[str, str]
    name: str | None = None
    port: int | None = None

    @property
    def is_anything(self) -> bool:
        """Whether an option was given."""
        return bool(self.model or self.name or self.port)


class Maker(Struct, frozen=True):
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


def write_settings(folder: GameFolder, ports: Ports) -> None:
    """Put our lines at the end of the game's settings, replacing those written before."""
    theirs, begun, before = folder.settings.read_text(encoding="utf-8").partition(_BEGIN)
    ours = _SETTINGS.format(
        begin=_BEGIN,
        clock=_CLOCK if not begun or _CLOCK in before else "",
        loopback=LOOPBACK,
        telnet=ports.telnet,
        web=ports.web,
        server_web=ports.server_web,
        websocket=ports.websocket,
        amp=ports.amp,
    )
    folder.settings.write_text(f"{theirs.rstrip()}\n\n{ours}", encoding="utf-8")


def write_setup(folder: GameFolder, name: str) -> None:
    """Write the module that puts the assistant `name` into the first room."""
    folder.setup.write_text(_SETUP.format(name=name), encoding="utf-8")


def write_options(folder: GameFolder, model: Mapping[str, str], name: str) -> None:
    """Write the options into the game's `assistant.toml`. Raises GameError when a setting, or `name`, would be wrong.

    A key, a model and the options that only some providers take belong to the provider they were given with. So a new
    provider or server starts without them.
    """
    if not folder.options.exists():
        folder.options.write_text(_OPTIONS, encoding="utf-8")
    if (provider := model.get("provider", "auto")) not in known_names():
        raise GameError(no_such_provider(provider))
    names = tuple(_UNSET) if "provider" in model or "url" in model else tuple(model)
    wanted = {field: model.get(field) for field in names}
    text = folder.options.read_text(encoding="utf-8")
    try:
        laid_over = {at: value or _UNSET[at] for at, value in wanted.items()}
        read_settings(folder.options, {"model": laid_over, "assistant": {"name": name}})
        if "provider" in wanted:
            wanted |= dict.fromkeys(left_behind(provider, special_settings()))
        folder.options.write_text(edited(text, {("model", at): wanted[at] for at in wanted}), encoding="utf-8")
    except SettingsError as error:
        raise GameError(str(error)) from error
    except CannotEdit as error:
        raise GameError(f"{folder.options} cannot be changed line by line: set {error} there yourself") from error
