"""A game made with version 2e5e86e goes on: its database, the files that were written for it, and its settings."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core import serializers
from django.test import override_settings
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.typeclasses.attributes import Attribute
from evennia.utils.idmapper.models import flush_cache
from evennia.utils.picklefield import dbsafe_decode
from evennia.utils.utils import class_from_module

from mud_assistant.assistant.worlds.evennia import accounts, creation, server
from mud_assistant.assistant.worlds.evennia.accounts import AssistantAccount
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.assistant.worlds.evennia.cmdsets import AccountCmdSet
from mud_assistant.assistant.worlds.evennia.install import install
from mud_assistant.assistant.worlds.evennia.scripts import AssistantScript
from mud_assistant.assistant.worlds.evennia.stored import game_overrides
from tests.evennia.opened import opened, turns
from tests.evennia.test_install import STOCK
from tests.evennia.village import Village

#: The rows of Sage, who lives and has an account, of Iris, who is switched off, and of Anna, who plays. Their numbers
#: were raised by 9000: Evennia keeps some objects of other tests in memory by their numbers.
OLD_GAME = Path(__file__).with_name("game_of_2e5e86e.json")
#: What stands in the database of a game.
TYPECLASSES = {
    "assistant.worlds.evennia.scripts.AssistantScript": AssistantScript,
    "assistant.worlds.evennia.characters.AssistantCharacter": AssistantCharacter,
    "assistant.worlds.evennia.accounts.AssistantAccount": AssistantAccount,
    "assistant.worlds.evennia.cmdsets.AccountCmdSet": AccountCmdSet,
}
#: What docs/evennia.md tells owners to put into their settings and code, and what `mud-assistant game` writes.
NAMES = [
    ("assistant.worlds.evennia.apps", "MudAssistantConfig"),
    ("assistant.worlds.evennia.commands", "all_commands"),
    ("assistant.worlds.evennia.creation", "create_assistant"),
    ("assistant.worlds.evennia.demo", "build_demo"),
    ("assistant.worlds.evennia.hooks", "at_server_start"),
    ("assistant.worlds.evennia.install", "install"),
    ("assistant.worlds.evennia.plugin", "start_plugin_services"),
]
#: `server/conf/at_initial_setup.py` as version 2e5e86e wrote it.
FIRST_ROOM = '''"""Run once, when the Server starts for the first time: a hamlet, and who lives in its library."""

from assistant.worlds.evennia.demo import build_demo


def at_initial_setup():
    build_demo('Sage')
'''
#: The end of `server/conf/settings.py`, as the same version wrote it.
SETTINGS = """
SERVERNAME = "Sage's hamlet"
# The line that every game with assistants has.
from assistant.worlds.evennia.install import install; install(globals())
"""


def load_old_game() -> None:
    """Put the rows of the old game into the database as they are, past all hooks that run when an object is made."""
    for row in serializers.deserialize("json", OLD_GAME.read_text()):
        made = row.object
        if isinstance(made, Attribute | ServerConfig):
            made.db_value = dbsafe_decode(made.db_value)  # Django leaves a pickle as text
        made._meta.concrete_model._base_manager.bulk_create([made])
        for field, numbers in (row.m2m_data or {}).items():
            getattr(made, field).set(numbers)
    flush_cache()


def path_of(typeclass: type) -> str:
    return f"{typeclass.__module__}.{typeclass.__name__}"


@pytest.mark.parametrize(("path", "typeclass"), TYPECLASSES.items())
def test_what_the_database_names_is_still_there(path: str, typeclass: type) -> None:
    assert class_from_module(path) is typeclass
    assert path_of(typeclass) == f"mud_assistant.{path}"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_what_the_files_of_a_game_import_is_still_there(module: str, name: str) -> None:
    assert callable(getattr(import_module(module), name))


@pytest.mark.usefixtures("db", "reactor_baseline")
async def test_the_assistants_of_an_old_database_live_on(tmp_path: Path) -> None:
    load_old_game()
    async with opened(tmp_path):
        ScriptDB.objects.update_scripts_after_server_start()
        await turns()
        sage, iris = creation.assistants()
        assert (type(sage), sage.key, iris.key) == (AssistantCharacter, "Sage", "Iris")
        assert sage.db_typeclass_path == path_of(AssistantCharacter)
        runner = server.runner_of(sage)
        assert runner is not None
        assert (runner.config.assistant.persona, runner.config.assistant.tools) == ("An old scholar.", ("say", "look"))
        assert creation.is_off(iris)
        assert server.runner_of(iris) is None
        account = accounts.account_of(sage)
        assert account is not None
        assert account.is_connected
        assert account.runner is runner
        assert game_overrides() == {"budget": {"player_per_minute": 7}}
        anna = AccountDB.objects.get(username="Anna")
        anna.cmdset.update(init_mode=True)
        assert anna.cmdset_storage == [path_of(AccountCmdSet)]
        assert any("assistant" in {command.key for command in one} for one in anna.cmdset.all())


@pytest.mark.usefixtures("db", "reactor_baseline")
async def test_the_first_room_of_an_old_game_is_built(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        written: Any = ModuleType("at_initial_setup")
        exec(FIRST_ROOM, vars(written))  # noqa: S102  (it is what was written)
        with override_settings(START_LOCATION=f"#{village.hall.pk}"):
            written.at_initial_setup()
        await turns()
        (sage,) = creation.assistants()
        assert (sage.key, sage.location.key) == ("Sage", "The Old Library")
        assert server.runner_of(sage) is not None
        assert ObjectDB.objects.filter(db_key="Mira").count() == 1


def test_old_settings_name_only_what_is_there() -> None:
    settings = dict(STOCK)
    exec(SETTINGS, settings)  # noqa: S102  (it is what was written)
    added = {one for name in STOCK if isinstance(settings[name], list) for one in settings[name]}
    ours = sorted(path for path in added if "assistant" in path)
    assert ours == [f"mud_assistant.assistant.worlds.evennia{part}" for part in ("", ".hooks", ".plugin")]
    assert all(import_module(path) for path in ours)
    assert class_from_module(settings["CMDSET_ACCOUNT"]) is AccountCmdSet
    assert list(settings["CMDSET_FALLBACKS"]) == [*STOCK["CMDSET_FALLBACKS"], settings["CMDSET_ACCOUNT"]]
    once = dict(settings)
    install(settings)
    assert settings == once


@pytest.mark.usefixtures("db")
def test_a_command_set_filled_by_hand_has_our_commands() -> None:
    written: dict[str, Any] = {}
    exec("from assistant.worlds.evennia.commands import all_commands\nmade = all_commands()", written)  # noqa: S102
    anna = Village().player("Anna")
    for command in written["made"]:
        anna.account.cmdset.current.add(command())
    assert {"assistant", "mute"} <= {command.key for command in anna.account.cmdset.current}
