"""Checks the game itself for the in-game doctor; the service checks model, key and journal.

The SQLite pragmas of the game's own database are among it: Evennia 6 sets them at start and then loses them.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db import connection

from mud_assistant.assistant.checks.doctor import judge_own_tools
from mud_assistant.assistant.checks.finding import Finding, FindingState
from mud_assistant.assistant.errors import ServiceNotRunning
from mud_assistant.assistant.http_server.addresses import is_loopback
from mud_assistant.assistant.models.chosen import how_counted
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.troubles import EVERYBODY
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.console import web_address

#: The settings that say where the game listens, each with the setting that must be on for it to do so.
_INTERFACES = {
    "TELNET_INTERFACES": "TELNET_ENABLED",
    "SSL_INTERFACES": "SSL_ENABLED",
    "SSH_INTERFACES": "SSH_ENABLED",
    "WEBSERVER_INTERFACES": "WEBSERVER_ENABLED",
    "WEBSOCKET_CLIENT_INTERFACE": "WEBSOCKET_CLIENT_ENABLED",
    "AMP_INTERFACE": "",
}
DATABASE = "the game's database"
#: `PRAGMA synchronous` from FULL on: every small change of the game waits for the disk.
_FULL = 2
_LEVELS = ("off", "normal", "full", "extra")
#: The line to put at the end of server/conf/settings.py.
PRAGMAS_CURE = (
    'DATABASES["default"]["OPTIONS"] = '
    '{"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA temp_store=2"}'
)


async def findings() -> list[Finding]:
    """Check the service, settings, own tools, the reactor, the game's database, ports, the page."""
    own = judge_own_tools(server.service().config.own_tools) if server.is_open() else ()
    page = web_address.page_findings()
    return [service_in_use(), *own, reactor_in_use(), pragmas_in_force(), *ports(), *page]


def counters(runner: AssistantRunner) -> Iterable[Finding]:
    """Report how the tokens of a running assistant's models are counted, and how far off that has been."""
    for chosen in runner.models:
        said = f"those of {chosen.provider.model} are {how_counted(chosen.provider)}"
        yield Finding("tokens", FindingState.OK, said)


def service_in_use() -> Finding:
    """Check whether assistants can live at all."""
    try:
        trouble = server.service().trouble or "; ".join(one.sentence for one in server.service().troubles.of(EVERYBODY))
    except ServiceNotRunning as error:
        trouble = str(error)
    said = trouble or f"open; what the assistants remember is in {server.service().config.journal_place}"
    return Finding("service", FindingState.WRONG if trouble else FindingState.OK, said)


def reactor_in_use() -> Finding:
    """Check whether Evennia works on the reactor in use."""
    from twisted.internet import reactor  # noqa: TID251  (only its class is looked at)

    name = type(reactor).__name__
    if name == "AsyncioSelectorReactor":
        return Finding(
            "reactor", FindingState.WRONG, "Evennia does not work on asyncio's reactor: start it without --reactor"
        )
    return Finding("reactor", FindingState.OK, name)


def ports() -> Iterable[Finding]:
    """Report each kind of port that other machines can reach, as they can with Evennia's default settings."""
    for name, switch in _INTERFACES.items():
        given = getattr(settings, name, ())
        open_to = [at for at in ([given] if isinstance(given, str) else given) if not is_loopback(at)]
        if open_to and (not switch or getattr(settings, switch, False)):
            said = f"{name} lets other machines in ({', '.join(open_to)}); for this one alone, set it to 127.0.0.1"
            yield Finding("ports", FindingState.UNKNOWN if name != "AMP_INTERFACE" else FindingState.WRONG, said)


def pragmas_in_force() -> Finding:
    """Check whether the pragmas in force suit a game. Asks the connection of the calling thread."""
    if connection.vendor != "sqlite":
        return Finding(DATABASE, FindingState.OK, f"it is {connection.vendor}, which has no pragmas to lose")
    return judge_pragmas(_ask("journal_mode"), int(_ask("synchronous")))


def judge_pragmas(mode: str, level: int) -> Finding:
    """Make the finding for these pragmas; `level` is SQLite's number for `synchronous`."""
    in_force = f"journal_mode={mode} and synchronous={_LEVELS[level]}"
    if level >= _FULL:
        return Finding(
            DATABASE,
            FindingState.WRONG,
            f"{in_force} are in force{_lost()}, so each change of an object holds the whole game up for 5 to 14 ms "
            f"instead of 1; put this line at the end of server/conf/settings.py and restart the game: {PRAGMAS_CURE}",
        )
    return Finding(DATABASE, FindingState.OK, f"{in_force} are in force")


def _lost() -> str:
    """Say what the game's settings ask for instead; empty when they ask for nothing."""
    wanted = [pragma for pragma in settings.SQLITE3_PRAGMAS if "synchronous" in pragma]
    return f" although the game's settings ask for '{wanted[0]}'" if wanted else ""


def _ask(pragma: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {pragma}")
        return str(cursor.fetchone()[0])
