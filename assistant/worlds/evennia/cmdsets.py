"""The commands of every account: the game's own set with ours added."""

from __future__ import annotations

from django.conf import settings
from evennia.utils.utils import class_from_module
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from mud_assistant.assistant.worlds.evennia.stored import game_cmdset

_log = Logger()


class AccountCmdSet(class_from_module(game_cmdset(), settings.CMDSET_PATHS)):  # type: ignore[misc]  # no types
    """The game's own set with our commands added."""

    def at_cmdset_creation(self) -> None:
        """Fill the set. After a fault of ours the game still has its own commands."""
        super().at_cmdset_creation()
        try:
            from mud_assistant.assistant.worlds.evennia.commands import all_commands  # a fault in it is caught here

            for command in all_commands():
                self.add(command)
        except CancelledError:
            raise
        except Exception:  # noqa: BLE001  (the border: an account without commands could not even leave)
            _log.failure("the commands of mud-assistant cannot be used")
