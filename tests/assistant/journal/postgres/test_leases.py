"""Who may write for an assistant: one process at a time, as the database's clock and the process's own tell."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.events.outcome import NothingToDo
from mud_assistant.assistant.journal import Fenced, StoredJournal
from mud_assistant.assistant.journal.errors import HeldElsewhere
from mud_assistant.assistant.journal.postgres.sharing.leases import ACT_SECONDS, LEASE_SECONDS, RENEW_SECONDS
from mud_assistant.assistant.journal.postgres.sharing.watch import LookFor, free_gone, look
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from tests.assistant.journal.keeping import TRIGGER, event
from tests.assistant.journal.postgres.outage import WaitingClock, opened
from tests.postgres import PostgresServer


async def age(store: PostgresStore, seconds: float) -> None:
    """Let so many seconds of the database's clock pass for all processes."""
    ages = "UPDATE processes SET alive_until = alive_until - make_interval(secs => ?) WHERE alive_until > '-infinity'"
    await store.read(lambda db: db.execute(ages, (seconds,)).rowcount)


async def test_a_lease_is_held_until_it_expires(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, name="a") as one, opened(postgres_url, reactor, name="b") as two:
        sage, late = StoredJournal(one, "sage"), StoredJournal(two, "sage")
        assert await sage.start() == 1
        await sage.accept(event(1), TRIGGER)
        await age(one, LEASE_SECONDS - 3)
        with pytest.raises(HeldElsewhere, match="a"):
            await late.start()
        await sage.accept(event(2), TRIGGER)
        await age(one, 3)
        assert await late.start() == 2
        for write in (sage.accept(event(3), TRIGGER), sage.open_run(())):
            with pytest.raises(Fenced) as fenced:
                await write
            assert (fenced.value.token, fenced.value.current) == (1, 2)
        assert sage.lease.is_lost
        assert [accepted.event for accepted in await late.pending()] == [event(1), event(2)]
        with pytest.raises(HeldElsewhere, match="b"):
            await sage.start()


async def test_a_renewal_is_for_all_leases_and_tells_which_are_lost(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, name="a") as one, opened(postgres_url, reactor, name="b") as two:
        for name in ("sage", "tom", "ida"):
            await StoredJournal(one, name).start()
        for _ in range(3):  # nine seconds each: longer together than a lease holds
            await age(one, LEASE_SECONDS - 6)
            assert await one.write(one.leases.renew) == set()
        await two.write(lambda db: two.leases.take(db, "tom", 0.0, by_force=True))
        assert await one.write(one.leases.renew) == {"tom"}
        assert await one.write(one.leases.renew) == set()
        assert [one.has_expired(name) for name in ("sage", "tom", "ida")] == [False, True, False]
        with pytest.raises(HeldElsewhere):
            await StoredJournal(two, "sage").start()
        assert await StoredJournal(two, "tom").start() == 3


async def test_the_same_name_is_the_same_process_started_again(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, name="a") as one, opened(postgres_url, reactor, name="a") as again:
        old = StoredJournal(one, "sage")
        await old.start()
        assert await StoredJournal(again, "sage").start() == 2
        with pytest.raises(Fenced):
            await old.accept(event(1), TRIGGER)


async def test_force_takes_it_at_once(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, name="a") as one, opened(postgres_url, reactor, name="b") as two:
        old = StoredJournal(one, "sage")
        await old.start()
        assert await two.write(lambda db: two.leases.take(db, "sage", 0.0, by_force=True)) == 2
        with pytest.raises(Fenced):
            await old.accept(event(1), TRIGGER)


async def test_a_lease_that_was_given_back_is_free_and_a_closed_store_gives_all_back(
    postgres_url: str, reactor: Any
) -> None:
    async with opened(postgres_url, reactor, name="b") as two:
        async with opened(postgres_url, reactor, name="a") as one:
            for name in ("sage", "tom"):
                await StoredJournal(one, name).start()
            await one.write(lambda db: one.leases.release(db, "sage"))
            assert one.has_expired("sage")
            assert await StoredJournal(two, "sage").start() == 2
            with pytest.raises(HeldElsewhere):
                await StoredJournal(two, "tom").start()
        assert await StoredJournal(two, "tom").start() == 2


