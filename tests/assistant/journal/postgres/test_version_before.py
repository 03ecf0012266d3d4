"""Processes of the version before, which renew each lease by itself, at work beside those of today on the same tables.

What the version before sends is written out here as it was in commit 83cfdd5d, so that it stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import pytest

from mud_assistant.assistant.journal import HeldElsewhere
from mud_assistant.assistant.journal.postgres import schema
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase, connect
from mud_assistant.assistant.journal.postgres.sharing.leases import LEASE_SECONDS
from mud_assistant.assistant.journal.postgres.sharing.watch import LookFor, current_holders, free_gone, look
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from tests.assistant.journal.postgres.neighbours import living
from tests.assistant.journal.postgres.outage import opened
from tests.assistant.journal.postgres.test_leases import age

LOCK_KEY = 4711
_TAKE = """UPDATE leases SET token = token + 1, holder = 'older', expires_at = now() + interval '15 s'
    WHERE assistant = ? AND (expires_at <= now() OR holder = 'older')"""
_RENEW = "UPDATE leases SET expires_at = now() + interval '15 s' WHERE holder = 'older' RETURNING assistant"
_FREE_GONE = """UPDATE leases SET expires_at = '-infinity' FROM processes p
    WHERE p.id = holder AND assistant = ANY(?) AND NOT EXISTS (
        SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
        AND ((classid::bigint << 32) | objid::bigint) = p.lock_key) RETURNING assistant"""
_AGE = """SELECT 15 - extract(epoch FROM expires_at - now())::double precision, min(expires_at) - now()
    FROM leases GROUP BY expires_at"""
_AWAIT_LOCK = "SELECT pg_advisory_lock(?), pg_advisory_unlock(?)"
_ROWS = "SELECT assistant, xmin::text FROM leases ORDER BY 1"


class Older:
    """A process of the version before. It shows by its lock that it lives, until its connection is closed."""

    def __init__(self, db: PostgresDatabase) -> None:
        self.db = db
        db.execute("INSERT INTO processes (id, name, lock_key, address) VALUES ('older', 'older', ?, '')", (LOCK_KEY,))
        db.execute("SELECT pg_advisory_lock(?)", (LOCK_KEY,))

    def take(self, assistant: str) -> bool:
        self.db.execute(
            "INSERT INTO leases (assistant, token, taken_at) VALUES (?, 0, 0) ON CONFLICT DO NOTHING", (assistant,)
        )
        return self.db.execute(_TAKE, (assistant,)).rowcount > 0

    def renew(self) -> list[str]:
        return [row[0] for row in self.db.execute(_RENEW)]


@contextmanager
def older_process(url: str) -> Iterator[Older]:
    with closing(connect(url)) as watching:
        with closing(connect(url)) as db:
            yield Older(db)
        watching.execute(_AWAIT_LOCK, (LOCK_KEY,) * 2)  # its session ends a moment after its connection


async def take(store: PostgresStore, assistant: str) -> int:
    return await store.write(partial(store.take_lease, assistant=assistant))


async def rows(store: PostgresStore, sql: str = _ROWS) -> list[tuple[Any, ...]]:
    return await store.read(lambda db: db.execute(sql).fetchall())


async def pass_seconds(store: PostgresStore, seconds: float) -> None:
    """Let time pass for the leases of both versions."""
    await age(store, seconds)
    sql = """UPDATE leases SET expires_at = expires_at - make_interval(secs => ?)
        WHERE expires_at BETWEEN '2000-1-1' AND '3000-1-1'"""
    await store.read(lambda db: db.execute(sql, (seconds,)).rowcount)


async def test_one_that_runs_goes_on_after_the_tables_were_changed_and_keeps_what_it_renews(
    postgres_url: str, reactor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before, closing(connect(postgres_url)) as db:
        before.setattr(schema, "STEPS", schema.STEPS[:4])
        schema.migrate(db)
    with older_process(postgres_url) as older:
        assert older.take("sage")
        async with living(postgres_url, reactor, "newer") as newer:
            for _ in range(3):
                await pass_seconds(newer, LEASE_SECONDS - 3)
                assert older.renew() == ["sage"]
                with pytest.raises(HeldElsewhere, match="older"):
                    await take(newer, "sage")
                assert (await newer.read(lambda db: look(db, LookFor(newer.process, ["sage"])))).free == []
            await pass_seconds(newer, LEASE_SECONDS)
            assert (await newer.read(lambda db: look(db, LookFor(newer.process, ["sage"])))).free == ["sage"]
            assert await take(newer, "sage") == 2
            assert older.renew() == []
            assert not older.take("sage")


async def test_it_takes_nothing_from_one_of_today_that_lives_and_all_from_one_that_hangs(
    postgres_url: str, reactor: Any
) -> None:
    async with living(postgres_url, reactor, "newer") as newer:
        await take(newer, "sage")
        await take(newer, "tom")
        with older_process(postgres_url) as older:
            assert not older.take("sage")
            for _ in range(3):
                assert await newer.write(newer.leases.renew) == set()
                await pass_seconds(newer, LEASE_SECONDS - 3)
                assert not older.take("sage")
            await pass_seconds(newer, 3)  # it hangs
            assert older.take("sage")
            assert await newer.write(newer.leases.renew) == {"sage"}
            assert newer.has_expired("sage")
            assert not newer.has_expired("tom")
            assert not older.take("tom")


async def test_leases_are_renewed_one_by_one_only_while_it_lives(postgres_url: str, reactor: Any) -> None:
    async with living(postgres_url, reactor, "newer") as newer:
        for one in ("sage", "tom"):
            await take(newer, one)
        before = await rows(newer)
        await newer.write(newer.leases.renew)
        assert await rows(newer) == before, "a renewal changes no lease"
        with older_process(postgres_url) as older:
            older.db.execute(_AGE).fetchall()  # it can reckon with what stands there
            await newer.write(newer.leases.renew)
            assert await rows(newer, "SELECT expires_at < now() + interval '16 s' FROM leases") == [(True,)] * 2
        await newer.write(newer.leases.renew)
        before = await rows(newer)
        await newer.write(newer.leases.renew)
        assert await rows(newer) == before
        held = await newer.read(current_holders)
        assert [(assistant, process, ago < 1) for assistant, process, _, ago in held] == [
            ("sage", "newer", True),
            ("tom", "newer", True),
        ]


async def test_each_lets_the_leases_of_the_other_expire_that_is_gone(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, name="gone") as gone, living(postgres_url, reactor, "newer") as newer:
        await take(gone, "sage")
        with older_process(postgres_url) as older:
            found = older.db.execute(_FREE_GONE, (["sage"],)).fetchall()
            assert found == [("sage",)]
            assert await gone.write(gone.leases.renew) == set(), "it comes back before anybody took it"
            assert not older.take("sage")
            older.db.execute(_FREE_GONE, (["sage"],))
            assert older.take("sage")
            assert await newer.write(partial(free_gone, suspects=["sage"])) == []
        assert await newer.write(partial(free_gone, suspects=["sage"])) == ["sage"]
        assert await take(newer, "sage") == 3


async def test_of_one_that_is_gone_all_assistants_are_free_by_one_row(postgres_url: str, reactor: Any) -> None:
    many = [f"sage {number:03}" for number in range(200)]
    async with opened(postgres_url, reactor, name="gone") as gone, living(postgres_url, reactor, "b") as b:

        def take_all(db: Any) -> None:
            for one in many:
                gone.take_lease(db, one)

        await gone.write(take_all)
        before = await rows(b)
        assert await b.write(partial(free_gone, suspects=many)) == many
        assert await rows(b) == before
        assert await gone.write(gone.leases.renew) == set()
        with pytest.raises(HeldElsewhere):
            await take(b, many[0])
