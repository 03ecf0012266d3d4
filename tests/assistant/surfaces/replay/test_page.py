"""What docs/replay.md shows is what the command prints."""

from __future__ import annotations

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mud_assistant.assistant.command_line import parser
from mud_assistant.assistant.events.outcome import Answered, Limit, LimitReached
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from mud_assistant.llm import Usage
from tests.assistant.surfaces.replay.recording import (
    BEGUN,
    NOON,
    NOT_DONE,
    answer,
    call,
    came_to,
    record,
    said,
    spoke,
    writing,
)

PAGE = Path(__file__).parents[4] / "docs/replay.md"


def shown() -> list[tuple[str, str]]:
    """Each command of the page with what it prints."""
    return re.findall(r"```\n\$ (.*)\n((?:.*\n)*?)```", PAGE.read_text())


async def the_library(path: Path) -> None:
    look, speech = call("look"), call("say", text="An old map, and a fire in the hearth.")
    move, py = call("move", direction="north"), call("py", code="quit()")
    seen = came_to(look, '{"room":"The Old Library","things":["old map","hearth"]}')
    async with writing(path) as journal:
        steps = [
            (answer(look, usage=Usage(310, 12)), [seen]),
            (answer(speech, usage=Usage(352, 21)), [spoke(speech)]),
        ]
        await record(journal, [said(1, "Sage, what can you see here?")], steps, Answered(("say",)))
        tried = answer(move, py, usage=Usage(395, 14)), [BEGUN, NOT_DONE]
        await record(journal, [said(2, "Come north with me!")], [tried], LimitReached(Limit.STEPS))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE runs SET closed_at = opened_at + 3.5 WHERE seq = 1")
        db.execute("UPDATE runs SET opened_at = opened_at + 5, closed_at = opened_at + 6 WHERE seq = 2")


async def test_the_page_shows_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    await the_library(tmp_path / "journal.sqlite")
    (tmp_path / "strict.toml").write_text('[assistant]\ntools = ["say"]\n')
    printed = []
    for line, _ in shown():
        options = vars(parser().parse_args(shlex.split(line)[1:]))
        assert options.pop("command") == "replay"
        replay(ReplayOptions(**options), lambda: NOON)
        printed.append(capsys.readouterr().out)
    assert printed == [text for _, text in shown()]
    assert len(printed) == 2
