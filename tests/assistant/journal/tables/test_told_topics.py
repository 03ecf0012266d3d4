"""What somebody was told of an assistant's topics outlives its process, is kept apart by hearing, and is bounded."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeVar

import pytest

from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.schema import migrate
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.tables import memories
from mud_assistant.assistant.journal.tables.sleep_state import load_sleep, save_sleep
from mud_assistant.assistant.journal.tables.told_topics import MAX_PEOPLE, MAX_TOPICS, StoredTold, Told

T = TypeVar("T")


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    if request.param == "sqlite":
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
            SCHEMA.migrate(made)
            yield made
        return
    with closing(connect(request.getfixturevalue("postgres_url"))) as server:
        migrate(server)
        yield server


class Rows:
    """The rows of one assistant, read and written at once."""

    assistant = "sage"

    def __init__(self, db: Database) -> None:
        self.db = db

    async def read(self, work: Callable[[Database], T]) -> T:
        return work(self.db)

    write = read


def told_in(db: Database) -> StoredTold:
    """What a process that has just started knows."""
    rows: Any = Rows(db)
    return StoredTold(rows)


async def test_it_is_known_after_a_restart_by_the_persons_id_and_forgotten_with_them(db: Database) -> None:
    save_sleep(db, "sage", {"greeted": {"7": 1.0}})  # as an older version kept whom it greeted
    await told_in(db).add("7", "mill", Told((0, 2), 5.0), private=False)
    await told_in(db).add("8", "mill", Told((1,), 6.0, closed=True), private=False)
    assert await told_in(db).of("7", private=False) == {"mill": Told((0, 2), 5.0)}
    assert await told_in(db).of("8", private=False) == {"mill": Told((1,), 6.0, closed=True)}
    memories.forget(db, "sage", "7")
    assert await told_in(db).of("7", private=True) == {}
    assert await told_in(db).of("8", private=False)
    memories.clear(db, "sage")
    assert await told_in(db).of("8", private=True) == {}


async def test_what_was_told_in_private_counts_only_in_private(db: Database) -> None:
    await told_in(db).add("7", "mill", Told((0,), 1.0), private=False)
    await told_in(db).add("7", "mill", Told((1,), 2.0), private=True)
    assert await told_in(db).of("7", private=False) == {"mill": Told((0,), 1.0)}
    assert await told_in(db).of("7", private=True) == {"mill": Told((0, 1), 2.0)}
    memories.forget(db, "sage", "7")
    assert await told_in(db).of("7", private=True) == {}


async def test_those_told_longest_ago_go_first(db: Database) -> None:
    for number in range(MAX_TOPICS + 2):
        await told_in(db).add("7", str(number), Told((0,), float(number)), private=False)
    assert sorted(map(int, await told_in(db).of("7", private=False))) == list(range(2, MAX_TOPICS + 2))
    for number in range(MAX_PEOPLE):
        await told_in(db).add(f"p{number}", "mill", Told((0,), 1.0), private=False)
    assert not await told_in(db).of("7", private=False)
    assert await told_in(db).of("p0", private=False)


async def test_what_cannot_be_read_counts_as_never_told_and_the_rest_of_the_record_stays(db: Database) -> None:
    save_sleep(
        db, "sage", {"greeted": {"7": 1.0}, "told": {"7": {"mill": ["x"], "inn": [1.0, False, 0], "a": 3}, "8": 1}}
    )
    assert await told_in(db).of("7", private=True) == {"inn": Told((0,), 1.0)}
    await told_in(db).add("8", "mill", Told((0,), 1.0), private=False)
    kept: Any = load_sleep(db, "sage")
    assert kept["greeted"] == {"7": 1.0}
