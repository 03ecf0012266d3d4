"""The service that all assistants of the Server process share: open while the Server runs. The composition root."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from django.conf import settings
from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger, globalLogPublisher

from mud_assistant.assistant.characters import FOLDER
from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.config.sections import WebConfig
from mud_assistant.assistant.config.settings import SettingsError, read_settings
from mud_assistant.assistant.errors import ServiceNotRunning
from mud_assistant.assistant.journal import JournalError
from mud_assistant.assistant.keys import log as log_redaction
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.own_tools import load_tools
from mud_assistant.assistant.service.host import ServiceConfig
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.starting import settle_heap
from mud_assistant.assistant.telemetry import watch_service
from mud_assistant.assistant.worlds.evennia.install import CONFIG, JOURNAL

#: The keys of this process. They stay hidden after the service is closed, for the last lines of the log.
SECRETS = Secrets()
#: How long after the start all assistants of the game are awake, in seconds.
AWAKE_SECONDS = 30.0
_NOT_YET = (
    "the service of the assistants is not running: the Server is starting or stopping, or its plugin is not installed"
)

_log = Logger()


class _Running:
    """The service of the process, or why there is none."""

    service: AssistantService | None = None
    settling: IDelayedCall | None = None
    why_not: str = _NOT_YET


def service() -> AssistantService:
    """Return the service of this process. Raises ServiceNotRunning."""
    if _Running.service is None:
        raise ServiceNotRunning(_Running.why_not)
    return _Running.service


def is_open() -> bool:
    """Tell whether there is a service."""
    return _Running.service is not None


def runner_of(character: Any) -> AssistantRunner | None:
    """Return the assistant that lives in this character now, or None."""
    return _Running.service.runners.get(id_of(character)) if _Running.service is not None else None


def id_of(character: Any) -> str:
    """Return the id of this character's assistant. Its memory is stored under the id, whatever its name."""
    return f"assistant:{character.pk}"


def open_service() -> None:
    """Read the game-wide settings and open the service. Returns at once.

    Raises nothing, so that the game starts in any case.
    """
    from twisted.internet import reactor  # noqa: TID251  (the composition root; a test may have chosen it late)

    if _Running.service is not None:
        return
    hide_keys()
    try:
        from mud_assistant.assistant.worlds.evennia.stored import rename_paths  # needs the game's database

        rename_paths()
        home = read_service_config()
        opened = AssistantService(reactor, home, Random())  # noqa: S311  (jitter)
        opened.open()
        watch_service(opened)
        if home.settings.gateway.enabled:
            open_gateway(opened)
    except SettingsError as error:
        _Running.why_not = f"{error}; mend it, then reload the game"
        _log.error("no assistant can live: {why}", why=_Running.why_not)
    except CancelledError:
        raise
    except Exception as error:  # noqa: BLE001  (the border: a fault of ours must not keep the game from starting)
        _Running.why_not = f"a fault of mud-assistant ({type(error).__name__}), told in the server's log"
        _log.failure("no assistant can live")
    else:
        _Running.service = opened
        _Running.settling = opened.clock.callLater(AWAKE_SECONDS, settle_heap)


def open_gateway(opened: AssistantService) -> None:
    """Open the gateway once the journal is open. The log says where it is, or why there is none."""

    async def work() -> None:
        from mud_assistant.assistant.gateway.running import GatewayNotOpened, RunningGateway  # most games have none

        with suppress(JournalError):  # the log has it
            await opened.parts.opened()
        gateway = RunningGateway(opened, opened.config.settings.gateway)
        try:
            await gateway.open()
        except GatewayNotOpened as error:
            _log.error("there is no gateway: {why}", why=str(error))
            await gateway.close()

    opened.launch(work(), "opening the gateway")


async def close_service() -> None:
    """Stop all assistants and close the service, within half a second. No assistant can start once this is called."""
    closing, _Running.service, _Running.why_not = _Running.service, None, _NOT_YET
    if _Running.settling is not None and _Running.settling.active():
        _Running.settling.cancel()
    if closing is not None:
        await closing.close()


def soon(work: Callable[[], object]) -> None:
    """Do something in the next turn of the reactor, if there is a service then."""

    def do() -> None:
        if is_open():
            work()

    if is_open():
        service().clock.callLater(0, do)


def hide_keys() -> None:
    """Let no key reach the log of the server. Call it again for observers added since."""
    log_redaction.install(globalLogPublisher, SECRETS)


def read_service_config() -> ServiceConfig:
    """Return what the service is made from. Raises SettingsError. Blocks for one small file: for the start only.

    The game's own tools are imported here, on the thread of a reactor that does not run yet.
    """
    path = config_path()
    config = read_settings(path, {}) if path.exists() else Config()
    wall = time.time  # noqa: TID251  (the composition root)
    web, characters = _web_of_the_game(config), Path(settings.GAME_DIR) / FOLDER
    own_tools = load_tools((*config.tools.modules, *getattr(settings, "MUD_ASSISTANT_TOOLS", ())))
    for problem in own_tools.problems:
        _log.error("{problem}", problem=problem)
    journal = journal_path(config)
    return ServiceConfig(config, path.parent, os.environ, wall, SECRETS, journal, web, characters, own_tools=own_tools)


def _web_of_the_game(config: Config) -> WebConfig | None:
    """Return the settings of the web with the changes made in the game. A clash is logged, and None returned."""
    from mud_assistant.assistant.worlds.evennia.stored import game_overrides  # needs the game's database

    changed = {"web": game_overrides().get("web", {})}
    try:
        return merged(config.model_dump(exclude_unset=True), changed).web
    except SettingsError as error:
        _log.error("the web is as assistant.toml has it, and not as set in the game: {why}", why=str(error))
        return None


def config_path() -> Path:
    """Return the path of the game-wide settings; the file need not exist."""
    return Path(settings.GAME_DIR) / getattr(settings, "MUD_ASSISTANT_CONFIG", CONFIG)


def journal_path(config: Config) -> Path | None:
    """Return the path of the journal: that of the game-wide settings, else that of the installation.

    None when the settings name a database in its place.
    """
    if config.journal.url:
        return None
    if config.journal.file:
        return config_path().parent / config.journal.file
    return Path(settings.GAME_DIR) / getattr(settings, "MUD_ASSISTANT_JOURNAL", JOURNAL)
