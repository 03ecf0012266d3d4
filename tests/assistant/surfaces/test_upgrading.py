"""`mud-assistant upgrade`: the files of a game of the version before name this version's modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mud_assistant.assistant.surfaces.upgrading import renamed, upgrade

SETTINGS = '''"""The settings of a game."""
from evennia.settings_default import *

SERVERNAME = "Sage's hamlet"
INSTALLED_APPS = [*INSTALLED_APPS, "assistant.worlds.evennia"]
from assistant.worlds.evennia.install import install; install(globals(), tools="world.ai_tools")
'''


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from assistant.worlds.evennia.demo import x\n",
            "from mud_assistant.assistant.worlds.evennia.demo import x\n",
        ),
        ("    from tools import Tool\n", "    from mud_assistant.tools import Tool\n"),
        ("import llm\n", "import mud_assistant.llm\n"),
        ("APPS = ['assistant.worlds.evennia']\n", "APPS = ['mud_assistant.assistant.worlds.evennia']\n"),
    ],
)
def test_what_names_our_modules_is_renamed_once(before: str, after: str) -> None:
    assert renamed(before) == after
    assert renamed(after) == after


@pytest.mark.parametrize(
    "text",
    [
        "from world.tools import hammer\n",
        "from .tools import hammer\n",
        'FILE = "assistant.toml"\n',
        'HELP = "assistant.create is a command"\n',
        "tools.append(hammer)\n",
        "from toolshed import spade\n",
        "from tools.shed import spade\n",
    ],
)
def test_what_does_not_is_left_alone(text: str) -> None:
    assert renamed(text) == text


def test_packages_of_the_games_own_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "world.py").write_text("from tools.verbs import OWN\nfrom llm import user\n")
    assert upgrade(tmp_path, lambda _: None) == 1
    assert (tmp_path / "world.py").read_text() == "from tools.verbs import OWN\nfrom mud_assistant.llm import user\n"


def test_the_command_says_what_it_changed_and_finds_nothing_the_second_time(tmp_path: Path) -> None:
    conf = tmp_path / "server/conf"
    conf.mkdir(parents=True)
    (conf / "settings.py").write_text(SETTINGS)
    (conf / "settings.py").chmod(0o640)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/other.py").write_text("from tools.verbs import SAY\n")
    command = [sys.executable, "-m", "mud_assistant", "upgrade", str(tmp_path)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first == "server/conf/settings.py names mud_assistant now\n"
    assert second == "Nothing had to be changed.\n"
    told = (conf / "settings.py").read_text()
    assert told == SETTINGS.replace("assistant.worlds", "mud_assistant.assistant.worlds")
    assert (conf / "settings.py").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / ".venv/other.py").read_text() == "from tools.verbs import SAY\n"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mud_assistant", "upgrade", str(tmp_path / "nowhere")]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr.strip()) == (2, f"mud-assistant: there is no folder {tmp_path / 'nowhere'}")
