"""Writes the files of a new game: lines at the end of its settings, the first room's character, the model's options."""

from __future__ import annotations

from collections.abc import Mapping

from assistant.config.known_providers import known_names, left_behind, no_such_provider, special_settings
from assistant.config.settings import SettingsError, read_settings
from assistant.config.toml_edit import CannotEdit, edited
from assistant.errors import GameError
from assistant.surfaces.game.folder import GameFolder
from assistant.surfaces.game.ports import LOOPBACK, Ports

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
# Evennia 6.1 loses its own choice when it starts, and then a write takes five times as long.
DATABASES["default"].setdefault("OPTIONS", {{}})["init_command"] = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
)
# The line that every game with assistants has.
from assistant.worlds.evennia.install import install; install(globals())
"""

_SETUP = '''"""Run once, when the Server starts for the first time: a hamlet, and who lives in its library."""

from assistant.worlds.evennia.demo import build_demo


def at_initial_setup():
    build_demo({name!r})
'''

_UNSET = {"provider": "auto", "model": "", "url": "", "key": ""}
_OPTIONS = "# The settings of all assistants in this game; docs/settings.md says what else can stand here.\n"


def write_settings(folder: GameFolder, ports: Ports) -> None:
    """Put our lines at the end of the game's settings, replacing those written before."""
    theirs, _, _ = folder.settings.read_text(encoding="utf-8").partition(_BEGIN)
    ours = _SETTINGS.format(
        begin=_BEGIN,
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
