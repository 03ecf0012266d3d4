"""A journal that the version before wrote, under the program of today."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import (
    Accepted,
    Sound,
    StoredBindings,
    StoredMutes,
    StoredStream,
    StoredUsage,
    StreamChange,
    StreamEntry,
)
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.surfaces.replay.command import ReplayOptions, replay
from mud_assistant.llm import user
from mud_assistant.tools.memories import MemoryKind
from tests.assistant.journal import life
from tests.assistant.journal.keeping import memories_of, opened, started

BEFORE = Path(__file__).with_name("version_before.sql").read_text(encoding="utf-8")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file as the version before left it."""
    with closing(sqlite3.connect(tmp_path / "j")) as db:
        db.executescript(BEFORE)
    return tmp_path / "j"


def without_memories(dumped: str) -> list[str]:
    """The lines of a dump, in order, but for the rows of memories and acquaintances, and how many rows tables count."""
    own = ('INSERT INTO "memories"', 'INSERT INTO "sqlite_sequence"', 'INSERT INTO "acquaintance')
    return sorted(line for line in dumped.splitlines() if not line.startswith(own))


def shown(capsys: pytest.CaptureFixture[str], path: Path, **wanted: bool) -> str:
    assert replay(ReplayOptions(path, **wanted), lambda: life.NOON) == 0  # type: ignore[arg-type]  # each names its own
    return capsys.readouterr().out


async def test_the_program_of_today_writes_the_same_rows(tmp_path: Path, reactor: Any) -> None:
    """Brought up to today, the old file has them too; only notes became memories, under ids of their own."""
    with closing(sqlite3.connect(tmp_path / "old", isolation_level=None)) as db:
        db.executescript(BEFORE)
        SCHEMA.migrate(db)
    await life.write_life(tmp_path / "j", reactor)
    assert without_memories(life.dump(tmp_path / "j")) == without_memories(life.dump(tmp_path / "old"))


async def test_what_was_to_be_done_is_there(path: Path, reactor: Any) -> None:
    async with opened(path, reactor) as store:
        assert store.opened == Sound(path, copy=path.with_name(f"j.before-{SCHEMA.version}"))
    async with started(path, reactor) as journal:
        assert await journal.pending() == (Accepted(life.WAITING, life.TRIGGER),)
        [parked] = await journal.parked()
        assert (parked.accepted, parked.crashes) == (Accepted(life.POISON, life.CONTEXT), 3)
        [unknown] = await journal.unknown_effects()
        assert (unknown.run_id, unknown.step, unknown.call) == ("run-1", 2, life.CUT)
        left = await journal.interrupted()
        assert left is not None
        assert [heard.event for heard in left.events] == [life.WAITING]
        assert [step.response for step in left.steps] == list(life.STEPS)
        done = [tuple(call.executed for call in step.calls if call.executed) for step in left.steps]
        assert done == list(life.RESULTS)
        assert [call.call for step in left.steps for call in step.calls if call.executed is None] == [life.CUT]


async def test_what_was_remembered_is_there(path: Path, reactor: Any) -> None:
    async with started(path, reactor) as journal:
        loaded = await StoredStream(journal.lease).load_stream()
        assert (loaded.unreadable, [replace(entry, seq=0) for entry in loaded.entries]) == (0, list(life.ENTRIES))
        remembered = (await memories_of(journal).recall("", hearers=frozenset({life.ANNA.id}))).memories
        assert {memory.kind for memory in remembered} == {MemoryKind.NOTE}
        assert [replace(memory, id="", kind=MemoryKind.FACT) for memory in reversed(remembered)] == [
            replace(memory, id="", importance=9) for memory in life.MEMORIES
        ]
        assert [muted.principal_id for muted in await StoredMutes(journal.lease, journal.lease.store.wall).muted()] == [
            life.BEN.id
        ]
        assert await StoredUsage(journal.lease.store).load_usage() == {"day": 20_000, "spent": life.SPENT}
        assert await StoredBindings(journal.lease.store).load() == life.BINDINGS


def test_replay_shows_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = path.read_bytes()
    transcript = shown(capsys, path)
    assert "Old Sage" in transcript
    for said in ("Sage, hello?", "There is no exit north.", "Hello, Anna.", "no more today"):
        assert said in transcript
    assert "boom" in shown(capsys, path, parked=True)
    assert "run-1 step 2" in shown(capsys, path, unknown=True)
    assert path.read_bytes() == before


async def test_it_goes_on(path: Path, reactor: Any) -> None:
    new = StreamEntry((user("It rains."),), 3)
    async with started(path, reactor) as journal:
        left = await journal.interrupted()
        assert left is not None
        [number] = await journal.close_run(left.id, Answered(("say",)), StreamChange((new,), forget=(1,)))
        assert number > len(life.ENTRIES)
        assert await journal.unpark(life.POISON.id)
        run = await journal.open_run(await journal.pending())
        await journal.close_run(run, Answered(("emote",)))
    async with started(path, reactor) as journal:
        assert await journal.pending() == ()
        assert await journal.interrupted() is None
        entries = (await StoredStream(journal.lease).load_stream()).entries
        assert [entry.messages for entry in entries] == [each.messages for each in (*life.ENTRIES[1:], new)]
        forgotten = await journal.forget_player(life.ANNA.id)
        assert (forgotten.events, forgotten.memories, forgotten.entries, forgotten.waiting) == (5, 1, 2, 0)
