"""What owners want of initiative, and what a stopped assistant promised, in the rows of a file and of a database."""

from __future__ import annotations

from typing import Any

from mud_assistant.assistant.events.goal import GoalState
from mud_assistant.assistant.journal import StoredQuiet
from mud_assistant.assistant.journal.database import put_meta
from mud_assistant.assistant.journal.tables.lived_log import read_lived
from mud_assistant.assistant.journal.tables.promised_goals import drop, load
from mud_assistant.assistant.journal.tables.removal import erase
from tests.assistant.journal.keeping import NOON, Place, event, started
from tests.assistant.journal.tables.test_goals import BREAD, DONE, FIRE, promised


async def test_keys_are_kept_and_removed_beside_all_others(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        store = journal.lease.store
        await store.write(lambda db: put_meta(db, "quietly", "no key of ours"))
        quiet = StoredQuiet(store)
        assert await quiet.load() == frozenset()
        for key in ("quiet all", f"quiet {journal.lease.assistant}", f"away {journal.lease.assistant}"):
            await quiet.put(key, is_so=True)
            await quiet.put(key, is_so=True)
        assert len(await quiet.load()) == 3
        await quiet.put("quiet assistant:9", is_so=False)
        await store.write(lambda db: erase(db, journal.lease.assistant))
        assert await quiet.load() == {"quiet all"}
        await quiet.put("quiet all", is_so=False)
        assert await quiet.load() == frozenset()
        assert await store.read(lambda db: db.execute("SELECT 1 FROM meta WHERE key = 'quietly'").fetchone()) == (1,)


async def test_only_what_is_not_over_is_dropped(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        lease = journal.lease
        await promised(journal, BREAD, FIRE)
        dropped = await lease.write(lambda db: drop(db, lease.assistant, BREAD.id, "nobody wants it", NOON))
        assert dropped is not None
        assert (dropped.state, dropped.reason, dropped.text) == (GoalState.DROPPED, "nobody wants it", BREAD.text)
        assert await lease.write(lambda db: drop(db, lease.assistant, BREAD.id, "again", NOON)) is None
        assert await lease.write(lambda db: drop(db, "assistant:9", FIRE.id, "not its own", NOON)) is None
        await journal.save_goals([DONE])
        kept, unreadable = await lease.read(lambda db: load(db, lease.assistant, with_ended=False))
        assert ([goal.id for goal in kept], unreadable) == ([FIRE.id], 0)


async def test_what_was_lived_is_read_since_a_time(place: Place, reactor: Any) -> None:
    async with started(place, reactor) as journal:
        await promised(journal, BREAD)
        lease = journal.lease
        lived = await lease.read(lambda db: read_lived(db, lease.assistant, 0.0, 0))
        assert (len(lived.heard), len(lived.acted), lived.runs) == (1, 1, 0)
        assert event(1).who.id
        nothing = await lease.read(lambda db: read_lived(db, lease.assistant, lived.heard[0] + 1, 0))
        assert (nothing.heard, nothing.acted) == ((), ())
        other = await lease.read(lambda db: read_lived(db, "assistant:9", 0.0, 0))
        assert (other.heard, other.tokens, other.money) == ((), 0, 0.0)
