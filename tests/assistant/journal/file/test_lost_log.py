"""A write-ahead log that is gone, void or cut by hand is told of: SQLite itself takes it for never written."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from mud_assistant.assistant.checks.finding import Problem
from mud_assistant.assistant.checks.journal import sound
from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.journal import Incomplete, Recovered, Sound, StoredJournal
from mud_assistant.assistant.journal.files import GAP, missing_writes, read_mark
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from tests.assistant.journal.keeping import NOON, TRIGGER, event, noon, opened

BEFORE, AFTER = 3, 6
NAMES = ("j", "j-wal", "j-mark")


async def life(path: Path, reactor: Any) -> Path:
    """A journal whose process was killed: what it held at the last start, and what only its log holds."""
    async with opened(path / "live" / "j", reactor) as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        for number in range(BEFORE):
            await journal.accept(event(number), TRIGGER)
        await journal.close_run(await journal.open_run(()), NothingToDo())
        await store.compact()
        for number in range(BEFORE, BEFORE + AFTER):
            await journal.accept(event(number), TRIGGER)
        killed = path / "killed"
        killed.mkdir()
        for name in NAMES:
            shutil.copyfile(path / "live" / name, killed / name)
    return killed / "j"


async def start(path: Path, reactor: Any) -> tuple[object, int, str]:
    """The state it starts in, how many events it has, and the id of the next run."""
    async with opened(path, reactor) as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        count = len(await journal.pending())
        return store.opened, count, await journal.open_run(())


def gone(log: Path) -> None:
    log.unlink()


def empty(log: Path) -> None:
    log.write_bytes(b"")


def zeros(log: Path) -> None:
    log.write_bytes(bytes(log.stat().st_size))


def noise(log: Path) -> None:
    log.write_bytes(os.urandom(log.stat().st_size))


def text(log: Path) -> None:
    log.write_text("Dear diary")


def headless(log: Path) -> None:
    log.write_bytes(bytes(32) + log.read_bytes()[32:])


@pytest.mark.parametrize("harm", [gone, empty, zeros, noise, text, headless])
async def test_a_log_that_is_gone_or_void_is_told_of(
    tmp_path: Path, reactor: Any, harm: Callable[[Path], None]
) -> None:
    path = await life(tmp_path, reactor)
    log = path.with_name("j-wal")
    harm(log)
    left = log.read_bytes() if log.exists() else b""
    with pytest.raises(Problem, match=rf"its last {AFTER} writes are missing.*goes on from what is there"):
        sound(path, NOON)
    assert replay(ReplayOptions(path), noon) == 2
    state, count, run = await start(path, reactor)
    assert isinstance(state, Incomplete)
    assert state.missing == AFTER
    assert f"last {AFTER} writes are missing" in state.sentence
    assert (state.aside.read_bytes() if state.aside else b"") == left
    assert count == BEFORE
    assert int(run.removeprefix("run-")) > GAP, "a number of a lost run is used again"
    again, count, _ = await start(path, reactor)
    assert (again, count) == (Sound(path), BEFORE)


async def test_a_log_that_was_cut_by_hand_is_told_of_with_what_it_lost(tmp_path: Path, reactor: Any) -> None:
    path = await life(tmp_path, reactor)
    whole = path.with_name("j-wal").read_bytes()
    lost = set()
    for share in range(1, 10):
        here = tmp_path / str(share)
        shutil.copytree(path.parent, here)
        (here / "j-wal").write_bytes(whole[: len(whole) * share // 10])
        state, count, _ = await start(here / "j", reactor)
        assert isinstance(state, Incomplete)
        assert state.missing == BEFORE + AFTER - count
        lost.add(state.missing)
    assert len(lost) > 2


async def test_an_older_copy_of_the_file_is_told_of(tmp_path: Path, reactor: Any) -> None:
    path = await life(tmp_path, reactor)
    older = path.read_bytes()
    async with opened(path, reactor) as store:
        await StoredJournal(store, "sage").start()
        mark = path.with_name("j-mark").read_bytes()
    path.write_bytes(older)
    path.with_name("j-mark").write_bytes(mark)
    state, count, _ = await start(path, reactor)
    assert isinstance(state, Incomplete)
    assert count == BEFORE


@pytest.mark.parametrize("share", [1.0, 0.5])
async def test_a_kill_leaves_a_sound_journal_also_in_the_middle_of_a_write(
    tmp_path: Path, reactor: Any, share: float
) -> None:
    """What lies behind the last commit in the log was never promised."""
    path = await life(tmp_path, reactor)
    with path.with_name("j-wal").open("ab") as log:
        log.write(os.urandom(int(4120 * share)))
    assert "sound" in sound(path, NOON)
    state, count, run = await start(path, reactor)
    assert (state, count) == (Sound(path), BEFORE + AFTER)
    assert run == "run-2"


@pytest.mark.parametrize("mark", [None, b"", b"\0" * 46, b"0123456789abcdef 00000000000000000099 00000000\n"])
async def test_a_journal_without_a_mark_opens_and_gains_one(tmp_path: Path, reactor: Any, mark: bytes | None) -> None:
    path = await life(tmp_path, reactor)
    beside = path.with_name("j-mark")
    beside.unlink()
    if mark is not None:
        beside.write_bytes(mark)
    async with opened(path, reactor) as store:
        assert store.opened == Sound(path)
        await StoredJournal(store, "sage").start()
        assert read_mark(path)[1] > BEFORE + AFTER
        assert mark is not None or beside.stat().st_mode & 0o777 == 0o600
    assert not beside.exists(), "a journal that was closed needs none"


async def test_a_journal_of_an_earlier_version_opens_and_counts_from_then_on(tmp_path: Path, reactor: Any) -> None:
    path = await life(tmp_path, reactor)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM meta WHERE key IN ('id', 'writes')")
    path.with_name("j-mark").unlink()
    state, count, _ = await start(path, reactor)
    assert (state, count) == (Sound(path), BEFORE + AFTER)
    async with opened(path, reactor) as store:
        await StoredJournal(store, "sage").start()
        assert read_mark(path)[1] > 0
        assert await store.read(lambda db: missing_writes(cast(sqlite3.Connection, db), read_mark(path))) == 0


async def test_a_mark_of_another_journal_means_nothing_and_a_new_file_begins_anew(tmp_path: Path, reactor: Any) -> None:
    path = await life(tmp_path, reactor)
    mark = path.with_name("j-mark").read_bytes()
    await start(tmp_path / "other" / "j", reactor)
    (tmp_path / "other" / "j-mark").write_bytes(mark)
    assert (await start(tmp_path / "other" / "j", reactor))[0] == Sound(tmp_path / "other" / "j")
    path.unlink()
    path.with_name("j-wal").unlink()
    state, count, _ = await start(path, reactor)
    assert (state, count) == (Sound(path, new=True), 0)


async def test_a_repaired_file_is_told_of_once(tmp_path: Path, reactor: Any) -> None:
    path = await life(tmp_path, reactor)
    path.with_name("j-wal").unlink()
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert isinstance((await start(path, reactor))[0], Recovered)
    assert (await start(path, reactor))[0] == Sound(path)


async def test_each_commit_is_synced_once_and_the_mark_never(
    tmp_path: Path, reactor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync

    def fsync(number: int) -> None:
        synced.append(number)
        real(number)

    async with opened(tmp_path / "j", reactor) as store:
        monkeypatch.setattr(os, "fsync", fsync)
        journal = StoredJournal(store, "sage")
        await journal.start()
        await journal.accept(event(1), TRIGGER)
        assert read_mark(tmp_path / "j")[1] == store.commits == 2
    assert synced == []


async def test_a_mark_that_cannot_be_written_stops_nothing(tmp_path: Path, reactor: Any) -> None:
    (tmp_path / "j-mark").mkdir()
    async with opened(tmp_path / "j", reactor) as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        await journal.accept(event(1), TRIGGER)
        assert len(await journal.pending()) == 1