async def test_who_could_not_renew_in_time_may_not_act(postgres_url: str, reactor: Any) -> None:
    """By the process's own clock, from when the renewal was sent; it is silent before another may begin."""
    assert RENEW_SECONDS < ACT_SECONDS < LEASE_SECONDS
    clock = WaitingClock()
    async with opened(postgres_url, reactor, clock) as store:
        assert store.has_expired("sage")
        await StoredJournal(store, "sage").start()
        clock.time = ACT_SECONDS - 0.1
        assert not store.has_expired("sage")
        clock.time = ACT_SECONDS
        assert store.has_expired("sage")

        def slow(db: Any) -> Any:
            try:
                return store.leases.renew(db)
            finally:
                clock.time += 4

        await store.write(slow)  # sent now, answered 4 seconds later
        clock.time = 2 * ACT_SECONDS - 0.1
        assert not store.has_expired("sage")
        clock.time = 2 * ACT_SECONDS
        assert store.has_expired("sage")


async def test_a_renewal_that_came_too_late_still_counts_when_nobody_took_over(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:
        journal = StoredJournal(store, "sage")
        await journal.start()
        await age(store, 2 * LEASE_SECONDS)
        assert await store.write(store.leases.renew) == set()
        run = await journal.open_run(())
        await journal.close_run(run, NothingToDo())
        assert not store.has_expired("sage")


async def test_tokens_only_grow_even_when_the_lease_is_missing(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:
        journal = StoredJournal(store, "sage")
        for _ in range(3):
            await journal.start()
        await journal.open_run(())
        await store.read(lambda db: db.execute("DELETE FROM leases").rowcount)
        assert await StoredJournal(store, "sage").start() == 4


async def test_the_end_of_a_process_is_seen_by_its_lock(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    """These processes have no listener and so no lock: one gets a lock of its own, and the other is gone."""
    url, wanted = postgres_server.url(postgres_schema), ("sage", "tom", "ida")
    async with (
        opened(url, reactor, name="a") as one,
        opened(url, reactor, name="b") as two,
        opened(url, reactor, name="c") as watcher,
    ):
        await one.read(lambda db: db.execute("SELECT pg_advisory_lock(?)", (one.process.lock_key,)).fetchone())
        await StoredJournal(one, "sage").start()
        await StoredJournal(two, "tom").start()
        await StoredJournal(two, "ida").start()
        await two.write(lambda db: two.leases.release(db, "ida"))
        seen = await watcher.read(lambda db: look(db, LookFor(watcher.process, wanted)))
        assert seen.free == ["ida"]
        assert seen.suspects in ([], ["tom"])  # by the time since the server was started
        assert await watcher.write(lambda db: free_gone(db, wanted[:2])) == ["tom"]
        assert await StoredJournal(watcher, "tom").start() == 2
        with pytest.raises(HeldElsewhere):
            await StoredJournal(watcher, "sage").start()


async def test_assistants_of_a_process_that_is_gone_are_counted_as_taken_over_and_those_given_back_are_not(
    postgres_url: str, reactor: Any
) -> None:
    async with opened(postgres_url, reactor, name="gone") as gone, opened(postgres_url, reactor, name="b") as two:
        for name in ("sage", "tom", "ida"):
            await StoredJournal(gone, name).start()
        assert (gone.leases.count(), gone.leases.takeovers) == (3, 0)
        await gone.write(lambda db: gone.leases.release(db, "ida"))
        await age(gone, LEASE_SECONDS)
        for name in ("sage", "tom", "ida"):
            await StoredJournal(two, name).start()
        assert (gone.leases.count(), two.leases.count(), two.leases.takeovers) == (2, 3, 2)
        assert await gone.write(gone.leases.renew) == {"sage", "tom"}
        assert gone.leases.count() == 0
