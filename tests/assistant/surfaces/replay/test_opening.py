"""A journal is read as it lies there, whatever state it is in, and left so."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.journal.files import PAGE_BYTES
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from tests.assistant.surfaces.replay.recording import NOON, looks, one_run, record, said, says, writing

MANY = 150


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def many_runs(path: Path) -> None:
    async with writing(path) as journal:
        for number in range(MANY):
            await record(journal, [said(number, "x" * 500)], [looks()], NothingToDo())


def read(path: Path) -> int:
    return replay(ReplayOptions(path, all=True), lambda: NOON)


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence with which the file was refused; it and its neighbours are as they were."""
    before = files(path.parent)
    assert read(path) == 2
    assert files(path.parent) == before
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix("mud-assistant: ").removesuffix("\n")


async def test_a_closed_journal_is_read_and_nothing_appears_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await one_run(tmp_path / "j", says("Yes."))
    before = files(tmp_path)
    assert read(tmp_path / "j") == 0
    assert capsys.readouterr().out.startswith("run-1")
    assert files(tmp_path) == before
    assert list(before) == ["j"]


async def test_a_journal_in_use_is_read_with_what_its_log_holds_and_its_writer_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with writing(tmp_path / "j") as journal:
        await record(journal, [said(1)], [says("Eins.")], NothingToDo())
        token = journal.lease.token
        assert read(tmp_path / "j") == 0
        assert "Eins." in capsys.readouterr().out
        await record(journal, [said(2)], [says("Zwei.")], NothingToDo())
        assert read(tmp_path / "j") == 0
        assert "Zwei." in capsys.readouterr().out
        assert journal.lease.token == token


async def test_what_a_killed_process_left_in_its_log_is_read_without_touching_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = tmp_path / "killed"
    killed.mkdir()
    async with writing(tmp_path / "j") as journal:
        await record(journal, [said(1)], [says("Eins.")])
        for name in ("j", "j-wal"):
            (killed / name).write_bytes((tmp_path / name).read_bytes())
    before = files(killed)
    assert read(killed / "j") == 0
    assert "Eins." in capsys.readouterr().out
    assert files(killed) == before


def test_no_such_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(tmp_path / "j", capsys) == f"there is no file {tmp_path / 'j'}."


def test_the_name_of_a_file_cannot_steer_the_terminal_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refused(tmp_path / "\x1b[2Jj\x9b", capsys)
    assert sentence == f"there is no file {tmp_path / 'j'}."


def test_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").mkdir()
    assert read(tmp_path / "sub") == 2
    assert capsys.readouterr().err.endswith("is not a journal: it is a directory.\n")


def test_a_text_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "j").write_text("Dear diary, " * 100)
    assert refused(tmp_path / "j", capsys).endswith("cannot be read as a journal: it is not a database.")


def test_a_database_of_another_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(tmp_path / "j")) as db, db:
        db.execute("CREATE TABLE runs (seq INTEGER)")
    assert refused(tmp_path / "j", capsys).endswith("it is a database of another program.")


async def test_a_newer_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await one_run(tmp_path / "j", says("Yes."))
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        db.execute("PRAGMA user_version = 99")
    assert "it was written by a newer mud-assistant (version 99" in refused(tmp_path / "j", capsys)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
async def test_a_file_that_may_not_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await one_run(tmp_path / "j", says("Yes."))
    (tmp_path / "j").chmod(0)
    assert read(tmp_path / "j") == 2
    assert capsys.readouterr().err.endswith("cannot be read: Permission denied.\n")


@pytest.mark.parametrize("place", ["pages", "end", "header"])
async def test_of_a_damaged_file_is_shown_what_can_be_read(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "j"
    await many_runs(path)
    data = bytearray(path.read_bytes())
    pages = len(data) // PAGE_BYTES
    if place == "pages":
        for page in range(pages // 2, pages // 2 + 6):
            data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = b"\xff" * PAGE_BYTES
    elif place == "end":
        del data[len(data) * 2 // 3 :]
    else:
        data[:PAGE_BYTES] = bytes(PAGE_BYTES)
    path.write_bytes(data)
    assert read(path) == 2
    printed = capsys.readouterr()
    assert printed.out.count("  heard: Anna says") > MANY // 4
    assert printed.err.startswith(f"mud-assistant: not all of {path} can be read: it is damaged (")
    assert printed.err.endswith("It was left as it is.\n")
    assert files(tmp_path) == {"j": bytes(data)}
    assert replay(ReplayOptions(path, json=True, last=1), lambda: NOON) == 2


def test_an_empty_file_was_a_journal_or_not_and_nothing_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "j").write_bytes(b"")
    assert read(tmp_path / "j") == 2
    printed = capsys.readouterr()
    assert printed.out == "There is no run in this journal.\n"
    assert "it is damaged (it is empty)" in printed.err
    assert files(tmp_path) == {"j": b""}
