"""`mud-assistant replay` as an owner runs it, on files that are at rest, in use and damaged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from twisted.internet.utils import getProcessOutputAndValue

from mud_assistant.assistant.events.outcome import NothingToDo
from tests.assistant.surfaces.replay.recording import (
    ANSWERED,
    BEGUN,
    answer,
    call,
    looks,
    one_run,
    reactor,
    record,
    said,
    says,
    writing,
)
from tests.live.command import Result, run

HOSTILE = "\x1b[2J\x1b]0;owned\x07\nrun-99  forged\r\x9b31m\u202e"


async def replay(file: Path, *options: str) -> Result:
    return await run(["replay", str(file), *options], b"", folder=str(file.parent))


async def test_a_file_that_is_being_written_is_read_again_and_again(tmp_path: Path) -> None:
    """A process writes runs as fast as it can; what is read is whole each time, and the writer is not disturbed."""
    code = """
import sys
from pathlib import Path
from twisted.internet.defer import Deferred
from twisted.internet.task import react
from mud_assistant.assistant.events.outcome import Answered
from tests.assistant.surfaces.replay.recording import looks, record, said, says, writing
async def write():
    async with writing(Path(sys.argv[1])) as journal:
        number = 0
        while not Path(sys.argv[2]).exists():
            number += 1
            await record(journal, [said(number)], [looks(), says(f"Number {number}.")], Answered(("say",)))
    print(number)
react(lambda _: Deferred.fromCoroutine(write()))
"""
    file, stop = tmp_path / "j", tmp_path / "stop"
    root = str(Path(__file__).parents[2])
    writer = getProcessOutputAndValue(
        sys.executable, ["-c", code, str(file), str(stop)], env={**os.environ, "PYTHONPATH": root}, path=root
    )
    while not file.exists() or file.stat().st_size == 0:
        await pause()
    counts = []
    try:
        for _ in range(3):
            result = await replay(file, "--all", "--json")
            assert (result.status, result.err) == (0, "")
            runs = [json.loads(line) for line in result.out.splitlines()]
            closed = [told for told in runs if told["closed_at"] is not None]
            assert all(len(told["steps"]) == 2 and told["heard"] and not told["unreadable"] for told in closed)
            assert len(runs) - len(closed) <= 1
            counts.append(len(runs))
    finally:
        stop.touch()
    out, err, status = await writer
    assert (err, status) == (b"", 0)
    assert counts[0] < counts[1] < counts[2] <= int(out)
    result = await replay(file, "--offline", "--all")
    assert result.status == 0
    assert result.out.endswith(f"{int(out)} runs run again: all as they were.\n")


async def pause() -> None:
    from twisted.internet.task import deferLater  # noqa: PLC0415

    await deferLater(reactor, 0.05)


async def test_the_offline_run_depends_on_the_settings_in_the_folder(tmp_path: Path) -> None:
    await one_run(tmp_path / "j", looks(), says("Books."), outcome=ANSWERED)
    result = await replay(tmp_path / "j", "--offline")
    assert (result.status, result.err) == (0, "")
    assert result.out == "run-1  Sage  as it was, 2 steps\n1 run run again: all as they were.\n"
    (tmp_path / "assistant.toml").write_text('[assistant]\ntools = ["say"]\n')
    result = await replay(tmp_path / "j", "--offline")
    assert (result.status, result.err) == (1, "")
    assert "differs: step 1, look: was done then, and would be refused now: You may not use look.\n" in result.out
    assert (await replay(tmp_path / "j")).status == 0


async def test_what_strangers_wrote_does_not_reach_the_terminal(tmp_path: Path) -> None:
    async with writing(tmp_path / "j", HOSTILE) as journal:
        response = answer(call(HOSTILE, text=HOSTILE), text=HOSTILE)
        await record(journal, [said(1, HOSTILE)], [(response, [BEGUN])], NothingToDo())
    for options in ([], ["--offline"], ["--run", HOSTILE]):
        result = await replay(tmp_path / "j", *options)
        assert all(char == "\n" or char.isprintable() for char in result.out + result.err)
        assert "\nrun-99" not in result.out + result.err


@pytest.mark.parametrize("content", [b"Dear diary", b"SQLite format 3\x00" + bytes(4080)])
async def test_a_file_that_is_no_journal_is_one_sentence_and_status_2(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "j").write_bytes(content)
    result = await replay(tmp_path / "j", "--offline")
    assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(f"mud-assistant: {tmp_path / 'j'} cannot be read as a journal: it is ")


async def test_of_a_damaged_file_the_rest_is_shown_with_status_2(tmp_path: Path) -> None:
    async with writing(tmp_path / "j") as journal:
        for number in range(120):
            await record(journal, [said(number, "x" * 500)], [looks()], NothingToDo())
    data = (tmp_path / "j").read_bytes()
    (tmp_path / "j").write_bytes(data[: len(data) * 2 // 3])
    result = await replay(tmp_path / "j", "--all")
    assert result.status == 2
    assert result.out.count("  heard: Anna says") > 10
    assert "it is damaged (" in result.err
    assert os.listdir(tmp_path) == ["j"]  # noqa: PTH208  (names)


async def test_a_reader_that_leaves_is_no_fault(tmp_path: Path) -> None:
    async with writing(tmp_path / "j") as journal:
        for number in range(60):
            await record(journal, [said(number, "x" * 3000)], [], NothingToDo())
    line = f"{sys.executable} -m mud_assistant replay {tmp_path / 'j'} --all | head -n 1"
    out, err, _ = await getProcessOutputAndValue("/bin/sh", ["-c", line], env=dict(os.environ))
    assert (out.count(b"\n"), err) == (1, b"")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "the following arguments are required: FILE"),
        (["j", "--last", "0"], "give a number from 1"),
        (["j", "--run", "run-1", "--all"], "not allowed with"),
        (["j", "--parked", "--offline"], "not allowed with"),
    ],
)
async def test_a_wrong_command_line_is_explained(options: list[str], why: str) -> None:
    result = await run(["replay", *options], b"")
    assert result.status == 2
    assert why in result.err


async def test_help_teaches_with_examples() -> None:
    result = await run(["replay", "--help"], b"")
    assert result.status == 0
    for part in ("mud-assistant replay journal.sqlite --run run-12", "--offline --config", "Exit status: 0, 1"):
        assert part in result.out
    assert "replay" in (await run(["--help"], b"")).out
    assert "mud-assistant trial --provider" in (await run(["trial", "--help"], b"")).out
