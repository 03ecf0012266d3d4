"""The trial as a person has it: at a terminal of 80 columns, with keys."""

from __future__ import annotations

import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.surfaces.trial.wrapping import width
from mud_assistant.llm.testing import Call, FakeOllama, Reply, serve
from tests.live.command import Command, reactor, start

LONG = "Each of the books has a story; " * 6 + "漢字かな" * 25 + ", and that is all."
READY = "/help for commands"
INTERRUPT, TAB = b"\x03", b"\t"
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")


@asynccontextmanager
async def terminal(*arguments: str) -> AsyncIterator[tuple[Command, Any]]:
    """A trial at its first prompt, and its keyboard."""
    fake = FakeOllama(reactor, lambda _: Reply(calls=(Call("say", {"text": LONG}),)))
    async with serve(fake, reactor) as url:
        command = start("trial", "--url", url, *arguments, environment={"TERM": "xterm"}, terminal=True)
        transport: Any = command.transport
        await command.saw(READY)
        yield command, transport
        result = await command.ended
        assert result.status == 0, result.out
        assert "Traceback" not in result.out


def transcript(command: Command) -> list[str]:
    """The printed lines without what moves the cursor."""
    return [line.rpartition("\r")[2] for line in _CONTROLS.sub("", command.out.decode()).split("\r\n")]


async def test_words_are_wrapped_at_the_width_of_the_terminal() -> None:
    async with terminal() as (command, keys):
        keys.write(b"Hello Sage\r")
        await command.saw("that is all.")
        await command.saw(READY, after="that is all.")
        keys.write(INTERRUPT)
    lines = transcript(command)
    first = next(at for at, line in enumerate(lines) if 'Sage says, "Each' in line)
    lines[first] = lines[first][lines[first].index("Sage says") :]  # the sign of thinking may stand before it
    last = next(at for at, line in enumerate(lines) if line.endswith('that is all."'))
    said = lines[first : last + 1]
    assert len(said) > 4
    assert all(60 < width(line) <= 80 for line in said[:-1])
    assert said[0].endswith(("Each", "of", "the", "books", "has", "a", "story;"))
    assert "".join(said).replace(" ", "") == f'Sage says, "{LONG}"'.replace(" ", "")


@pytest.mark.parametrize("as_signal", [False, True])
async def test_a_half_typed_line_survives_ctrl_c(as_signal: bool) -> None:
    async with terminal() as (command, keys):
        keys.write(b"half a li")
        await command.saw("half a li")
        if as_signal:  # as the terminal makes of it while something is printed
            keys.signalProcess(signal.SIGINT)
        else:
            keys.write(INTERRUPT)
        await command.saw("your line is kept")
        keys.write(b"ne, Mira\r")
        await command.saw('You say, "half a line, Mira"')
        await command.saw(READY, after='half a line, Mira"')
        keys.write(INTERRUPT)
    assert "(Goodbye. Sage keeps nothing of this; with --journal FILE it would.)" in "\n".join(transcript(command))


async def test_ctrl_c_twice_leaves_a_half_typed_line_and_goodbye_names_the_journal(tmp_path: Path) -> None:
    async with terminal("--journal", str(tmp_path / "sage.journal")) as (command, keys):
        keys.write(b"half a line")
        await command.saw("half a line")
        keys.write(INTERRUPT)
        await command.saw("your line is kept")
        keys.write(INTERRUPT)
    assert "You say" not in command.out.decode()
    assert "(Goodbye. Sage remembers this in sage.journal.)" in "\n".join(transcript(command))


async def test_tab_completes_commands_and_the_names_in_the_room() -> None:
    async with terminal() as (command, keys):
        keys.write(b"/lo" + TAB + b"old" + TAB + b"\r")
        await command.saw("drawn in brown ink")
        await command.saw(READY, after="drawn in brown ink")
        keys.write(b"Good day, sa" + TAB + b"!\r")
        await command.saw('You say, "Good day, Sage!"')
        await command.saw(READY, after="that is all.")
        keys.write(b"/help\r")
        await command.saw("Ctrl-C keeps a half-typed line")
        await command.saw(READY, after="pressed again it leaves.")
        keys.write(b"/quit" + TAB + b"\r")
