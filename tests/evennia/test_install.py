"""The line in a game's settings: what it sets, and that it needs nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.worlds.evennia.install import APP, AUDIT_MASK, CMDSET, HOOKS, PLUGIN, InstallError, install

STOCK: dict[str, Any] = {
    "INSTALLED_APPS": ["evennia.objects"],
    "AT_SERVER_STARTSTOP_MODULE": "server.conf.at_server_startstop",
    "SERVER_SERVICES_PLUGIN_MODULES": ["server.conf.server_services_plugins"],
    "CMDSET_ACCOUNT": "commands.default_cmdsets.AccountCmdSet",
    "CMDSET_FALLBACKS": {"commands.default_cmdsets.AccountCmdSet": "evennia.AccountCmdSet"},
    "TYPECLASS_PATHS": ["typeclasses"],
}


def test_it_adds_to_what_the_game_has() -> None:
    settings = dict(STOCK)
    install(settings)
    assert settings["INSTALLED_APPS"] == ["evennia.objects", APP]
    assert settings["AT_SERVER_STARTSTOP_MODULE"] == ["server.conf.at_server_startstop", HOOKS]
    assert settings["SERVER_SERVICES_PLUGIN_MODULES"] == ["server.conf.server_services_plugins", PLUGIN]
    assert settings["TYPECLASS_PATHS"] == ["typeclasses", APP]
    assert settings["CMDSET_ACCOUNT"] == CMDSET
    assert settings["MUD_ASSISTANT_CMDSET_ACCOUNT"] == "commands.default_cmdsets.AccountCmdSet"
    assert settings["CMDSET_FALLBACKS"][CMDSET] == "evennia.AccountCmdSet"


def test_twice_is_as_good_as_once() -> None:
    once, twice = dict(STOCK), dict(STOCK)
    install(once)
    install(twice)
    install(twice)
    assert once == twice


def test_lists_of_the_game_are_not_changed_in_place() -> None:
    settings = {**STOCK, "INSTALLED_APPS": ("evennia.objects",)}
    install(settings)
    assert STOCK["INSTALLED_APPS"] == ["evennia.objects"]
    assert STOCK["SERVER_SERVICES_PLUGIN_MODULES"] == ["server.conf.server_services_plugins"]
    assert list(STOCK["CMDSET_FALLBACKS"]) == ["commands.default_cmdsets.AccountCmdSet"]
    assert settings["INSTALLED_APPS"] == ["evennia.objects", APP]


def test_the_files_can_be_chosen() -> None:
    settings = dict(STOCK)
    install(settings, config="server/conf/ai.toml", journal="/var/lib/game/ai.sqlite3")
    assert settings["MUD_ASSISTANT_CONFIG"] == "server/conf/ai.toml"
    assert settings["MUD_ASSISTANT_JOURNAL"] == "/var/lib/game/ai.sqlite3"


def test_tools_of_the_games_own_are_noted_and_not_imported() -> None:
    for given in (["world.ai_tools"], ("world.ai_tools",), "world.ai_tools"):
        settings = dict(STOCK)
        install(settings, tools=given)
        assert settings["MUD_ASSISTANT_TOOLS"] == ("world.ai_tools",)


def test_in_the_wrong_place_it_says_where_it_belongs() -> None:
    with pytest.raises(InstallError, match=r"for the end of a game's server/conf/settings\.py"):
        install({"INSTALLED_APPS": []})


def test_it_imports_neither_django_nor_evennia_nor_any_other_of_our_packages() -> None:
    code = (
        "import sys; from mud_assistant.assistant.worlds.evennia.install import install; "
        "bad = {'django', 'evennia', 'twisted', 'pydantic', 'mud_assistant.llm'} & set(sys.modules); "
        "bad |= {'mud_assistant.tools', 'mud_assistant.resilience'} & set(sys.modules); "
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("typed", "hidden"),
    [
        ("assistant/key Sage = sk-not-a-real-key", "sk-not-a-real-key"),
        ("@assistant/key Old Sage=env:SAGE_KEY", "env:SAGE_KEY"),
        ("assistant/k Sage = file:/keys/sage", "file:/keys/sage"),
    ],
)
def test_what_is_typed_as_a_key_is_masked_in_evennias_audit(typed: str, hidden: str) -> None:
    found = re.match(AUDIT_MASK["assistant"], typed, flags=re.IGNORECASE)
    assert found is not None
    assert found.group("secret") == hidden


def test_other_commands_are_not_masked() -> None:
    assert re.match(AUDIT_MASK["assistant"], "assistant/persona Sage = old", flags=re.IGNORECASE) is None
