"""A program outside games closes what it opened, however it ends, and tells what kept it from going on."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.errors import AssistantError
from mud_assistant.assistant.surfaces.serve.file import SettingsFile
from mud_assistant.assistant.surfaces.standalone import (
    CANNOT_START,
    Standalone,
    StandaloneOptions,
    run_standalone,
    until_cancelled,
)
from tests.assistant.living import reactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")


def options_in(folder: Path) -> StandaloneOptions:
    return StandaloneOptions(merged({}), SettingsFile(folder / "assistant.toml"), lambda: 1e6)


async def test_what_was_opened_is_closed_the_last_first_and_the_error_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    closed: list[str] = []

    async def work(program: Standalone) -> int:
        program.closing.callback(closed.append, "opened first")
        program.closing.callback(closed.append, "opened last")
        raise AssistantError("the page cannot be opened")

    assert await run_standalone(reactor, options_in(tmp_path), {}, work) == CANNOT_START
    assert closed == ["opened last", "opened first"]
    assert capsys.readouterr().err == "mud-assistant: the page cannot be opened\n"


async def test_one_that_is_cancelled_closes_what_it_opened(tmp_path: Path) -> None:
    begun: Deferred[None] = Deferred()
    closed: list[str] = []

    async def work(program: Standalone) -> int:
        program.closing.callback(closed.append, "opened")
        begun.callback(None)
        return await until_cancelled()

    running = Deferred.fromCoroutine(run_standalone(reactor, options_in(tmp_path), {}, work))
    await begun
    running.cancel()
    with pytest.raises(CancelledError):
        await running
    assert closed == ["opened"]
