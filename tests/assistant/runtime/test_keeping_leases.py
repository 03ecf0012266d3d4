"""Leases kept by a clock that the test moves, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from twisted.internet.task import Clock

from mud_assistant.assistant.journal.postgres.sharing.leases import RENEW_SECONDS
from mud_assistant.assistant.journal.postgres.sharing.messages import LeftMessage, post
from mud_assistant.assistant.journal.postgres.sharing.placement import read_loads
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.runtime.sharing.balancing import CALM_TURNS, TURN_SECONDS, Balancer
from mud_assistant.assistant.runtime.sharing.leases import (
    EVERYBODY,
    EXPIRED_SECONDS,
    GRACE_SECONDS,
    LOOK_SECONDS,
    TURNS,
    LeaseKeeper,
)
from tests.assistant.journal.postgres.neighbours import living
from tests.assistant.journal.postgres.outage import opened
from tests.virtual import turn


async def take(store: PostgresStore, *assistants: str) -> None:
    for one in assistants:
        await store.write(partial(store.take_lease, assistant=one))


async def at_rest(*stores: PostgresStore) -> None:
    """Wait until the threads have done what was asked of them, and what follows from it."""
    for _ in range(6):
        for store in stores:
            await store.read(lambda _: None)
        await turn()


async def test_a_lease_given_back_is_noticed_at_the_next_look_or_at_once_by_a_hint(
    postgres_url: str, reactor: Any
) -> None:
    clock = Clock()
    async with living(postgres_url, reactor, "a") as a, opened(postgres_url, reactor, name="b") as b:
        await take(a, "sage", "anna")
        keeper = LeaseKeeper(b, clock, lambda _: None)
        keeper.start()
        free = [keeper.until_free("sage"), keeper.until_free("anna")]
        clock.advance(LOOK_SECONDS)
        await at_rest(b)
        assert len(keeper.wanted) == len(free)
        await a.write(lambda db: a.leases.release(db, "sage"))
        keeper.hint("nobody")
        await at_rest(b)
        assert not free[0].called
        clock.advance(LOOK_SECONDS)
        await free[0]
        assert keeper.wanted == ("anna",)
        await a.write(lambda db: a.leases.release(db, "anna"))
        keeper.hint(EVERYBODY)
        await free[1]
        await keeper.stop()


async def test_a_lease_that_is_not_renewed_is_noticed_when_it_expires(
    postgres_url: str, reactor: Any, postgres_server: Any, postgres_schema: str
) -> None:
    clock = Clock()
    async with living(postgres_url, reactor, "a") as a, opened(postgres_url, reactor, name="b") as b:
        await take(a, "sage")
        ends = "UPDATE @.processes SET alive_until = now() + interval '0.7 s' WHERE name = 'a'"
        postgres_server.execute(ends.replace("@", postgres_schema))
        keeper = LeaseKeeper(b, clock, lambda _: None)
        keeper.start()
        free = keeper.until_free("sage")
        clock.advance(LOOK_SECONDS)
        await at_rest(b)
        assert not free.called
        await b.read(lambda db: db.execute("SELECT pg_sleep(0.8)").fetchone())
        clock.advance(0.7 + EXPIRED_SECONDS)
        await free
        await keeper.stop()
        assert clock.getDelayedCalls() == []


async def test_what_a_process_waits_for_is_written_down_once_and_taken_back(postgres_url: str, reactor: Any) -> None:
    clock = Clock()
    async with living(postgres_url, reactor, "a") as a, living(postgres_url, reactor, "b") as b:
        await take(a, "sage")
        keeper = LeaseKeeper(b, clock, lambda _: None)
        keeper.start()
        waits = keeper.until_free("sage")
        clock.advance(LOOK_SECONDS)
        await at_rest(b)
        before = b.commits
        (load,) = [one for one in await b.read(read_loads) if one.name == "b"]
        assert load.waits_for == {"sage"}
        clock.advance(LOOK_SECONDS)
        await at_rest(b)
        assert b.commits == before
        waits.addErrback(lambda _: None)
        waits.cancel()
        clock.advance(LOOK_SECONDS)
        await at_rest(b)
        (load,) = [one for one in await b.read(read_loads) if one.name == "b"]
        assert load.waits_for == frozenset()
        await keeper.stop()


async def test_a_lease_that_another_has_taken_is_reported_at_the_next_renewal(postgres_url: str, reactor: Any) -> None:
    clock, lost = Clock(), list[str]()
    async with living(postgres_url, reactor, "a") as a, opened(postgres_url, reactor, name="b") as b:
        await take(a, "sage", "anna")
        keeper = LeaseKeeper(a, clock, lost.append)
        keeper.start()
        await b.write(lambda db: b.leases.take(db, "sage", 0.0, by_force=True))
        clock.advance(RENEW_SECONDS)
        await at_rest(a)
        assert lost == ["sage"]
        assert a.has_expired("sage")
        assert not a.has_expired("anna")
        await keeper.stop()


async def test_messages_are_looked_for_every_five_seconds_and_at_a_notice(postgres_url: str, reactor: Any) -> None:
    clock, found = Clock(), list[str]()

    def deliver(messages: Sequence[LeftMessage]) -> None:
        found.extend(message.id for message in messages)

    async with opened(postgres_url, reactor) as store:
        await take(store, "sage")
        keeper = LeaseKeeper(store, clock, lambda _: None)
        keeper.on_messages = deliver
        keeper.start()
        await store.write(lambda db: post(db, LeftMessage("sage", "message.1", b"")))
        for _ in range(TURNS - 1):
            clock.advance(LOOK_SECONDS)
            await at_rest(store)
        assert found == []
        clock.advance(LOOK_SECONDS)
        await at_rest(store)
        assert found == ["message.1"]
        keeper.look_now()
        keeper.look_now()
        await at_rest(store)
        assert found == ["message.1"] * 3  # who delivers them knows which it has
        await keeper.stop()


async def test_the_lease_of_a_process_without_a_session_is_freed_after_a_grace(
    postgres_url: str, reactor: Any, postgres_server: Any
) -> None:
    clock = Clock()
    async with opened(postgres_url, reactor, name="gone") as gone, opened(postgres_url, reactor, name="b") as b:
        await take(gone, "sage")
        while not postgres_server.execute("SELECT now() - pg_postmaster_start_time() > interval '11 s'")[0][0]:
            await at_rest(b)
        keeper = LeaseKeeper(b, clock, lambda _: None)
        keeper.start()
        free = keeper.until_free("sage")
        clock.advance(LOOK_SECONDS)
        await at_rest(b)
        assert not free.called
        clock.advance(GRACE_SECONDS)
        await free
        await take(b, "sage")
        await keeper.stop()


async def test_assistants_are_given_away_in_one_turn_and_none_when_all_have_as_many(
    postgres_url: str, reactor: Any
) -> None:
    clock, given = Clock(), list[tuple[str, str]]()
    async with living(postgres_url, reactor, "a") as a, living(postgres_url, reactor, "b") as b:
        mine = ["one", "two", "three", "four"]
        await take(a, *mine)
        waits = LeaseKeeper(b, clock, lambda _: None)
        waits.start()
        for one in mine:
            waits.until_free(one).addErrback(lambda _: None)
        clock.advance(LOOK_SECONDS)
        await at_rest(b)

        async def hand_over(assistant: str, to: str) -> None:
            given.append((assistant, to))
            mine.remove(assistant)
            await a.write(lambda db: a.leases.release(db, assistant, to))
            await take(b, assistant)

        balancer = Balancer(a, clock, lambda: list(mine), hand_over)
        balancer.start()
        for _ in range(2):
            clock.advance(TURN_SECONDS)
            await at_rest(a, b)
            await at_rest(a, b)
            assert len(given) == 2
        assert given == [("one", "b"), ("two", "b")]
        for _ in range(CALM_TURNS):
            before = len(given)
            clock.advance(TURN_SECONDS)
            await at_rest(a, b)
            assert len(given) == before
        await balancer.stop()
        await waits.stop()
