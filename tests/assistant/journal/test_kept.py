"""The stream, the notes and the day's usage on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.journal import Fenced, SqliteJournal, StoredNotes, StoredStream, StoredUsage, StreamEntry
from llm import assistant as said_by_model
from llm import tool_results, user
from resilience import Account, Allowance, Amount, Ledger
from tests.assistant.journal.keeping import ANNA, SAY, executed, noon, opened, started
from tools import MemoryNotes, Notes, ToolFailed

ENTRIES = [
    StreamEntry((user("Anna arrives."),), 3, ("event-1", "event-2")),
    StreamEntry((said_by_model(SAY), tool_results([executed(SAY).result])), 7),
]


async def test_the_stream_comes_back_in_order(tmp_path: Path, reactor: Any) -> None:
    async with started(tmp_path / "j", reactor) as journal:
        stream = StoredStream(journal.lease)
        assert await stream.save_stream(ENTRIES[:1]) == (1,)
        assert await stream.save_stream(ENTRIES[1:]) == (2,)
    async with started(tmp_path / "j", reactor) as journal:
        loaded = await StoredStream(journal.lease).load_stream()
        assert loaded.unreadable == 0
        assert [(entry.messages, entry.importance, entry.event_ids) for entry in loaded.entries] == [
            (entry.messages, entry.importance, entry.event_ids) for entry in ENTRIES
        ]


async def test_what_was_trimmed_goes_and_the_newest_are_loaded(tmp_path: Path, reactor: Any) -> None:
    async with started(tmp_path / "j", reactor) as journal:
        stream = StoredStream(journal.lease)
        first, _ = await stream.save_stream(ENTRIES)
        await stream.save_stream(ENTRIES, forget=[first])
        assert [entry.seq for entry in (await stream.load_stream()).entries] == [2, 3, 4]
        assert [entry.seq for entry in (await stream.load_stream(newest=2)).entries] == [3, 4]


async def test_an_entry_that_cannot_be_read_is_counted(tmp_path: Path, reactor: Any) -> None:
    async with started(tmp_path / "j", reactor) as journal:
        stream = StoredStream(journal.lease)
        await stream.save_stream(ENTRIES)
        await journal.lease.write(lambda db: db.execute("UPDATE stream SET payload = x'7b7d' WHERE seq = 1"))
        loaded = await stream.load_stream()
        assert ([entry.seq for entry in loaded.entries], loaded.unreadable) == ([2], 1)


async def _tell_much(notes: Notes) -> list[object]:
    told: list[object] = [
        await notes.add(text, about)
        for text, about in [
            ("Anna likes tea", ANNA),
            ("The bridge is out", None),
            ("Anna likes tea", ANNA),
            ("Tea is in the kitchen", None),
            ("x" * 60, None),
        ]
    ]
    told += [
        await notes.search(query, 3, about_id=who) for query in ("", "tea", "TEA bridge", "no") for who in (None, "7")
    ]
    with pytest.raises(ToolFailed):
        await notes.add("x" * 200)
    return told


async def test_notes_on_disk_behave_as_those_in_memory(tmp_path: Path, reactor: Any) -> None:
    expected = await _tell_much(MemoryNotes(noon, max_notes=3, max_bytes=100))
    async with started(tmp_path / "j", reactor) as journal:
        notes = StoredNotes(journal.lease, noon, max_notes=3, max_bytes=100)
        assert await _tell_much(notes) == expected
        kept = await notes.search("")
    async with started(tmp_path / "j", reactor) as journal:
        assert await StoredNotes(journal.lease, noon).search("") == kept
        await SqliteJournal(journal.lease.store, "sage").start()
        with pytest.raises(Fenced):
            await StoredNotes(journal.lease, noon).add("late")


async def test_a_restart_does_not_give_the_budget_twice(tmp_path: Path, reactor: Any) -> None:
    day = Account("all", Allowance(calls=5))
    ledger = Ledger(noon, noon)
    ledger.reserve([day], Amount(1, 5)).settle(Amount(2, 700, 0.1))
    async with opened(tmp_path / "j", reactor) as store:
        assert await StoredUsage(store).load_usage() is None
        await StoredUsage(store).save_usage(ledger.export())
        ledger.reserve([day], Amount(1, 5)).settle(Amount(1, 1, 0.2))
        await StoredUsage(store).save_usage(ledger.export())
    async with opened(tmp_path / "j", reactor) as store:
        again = Ledger(noon, noon)
        again.restore(await StoredUsage(store).load_usage())
    assert again.spent("all") == Amount(3, 701, 0.3)
