"""Afterwards nothing of ours is in the game's database."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.apps import apps
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.utils import create

from mud_assistant.assistant.worlds.evennia import accounts, creation, server
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.assistant.worlds.evennia.commands.making import SETTINGS_LINE, uninstall
from mud_assistant.assistant.worlds.evennia.stored import keep_game_overrides
from tests.evennia.opened import opened

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


async def test_nothing_of_ours_is_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        anna = village.player("Anna")
        before = everything()
        accounts.open_account(creation.create_assistant("Sage", village.hall))
        creation.create_assistant("Iris", village.garden, start=False)
        create.create_object(AssistantCharacter, key="A shell", location=village.hall)
        keep_game_overrides({"budget": {"total": {"calls": 100}}})
        said = await uninstall()
        assert "2 assistants and 1 other object of" in said
        assert SETTINGS_LINE in said
        assert str(tmp_path / "server/assistants.sqlite3") in said
        assert server.service().runners == {}
        assert everything() == before
        assert anna.character.location == village.hall


def everything() -> dict[str, set[str]]:
    """What the game's database holds, without tags and settings that Evennia itself keeps for later use."""
    found = {
        model.__name__: {f"{thing.pk} {thing.db_typeclass_path}" for thing in model.objects.all()}
        for model in (ObjectDB, ScriptDB, AccountDB)
    }
    found["conf"] = {name for name in ServerConfig.objects.values_list("db_key", flat=True) if "assistant" in name}
    found["left"] = {
        f"{model.__name__} {row}"
        for model in apps.get_models()
        for row in model.objects.all().values_list()
        if "mud_assistant.assistant.worlds" in str(row)
    }
    return found
