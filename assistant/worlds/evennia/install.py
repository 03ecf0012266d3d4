"""One line at the end of a game's settings puts assistants into the game.

    from assistant.worlds.evennia.install import install; install(globals())

Imports neither Django nor Evennia, nor anything of ours that could be hidden by a package of the same name.
docs/evennia.md has the same as plain settings, for those who would rather write them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

#: The package as Django knows it; it has no models, so there is nothing to migrate.
APP = "assistant.worlds.evennia"
HOOKS = f"{APP}.hooks"
PLUGIN = f"{APP}.plugin"
CMDSET = f"{APP}.cmdsets.AccountCmdSet"
#: From the game's folder: the settings of all assistants, which need not be there, and what the assistants remember.
CONFIG = "server/conf/assistant.toml"
JOURNAL = "server/assistants.sqlite3"
#: Hides what follows `assistant/key NAME =` and `assistant/web key NAME =` from Evennia's own contrib that writes all
#: input to a log.
AUDIT_MASK = {"assistant": r"^[@\s]*assistant(?:/\w+)*/(?:k\w*|w\w*\s+k\w*)\s[^=]*=\s*(?P<secret>[\w.:/~-]+)"}

#: What a game's settings have, told from any other module's names.
_NEEDED = ("INSTALLED_APPS", "AT_SERVER_STARTSTOP_MODULE", "SERVER_SERVICES_PLUGIN_MODULES", "CMDSET_ACCOUNT")


class InstallError(ValueError):
    """The line stands where it cannot work; the message says where it belongs."""


def install(settings: dict[str, Any], *, config: str = CONFIG, journal: str = JOURNAL) -> None:
    """Add what assistants need to a game's settings; doing it twice changes nothing more.

    `config` and `journal` are files, from the game's folder. Raises InstallError when these are no game's settings.
    """
    if missing := [name for name in _NEEDED if name not in settings]:
        raise InstallError(
            f"install(globals()) is for the end of a game's server/conf/settings.py: there is no {missing[0]} yet"
        )
    settings["INSTALLED_APPS"] = _with(settings["INSTALLED_APPS"], APP)
    settings["AT_SERVER_STARTSTOP_MODULE"] = _with(settings["AT_SERVER_STARTSTOP_MODULE"], HOOKS)
    settings["SERVER_SERVICES_PLUGIN_MODULES"] = _with(settings["SERVER_SERVICES_PLUGIN_MODULES"], PLUGIN)
    settings["TYPECLASS_PATHS"] = _with(settings.get("TYPECLASS_PATHS", ()), APP)
    settings["AUDIT_MASKS"] = _with(settings.get("AUDIT_MASKS", ()), AUDIT_MASK)
    settings["MUD_ASSISTANT_CONFIG"] = config
    settings["MUD_ASSISTANT_JOURNAL"] = journal
    _take_over_commands(settings)


def _take_over_commands(settings: dict[str, Any]) -> None:
    """Let accounts have our commands beside those of the game, whose own set is kept under a name of ours."""
    own = settings["CMDSET_ACCOUNT"]
    if own == CMDSET:
        return
    fallbacks = dict(settings.get("CMDSET_FALLBACKS", {}))
    # When ours cannot be loaded, it is most often because the game's own cannot, which it is made from.
    fallbacks[CMDSET] = fallbacks.get(own, own)
    settings.update(CMDSET_ACCOUNT=CMDSET, CMDSET_FALLBACKS=fallbacks, MUD_ASSISTANT_CMDSET_ACCOUNT=own)


def _with(given: str | Iterable[Any], wanted: Any) -> list[Any]:
    """What was given, as a list that holds `wanted`; the list given may be the game's defaults and is left alone."""
    there: Sequence[Any] = [given] if isinstance(given, str) else [*given]
    return [*there] if wanted in there else [*there, wanted]
