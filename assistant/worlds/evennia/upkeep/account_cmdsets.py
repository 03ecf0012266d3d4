"""Gives every account our commands, and takes them back: the sets that the game's database stores for each account."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from evennia.accounts.models import AccountDB
from evennia.server.models import ServerConfig

from assistant.worlds.evennia.install import CMDSET

#: Under this name Evennia stores which set accounts had at the last start.
_KNOWN = "CMDSET_ACCOUNT"


def game_cmdset() -> str:
    """Return the path of the set that accounts have without our commands."""
    return str(getattr(settings, "MUD_ASSISTANT_CMDSET_ACCOUNT", settings.CMDSET_ACCOUNT))


def give_to_all() -> None:
    """Give our set also to accounts with further sets: Evennia itself changes only those with just the game's own."""
    _replace(game_cmdset(), CMDSET)


def take_from_all() -> None:
    """Give every account the game's own set back, as if ours had never been there.

    While our line is still in the settings, the next start gives our set out again.
    """
    _replace(CMDSET, game_cmdset())
    ServerConfig.objects.conf(_KNOWN, game_cmdset())


def _replace(old: str, new: str) -> None:
    """Replace one set by another in each account's list, at the same place."""
    for account in _holders(old):
        paths = [new if path == old else path for path in account.cmdset_storage]
        account.cmdset_storage = paths
        account.cmdset.update(init_mode=True)


def _holders(path: str) -> list[Any]:
    return [
        account
        for account in AccountDB.objects.filter(db_cmdset_storage__contains=path)
        if path in account.cmdset_storage
    ]
