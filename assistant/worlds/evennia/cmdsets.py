"""The commands of every account: the game's own set with ours added."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from evennia.accounts.models import AccountDB
from evennia.server.models import ServerConfig
from evennia.utils.utils import class_from_module
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from assistant.worlds.evennia.install import CMDSET

#: Under this name Evennia stores which set accounts had at the last start.
_KNOWN = "CMDSET_ACCOUNT"

_log = Logger()


def game_cmdset() -> str:
    """Return the path of the set that accounts have without our commands."""
    return str(getattr(settings, "MUD_ASSISTANT_CMDSET_ACCOUNT", settings.CMDSET_ACCOUNT))


class AccountCmdSet(class_from_module(game_cmdset(), settings.CMDSET_PATHS)):  # type: ignore[misc]  # no types
    """The game's own set with our commands added."""

    def at_cmdset_creation(self) -> None:
        """Fill the set. After a fault of ours the game still has its own commands."""
        super().at_cmdset_creation()
        try:
            from assistant.worlds.evennia.commands import all_commands  # noqa: PLC0415  (a fault in it is caught here)

            for command in all_commands():
                self.add(command)
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  (the border: an account without commands could not even leave)
            _log.failure("the commands of mud-assistant cannot be used")


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
