"""docs/evennia.md does what it says, with a model that answers at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mud_assistant.assistant.worlds.evennia.console.doctor import PRAGMAS_CURE
from mud_assistant.llm.testing import FakeOllama, serve
from tests.evennia.live.game import running
from tests.evennia.live.living import heard, reactor

PAGE = Path(__file__).parents[3] / "docs" / "evennia.md"

pytestmark = pytest.mark.slow  # a game is started


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


async def test_the_lines_of_the_page_give_the_answers_of_the_page(template: Path, tmp_path: Path) -> None:
    settings = blocks("python")[0]
    steps = re.findall(r"^> (.+)\n([^>]*)", blocks("text")[0], re.MULTILINE)
    connect, create, status, say = steps
    assert connect[0].startswith("connect ")  # done by `owner`, for the template's account has another name
    async with (
        serve(FakeOllama(reactor, heard), reactor) as url,
        running(template, tmp_path / "game", settings) as game,
    ):
        owner = await game.owner()
        for line, answer in (create, status):
            head = answer.split("\n", 1)[0]
            assert head in await owner.asks(line, head)
        # The page's model answers as well, but takes its time and half a gigabyte.
        await owner.asks(f"assistant/provider Sage = ollama sage {url} force", "Kept without being tried")
        echo = say[1].split("\n", 1)[0]
        assert echo in await owner.asks(say[0], 'Sage says, "I heard nothing."')
        assert "synchronous=full" not in await owner.asks("assistant/doctor", "are in force")


def test_the_settings_of_the_page_hold_the_line_that_the_doctor_gives() -> None:
    settings = blocks("python")[0]
    assert "".join(PRAGMAS_CURE.split()) in "".join(settings.split())
