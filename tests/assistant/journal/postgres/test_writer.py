"""The writer's thread on a real server: what goes into one transaction, and what stands in its way."""

from __future__ import annotations

from contextlib import closing
from threading import Event
from typing import Any

import psycopg
import pytest

from mud_assistant.assistant.journal import Fenced, StoredJournal
from mud_assistant.assistant.journal.database import Database, DuplicateKey
from mud_assistant.assistant.journal.errors import JournalUnwritable
from mud_assistant.assistant.journal.postgres.connection import PostgresDatabase
from tests.assistant.journal.keeping import TRIGGER, event
from tests.assistant.journal.postgres.outage import PATIENCE, opened, put, together, words
from tests.postgres import PostgresServer


def give_up(_: Database) -> None:
    raise LookupError("a bug")


def put_twice(db: Database) -> None:
    put("x")(db)
    for _ in range(2):
        db.execute("INSERT INTO meta VALUES ('twice', '')")


def divide(db: Database) -> None:
    put("y")(db)
    db.execute("SELECT 1 / 0")


ERRORS = {give_up: LookupError, put_twice: DuplicateKey, divide: psycopg.DataError}


@pytest.mark.parametrize("bad", ERRORS)
@pytest.mark.parametrize("place", [0, 1, 3])
async def test_a_work_that_raises_leaves_the_others_whole(
    postgres_url: str, reactor: Any, bad: Any, place: int
) -> None:
    async with opened(postgres_url, reactor) as store:
        works: list[Any] = [put(word) for word in "abc"]
        works.insert(place, bad)
        before = store.commits
        asked = await together(store, *works)
        with pytest.raises(ERRORS[bad]):
            await asked.pop(place)
        assert [await one for one in asked] == ["a", "b", "c"]
        assert store.commits == before + 1
        assert await words(store) == ["a", "b", "c"]
        assert store.trouble is None


async def test_works_that_all_raise_leave_the_store_usable(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:
        for failing in await together(store, give_up, put_twice, divide):
            with pytest.raises((LookupError, DuplicateKey, psycopg.DataError)):
                await failing
        assert await store.write(put("a")) == "a"
        assert await words(store) == ["a"]


async def test_a_read_sees_every_write_asked_for_before_it(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:
        writes = [store.write(put(f"{number:02}")) for number in range(40)]
        assert await words(store) == [f"{number:02}" for number in range(40)]
        store.write(put("later"))
        assert all([await one for one in writes])


async def test_a_token_that_was_raised_in_a_batch_counts_for_those_after_it(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:
        old, new = StoredJournal(store, "sage"), StoredJournal(store, "sage")
        await old.start()
        asked = await together(
            store, lambda db: store.take_lease(db, "sage"), lambda db: store.token_of(db, "sage"), give_up,
            lambda db: store.token_of(db, "sage"),
        )  # fmt: skip
        with pytest.raises(LookupError):
            await asked.pop(2)
        assert [await one for one in asked] == [2, 2, 2]
        with pytest.raises(Fenced):
            await old.accept(event(1), TRIGGER)
        assert await new.start() == 3


async def test_of_two_that_wait_for_each_other_one_is_done_again(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, name="a") as one, opened(postgres_url, reactor, name="b") as two:
        await one.write(lambda db: db.execute("INSERT INTO meta VALUES ('x', '0'), ('y', '0')"))
        has = {"x": Event(), "y": Event()}
        runs: list[str] = []

        def both(first: str, then: str) -> Any:
            def work(db: Database) -> None:
                runs.append(first)
                add = "UPDATE meta SET value = CAST(CAST(value AS int) + 1 AS text) WHERE key = ?"
                assert db.execute(add, (first,)).rowcount == 1  # its answer is here
                has[first].set()
                assert has[then].wait(PATIENCE)
                db.execute(add, (then,))

            return work

        asked = one.write(both("x", "y")), two.write(both("y", "x"))
        for done in asked:
            await done
        assert len(runs) > 2  # and the other one too, when they meet once more
        found = await one.read(lambda db: db.execute("SELECT key, value FROM meta WHERE key IN ('x', 'y')").fetchall())
        assert sorted(found) == [("x", "2"), ("y", "2")]


def impatient(runs: list[str]) -> Any:
    def work(db: Database) -> None:
        put("again", runs)(db)
        db.execute("SET LOCAL lock_timeout = '20ms'")
        db.execute("UPDATE meta SET value = 'ours' WHERE key = 'held'")

    return work


async def test_a_row_that_another_holds_is_tried_again(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    url, runs = postgres_server.url(postgres_schema), list[str]()
    async with opened(url, reactor) as store:
        await store.write(lambda db: db.execute("INSERT INTO meta VALUES ('held', 'theirs')"))
        with closing(psycopg.connect(url)) as other:
            other.execute("UPDATE meta SET value = 'theirs' WHERE key = 'held'")
            with pytest.raises(JournalUnwritable):
                await store.write(impatient(runs))
            assert len(runs) > 3
            runs.clear()

            def let_go(db: Database) -> None:
                if len(runs) == 2:
                    other.commit()
                impatient(runs)(db)

            await store.write(let_go)
        assert len(runs) >= 3
        assert await words(store) == ["again"]


async def test_a_session_that_became_read_only_is_left(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor) as store:

        def close_it(db: Database) -> None:
            assert isinstance(db, PostgresDatabase)
            db.run("SET default_transaction_read_only = on")

        await store.read(close_it)
        assert await store.write(put("a")) == "a"
        assert await words(store) == ["a"]


async def test_a_process_is_on_the_list_as_long_as_it_is_open(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    url = postgres_server.url(postgres_schema)
    listed = f'SELECT name FROM "{postgres_schema}".processes ORDER BY 1'  # noqa: S608  (a name of ours)
    async with opened(url, reactor, name="one"):
        postgres_server.execute(
            f"""INSERT INTO "{postgres_schema}".processes (id, name, lock_key, address, seen_at)
                VALUES ('x', 'gone', 1, '', now() - interval '2 days'), ('y', 'seen', 2, '', now())"""  # noqa: S608
        )
        async with opened(url, reactor, name="two"):
            assert postgres_server.execute(listed) == [("one",), ("seen",), ("two",)]
    assert postgres_server.execute(listed) == [("seen",)]
