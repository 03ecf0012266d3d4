"""The stream, the mutes, the bindings and the day's usage on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.journal import (
    Fenced,
    Muted,
    StoredBindings,
    StoredJournal,
    StoredMutes,
    StoredStream,
    StoredUsage,
    StreamEntry,
)
from mud_assistant.assistant.keys.binding import KeyBinding
from mud_assistant.llm import assistant as said_by_model
from mud_assistant.llm import tool_results, user
from mud_assistant.resilience import Account, Allowance, Amount, Ledger
from mud_assistant.tools import Kind, Principal
from tests.assistant.journal.keeping import ANNA, NOON, SAY, Place, executed, noon, opened, rows, started
from tests.assistant.journal.tables.written_stream import save_stream

ENTRIES = [
    StreamEntry((user("Anna arrives."),), 3, ("event-1", "event-2"), 4, ("7", "9")),
    StreamEntry((said_by_model(SAY), tool_results([executed(SAY).result])), 7),
]


async def test_the_stream_comes_back_in_order(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        stream = StoredStream(journal.lease)
        assert await save_stream(stream._lease, ENTRIES[:1]) == (1,)
        assert await save_stream(stream._lease, ENTRIES[1:]) == (2,)
    async with started(place, reactor) as journal:
        loaded = await StoredStream(journal.lease).load_stream()
        assert loaded.unreadable == 0
        assert list(loaded.entries) == [replace(entry, seq=seq) for seq, entry in enumerate(ENTRIES, 1)]


async def test_what_was_trimmed_goes_and_the_newest_are_loaded(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        stream = StoredStream(journal.lease)
        first, _ = await save_stream(stream._lease, ENTRIES)
        await save_stream(stream._lease, ENTRIES, forget=[first])
        assert [entry.seq for entry in (await stream.load_stream()).entries] == [2, 3, 4]
        assert [entry.seq for entry in (await stream.load_stream(newest=2)).entries] == [3, 4]


@pytest.mark.parametrize("column", ["payload", "event_ids", "sources"])
async def test_an_entry_that_cannot_be_read_is_counted(place: Place, reactor: Any, column: str) -> None:
    async with started(place, reactor) as journal:
        stream = StoredStream(journal.lease)
        await save_stream(stream._lease, ENTRIES)
        await journal.lease.write(lambda db: db.execute(f"UPDATE stream SET {column} = ? WHERE seq = 1", (b"{}",)))  # noqa: S608
        loaded = await stream.load_stream()
        assert ([entry.seq for entry in loaded.entries], loaded.unreadable) == ([2], 1)


BEN = Principal("8", "Ben", Kind.PLAYER)


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


async def test_whom_an_assistant_does_not_heed_outlives_the_process(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        mutes = StoredMutes(journal.lease, journal.lease.store.wall)
        assert [await mutes.mute(who) for who in (BEN, ANNA, Principal("8", "Benno"))] == [True, True, False]
    async with started(place, reactor) as journal:
        mutes = StoredMutes(journal.lease, journal.lease.store.wall)
        assert await mutes.muted() == (Muted("7", "Anna", NOON), Muted("8", "Ben", NOON))
        other = StoredJournal(journal.lease.store, "tom")
        await other.start()
        assert await StoredMutes(other.lease, other.lease.store.wall).muted() == ()
        assert not await StoredMutes(other.lease, other.lease.store.wall).unmute("8")
        assert [await mutes.unmute("8"), await mutes.unmute("8")] == [True, False]
        assert [muted.principal_id for muted in await mutes.muted()] == ["7"]
        await StoredJournal(journal.lease.store, "sage").start()
        for late in (mutes.mute(BEN), mutes.unmute("7")):
            with pytest.raises(Fenced):
                await late


async def test_the_bindings_of_keys_are_replaced_as_a_set(place: Place, reactor: Any) -> None:
    one, two, three = (KeyBinding("KEY", f"https://{name}.example") for name in ("one", "two", "three"))
    async with opened(place, reactor) as store:
        assert await StoredBindings(store).load() == frozenset()
        await StoredBindings(store).remember([one, two])
        store.wall = lambda: NOON + 9
        await StoredBindings(store).remember([two, three])
    async with opened(place, reactor) as store:
        assert await StoredBindings(store).load() == {two, three}
        await StoredBindings(store).remember([])
        assert await StoredBindings(store).load() == frozenset()


async def test_a_binding_keeps_the_time_it_was_remembered_first(place: Place, reactor: Any) -> None:
    old, new = KeyBinding("KEY", "https://one.example"), KeyBinding("OTHER", "https://one.example")
    async with opened(place, reactor) as store:
        await StoredBindings(store).remember([old])
        store.wall = lambda: NOON + 9
        await StoredBindings(store).remember([old, new])
        assert rows(place, "SELECT reference, at FROM key_bindings ORDER BY 1") == [
            ("KEY", NOON),
            ("OTHER", NOON + 9),
        ]
