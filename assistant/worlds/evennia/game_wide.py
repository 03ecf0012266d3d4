"""Settings of the whole game that were made in the game, such as its budget: plain tables laid over `assistant.toml`.

They are kept in the game's database, as one value of Evennia's ServerConfig; a key is never among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from evennia.server.models import ServerConfig

#: Under which name they are kept.
KEY = "mud_assistant_settings"


def game_overrides() -> dict[str, Any]:
    """The tables as they were last kept."""
    kept = ServerConfig.objects.conf(KEY)
    return deepcopy(dict(kept)) if isinstance(kept, Mapping) else {}


def keep_game_overrides(overrides: Mapping[str, Any]) -> None:
    """Keep these tables in place of those before; without any, nothing of ours stays in the database."""
    if overrides:
        ServerConfig.objects.conf(KEY, deepcopy(dict(overrides)))
    else:
        ServerConfig.objects.conf(KEY, delete=True)
