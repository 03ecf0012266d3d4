"""The installation in a real game: taken out again, written out by hand, hidden by a package of the game's own."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from tests.evennia.live.game import INSTALL_LINE, copied, running
from tests.evennia.live.test_reload_and_kill import BACK

#: Whole games start and stop here: half a minute for each.
pytestmark = pytest.mark.slow

#: What docs/evennia.md gives for those who would rather write the settings out.
BY_HAND = """
INSTALLED_APPS = [*INSTALLED_APPS, "mud_assistant.assistant.worlds.evennia"]
AT_SERVER_STARTSTOP_MODULE = ["server.conf.at_server_startstop", "mud_assistant.assistant.worlds.evennia.hooks"]
SERVER_SERVICES_PLUGIN_MODULES = [*SERVER_SERVICES_PLUGIN_MODULES, "mud_assistant.assistant.worlds.evennia.plugin"]
TYPECLASS_PATHS = [*TYPECLASS_PATHS, "mud_assistant.assistant.worlds.evennia"]
"""
COMMANDS_BY_HAND = """
        from mud_assistant.assistant.worlds.evennia.commands import all_commands

        for command in all_commands():
            self.add(command)
"""
EVENNIA = int(version("evennia").partition(".")[0])
#: What our commands are, and what an account has of the game's own.
CMDSET = "self.account.db_cmdset_storage"
LEFT = (
    "[str(row) for model in __import__('django.apps').apps.apps.get_models() "
    "for row in model.objects.all().values_list() if 'assistant.w' in str(row)]"
)


async def test_the_game_is_as_before_when_assistants_were_taken_out_again(template: Path, tmp_path: Path) -> None:
    async with running(template, tmp_path / "game") as game:
        owner = await game.owner()
        assert await game.py(owner, CMDSET) == "mud_assistant.assistant.worlds.evennia.cmdsets.AccountCmdSet"
        await owner.asks("assistant/create Sage", "Sage is here")
        # Evennia 6 loses its pragmas when it starts; the log says so, with the line that helps.
        assert ("synchronous=full are in force" in game.log()) is (EVENNIA >= 6)
        told = await owner.asks("assistant/uninstall = yes", "reload the game")
        assert INSTALL_LINE in told
        game.remove_line(INSTALL_LINE)
        await owner.asks("reload", BACK)
        assert await game.py(owner, CMDSET) == "commands.default_cmdsets.AccountCmdSet"
        assert await game.py(owner, LEFT) == "[]"
        await owner.asks("assistant/list", "Command 'assistant/list' is not available")
        assert "Traceback" not in game.log()


async def test_the_settings_written_out_by_hand_do_the_same(template: Path, tmp_path: Path) -> None:
    game = copied(template, tmp_path / "game")
    cmdsets = game.folder / "commands/default_cmdsets.py"
    before, account, after = cmdsets.read_text().partition("class AccountCmdSet")
    filled = after.replace("super().at_cmdset_creation()\n", f"super().at_cmdset_creation()\n{COMMANDS_BY_HAND}", 1)
    cmdsets.write_text(f"{before}{account}{filled}")
    from mud_assistant.assistant.worlds.evennia.console.doctor import PRAGMAS_CURE  # noqa: PLC0415  (needs Django's settings)

    game.settle(f"{BY_HAND}\n{PRAGMAS_CURE}")
    try:
        await game.start()
        owner = await game.owner()
        assert await game.py(owner, CMDSET) == "commands.default_cmdsets.AccountCmdSet"
        await owner.asks("assistant/create Sage", "Sage is here")
        service = "__import__('mud_assistant.assistant.worlds.evennia.server', fromlist=['x'])"
        assert await game.py(owner, f"{service}.is_open()") == "True"
        told = await owner.asks("assistant/doctor", "the game's database")
        # Evennia 5 still lays its own choice over it.
        level = "normal" if EVENNIA >= 6 else "off"
        assert f"journal_mode=wal and synchronous={level} are in force" in told
    finally:
        await game.put_away()


async def test_a_game_may_have_packages_that_are_called_as_ours(template: Path, tmp_path: Path) -> None:
    """Evennia puts the game's folder first on Python's path."""
    game = copied(template, tmp_path / "game")
    game.settle(INSTALL_LINE)
    for name in ("assistant", "llm", "resilience", "tools"):
        (game.folder / name).mkdir()
        (game.folder / name / "__init__.py").write_text(f"OWN = {name!r}\n")
    try:
        await game.start()
        owner = await game.owner()
        await owner.asks("assistant/create Sage", "Sage is here")
        for name in ("assistant", "llm", "resilience", "tools"):
            assert await game.py(owner, f"__import__({name!r}).OWN") == name
    finally:
        await game.put_away()
