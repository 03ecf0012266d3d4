"""What docs/what-is-public.md names is there, and `__all__` of each package is what it says: complete, importable."""

from __future__ import annotations

import importlib
import re
from argparse import _SubParsersAction

import pytest

from mud_assistant.assistant.command_line import parser
from mud_assistant.assistant.config.known_providers import AUTO, EMBEDDED
from mud_assistant.assistant.config.schema import Config
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profiles
from mud_assistant.assistant.worlds.telnet.reading.game_ears import RIGHTS
from mud_assistant.llm import PROVIDER_NAMES
from tests.architecture import ROOT

PAGE = (ROOT / "docs/what-is-public.md").read_text()
MODULES: list[tuple[str, str]] = re.findall(r"^\| `(mud_assistant[\w.]*)` \| ([^|]*) \|", PAGE, re.MULTILINE)


def listed(what: str) -> set[str]:
    """Return the names in the second column of the row that begins with these words."""
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| {what}"))
    return set(re.findall(r"`([^`]+)`", row.split(" | ")[1]))


@pytest.mark.parametrize(("name", "purpose"), MODULES)
def test_every_public_name_exists_once(name: str, purpose: str) -> None:
    package = importlib.import_module(name)
    names = package.__all__
    assert len(names) == len(set(names))
    assert [public for public in names if not hasattr(package, public)] == []
    assert set(re.findall(r"`(\w+)`", purpose)) <= set(names)


def test_the_page_names_every_table_provider_command_profile_and_right() -> None:
    commands = [action for action in parser()._actions if isinstance(action, _SubParsersAction)]
    assert listed("commands, their options") == set(commands[0].choices)
    assert listed("tables of settings") == set(Config.model_fields)
    assert listed("names of providers") == {AUTO, EMBEDDED, *PROVIDER_NAMES}
    assert listed("telnet profiles") == set(shipped_profiles())
    assert listed("what is told to a character in private") == RIGHTS


def test_the_page_names_every_command_of_a_game() -> None:
    files = (ROOT / "assistant/worlds/evennia/commands").glob("*.py")
    keys = {key for path in files for key in re.findall(r'^    key = "([^"]+)"', path.read_text(), re.MULTILINE)}
    assert keys == listed("commands of admins in a game") | listed("commands in a game")


@pytest.mark.parametrize(
    "name", ["UnifiedLLMClient", "get_provider", "LLMProvider", "LLMResponse", "ToolCall", "RateLimitInfo"]
)
def test_the_contracts_names_are_public(name: str) -> None:
    assert name in importlib.import_module("mud_assistant.llm").__all__


@pytest.mark.parametrize(
    "method",
    [
        "build_request",
        "build_headers",
        "parse_response",
        "parse_rate_limit_headers",
        "parse_error_response",
        "count_tokens",
        "format_tool_result",
        "supports_tools",
        "get_api_url",
    ],
)
def test_a_provider_has_the_contracts_methods(method: str) -> None:
    assert callable(getattr(importlib.import_module("mud_assistant.llm").LLMProvider, method))


def test_importing_the_packages_takes_no_reactor() -> None:
    """Which reactor runs is the host's choice."""
    import subprocess  # noqa: PLC0415
    import sys  # noqa: PLC0415

    code = (
        "import sys, mud_assistant.assistant.loop.react, mud_assistant.assistant.surfaces.trial.run;"
        "import mud_assistant.llm, mud_assistant.tools.verbs, mud_assistant.resilience;"
        "sys.exit('twisted.internet.reactor' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
