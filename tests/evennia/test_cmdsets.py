"""The commands reach every account, beside those of the game, and leave as if they had never been there."""

from __future__ import annotations

import pytest
from evennia.server.models import ServerConfig

from mud_assistant.assistant.worlds.evennia import cmdsets, stored
from mud_assistant.assistant.worlds.evennia.install import CMDSET
from tests.evennia.village import Village

pytestmark = pytest.mark.usefixtures("db")
OWN = "commands.default_cmdsets.AccountCmdSet"


def test_the_set_has_the_games_commands_and_ours() -> None:
    keys = {command.key for command in cmdsets.AccountCmdSet().commands}
    assert {"ic", "ooc", "@channel"} <= keys
    assert {"assistant", "assistants", "mute"} <= keys


def test_accounts_that_have_more_than_the_usual_set_are_reached_and_left_again() -> None:
    account = Village().player("Anna").account
    account.cmdset_storage = [OWN, "some.other.Set"]
    stored.give_commands_to_all()
    assert account.cmdset_storage == [CMDSET, "some.other.Set"]
    stored.give_commands_to_all()
    assert account.cmdset_storage == [CMDSET, "some.other.Set"]
    stored.take_commands_from_all()
    assert account.cmdset_storage == [OWN, "some.other.Set"]
    assert ServerConfig.objects.conf("CMDSET_ACCOUNT") == OWN
