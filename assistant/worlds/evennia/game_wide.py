"""Settings of the whole game that were made in the game, such as its budget: plain tables laid over `assistant.toml`.

They are kept in the game's database, as one value of Evennia's ServerConfig; a key is never among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from evennia.server.models import ServerConfig
from evennia.utils.dbserialize import deserialize

#: Under which name they are kept.
KEY = "mud_assistant_settings"
#: Under which name it is kept who was told of which trouble.
KEPT_ALERTS = "mud_assistant_alerts"
#: Under which name the search providers are kept that were in use when the web was switched off.
KEPT_SEARCH = "mud_assistant_search_before"


def game_overrides() -> dict[str, Any]:
    """The tables as they were last kept."""
    kept = kept_as(KEY)
    return dict(kept) if isinstance(kept, Mapping) else {}


def kept_as(key: str) -> Any:
    """Return what is kept under a name as plain lists and tables, None for nothing."""
    return deserialize(ServerConfig.objects.conf(key))


def keep_game_overrides(overrides: Mapping[str, Any]) -> None:
    """Keep these tables in place of those before; without any, nothing of ours stays in the database."""
    if overrides:
        ServerConfig.objects.conf(KEY, deepcopy(dict(overrides)))
    else:
        ServerConfig.objects.conf(KEY, delete=True)


def last_search_providers() -> list[str]:
    """Return the search providers that were in use when the web was switched off, none when it never was."""
    kept = kept_as(KEPT_SEARCH)
    return [str(name) for name in kept] if isinstance(kept, list) else []


def keep_last_search_providers(names: list[str]) -> None:
    """Keep the search providers in use for when the web is switched on again."""
    ServerConfig.objects.conf(KEPT_SEARCH, names)


def forget_all() -> None:
    """Leave nothing of ours in the game's database that belongs to no object."""
    for key in (KEY, KEPT_ALERTS, KEPT_SEARCH):
        if ServerConfig.objects.conf(key) is not None:
            ServerConfig.objects.conf(key, delete=True)
