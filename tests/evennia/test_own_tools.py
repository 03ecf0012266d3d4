"""A game's own tools: named in its settings, loaded when its Server starts, used and judged like ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import cast

import pytest
from django.test import override_settings
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher

from mud_assistant.assistant.checks.finding import FindingState
from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.commands import setting
from mud_assistant.assistant.worlds.evennia.console import doctor
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from tests.assistant.runtime.test_own_tools import HUM
from tests.evennia.opened import NO_MODEL, model_at, opened, reactor, settled, turns

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")

HEAD = "async def hum(arguments, context):\n"
EMOTES = "    await context.world.emote(f'hums {arguments.tune}.')\n"
TOOL = f"from evennia.objects.models import ObjectDB\n{HUM.replace(HEAD, HEAD + EMOTES)}"


@pytest.fixture
def game(tmp_path: Path) -> Iterator[Path]:
    """The folder of a game, on the path as Evennia puts it, with a module of tools and one that is broken."""
    (tmp_path / "own_world").mkdir()
    (tmp_path / "own_world/__init__.py").touch()
    (tmp_path / "own_world/ai_tools.py").write_text(TOOL)
    (tmp_path / "own_world/broken.py").write_text("import nowhere_at_all")
    sys.path.insert(0, str(tmp_path))
    invalidate_caches()
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("own_world")]:
        del sys.modules[name]


def hums(request: RecordedRequest) -> Step:
    """A model that hums where it may, and speaks where not."""
    if any(tool["function"]["name"] == "hum" for tool in request.tools):
        return Reply(calls=(Call("hum", {"tune": "an old song"}),))
    return Reply(calls=(Call("say", {"text": "I may not."}),))


@pytest.mark.parametrize("is_installed", [True, False])
async def test_a_tool_of_the_games_own_is_used_in_it(game: Path, is_installed: bool) -> None:
    fake = FakeOllama(reactor, hums)
    named = ["own_world.ai_tools"]
    toml = "" if is_installed else f"[tools]\nmodules = {named}\n"
    async with serve(fake, reactor) as url:
        with override_settings(MUD_ASSISTANT_TOOLS=tuple(named) if is_installed else ()):
            async with opened(game, model_at(url) + toml) as village:
                anna = village.player("Anna")
                sage = creation.create_assistant("Sage", village.hall)
                anna.does("say Hello Sage")
                await settled(sage)
                assert "Sage hums an old song." in "\n".join(anna.heard())
                assert "hum" in setting.tools_of(sage)


async def test_a_tool_can_be_withdrawn_from_one_assistant(game: Path) -> None:
    fake = FakeOllama(reactor, hums)
    own = "[tools]\nmodules = ['own_world.ai_tools']\n"
    async with serve(fake, reactor) as url, opened(game, model_at(url) + own) as village:
        anna = village.player("Anna")
        sage = creation.create_assistant("Sage", village.hall)
        await settled(sage)
        setting.grant_tools(sage, "-hum")
        anna.does("say Hello Sage")
        await settled(sage)
        assert "I may not." in "\n".join(anna.heard())


async def test_a_broken_module_is_told_and_the_game_and_its_assistants_start(game: Path) -> None:
    logged: list[LogEvent] = []
    observer = cast("ILogObserver", logged.append)
    globalLogPublisher.addObserver(observer)
    toml = f"{NO_MODEL}[assistant]\ntools = ['say', 'hum', 'strike']\n[tools]\nmodules = ['own_world.broken']\n"
    try:
        with override_settings(MUD_ASSISTANT_TOOLS=("own_world.ai_tools",)):
            async with opened(game, toml) as village:
                found = [finding for finding in await doctor.findings() if finding.check == "own tools"]
                sage = creation.create_assistant("Sage", village.hall)
                await turns()
                runner = server.runner_of(sage)
    finally:
        globalLogPublisher.removeObserver(observer)
    assert runner is not None
    sentence = (
        "own_world.broken cannot be loaded, and its tools are left out: "
        "ModuleNotFoundError: No module named 'nowhere_at_all'"
    )
    assert [(finding.state, finding.sentence) for finding in found] == [
        (FindingState.OK, "loaded: hum"),
        (FindingState.WRONG, sentence),
    ]
    assert [event["problem"] for event in logged if "problem" in event] == [sentence]
