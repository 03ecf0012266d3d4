"""Puts assistants into a game, with one line at the end of its settings.

    from mud_assistant.assistant.worlds.evennia.install import install; install(globals())

Imports neither Django nor Evennia, nor anything of ours that a package of the same name could hide.
docs/evennia.md has the same as plain settings, for owners who would rather write them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mud_assistant.assistant.errors import AssistantError

#: The package as Django knows it; it has no models, so there is nothing to migrate.
APP = "mud_assistant.assistant.worlds.evennia"
HOOKS = f"{APP}.hooks"
PLUGIN = f"{APP}.plugin"
CMDSET = f"{APP}.cmdsets.AccountCmdSet"
#: Relative to the game's folder: the settings of all assistants, which need not exist, and the journal.
CONFIG = "server/conf/assistant.toml"
JOURNAL = "server/assistants.sqlite3"
#: Hides the text after `assistant/key NAME =` and `assistant/web key NAME =` from Evennia's own contrib that writes
#: all input to a log.
AUDIT_MASK = {"assistant": r"^[@\s]*assistant(?:/\w+)*/(?:k\w*|w\w*\s+k\w*)\s[^=]*=\s*(?P<secret>[\w.:/~-]+)"}

#: Names by which a game's settings are told from any other module.
_NEEDED = ("INSTALLED_APPS", "AT_SERVER_STARTSTOP_MODULE", "SERVER_SERVICES_PLUGIN_MODULES", "CMDSET_ACCOUNT")


class InstallError(AssistantError, ValueError):
    """The line stands where it cannot work; the message says where it belongs."""


def install(
    settings: dict[str, Any], *, config: str = CONFIG, journal: str = JOURNAL, tools: Iterable[Any] = ()
) -> None:
    """Add what assistants need to a game's settings; a second call changes nothing.

    `config` and `journal` are paths relative to the game's folder. `tools` are those of the game's own: names of
    modules, such as "world.ai_tools", which the Server imports when it starts, or Tools. Raises InstallError when
    `settings` are no game's.
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
    settings["MUD_ASSISTANT_TOOLS"] = (tools,) if isinstance(tools, str) else tuple(tools)
    _take_over_commands(settings)


def _take_over_commands(settings: dict[str, Any]) -> None:
    """Give accounts our commands beside the game's, whose own set is stored under a name of ours."""
    own = settings["CMDSET_ACCOUNT"]
    if own == CMDSET:
        return
    fallbacks = dict(settings.get("CMDSET_FALLBACKS", {}))
    # Our set is made from the game's own: when it cannot be loaded, most often the game's own cannot either.
    fallbacks[CMDSET] = fallbacks.get(own, own)
    settings.update(CMDSET_ACCOUNT=CMDSET, CMDSET_FALLBACKS=fallbacks, MUD_ASSISTANT_CMDSET_ACCOUNT=own)


def _with(given: str | Iterable[Any], wanted: Any) -> list[Any]:
    """Return what was given as a list that also holds `wanted`; the list given may be a default and is not changed."""
    there: Sequence[Any] = [given] if isinstance(given, str) else [*given]
    return [*there] if wanted in there else [*there, wanted]
