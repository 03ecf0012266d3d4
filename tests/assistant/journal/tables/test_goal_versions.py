"""Goals in a journal of an older program: there is room for them, and those that are not over are found by an index."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import GoalState
from mud_assistant.assistant.journal import JournalRefused, OpeningRefused
from mud_assistant.assistant.journal.database import Database, FoundRows, Values, is_sqlite
from mud_assistant.assistant.journal.files import create
from mud_assistant.assistant.journal.postgres import schema as in_server
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.schema import SCHEMA, version_of
from mud_assistant.assistant.journal.sqlite.opening import open_file
from mud_assistant.assistant.journal.tables.promised_goals import add, load
from tests.assistant.journal.keeping import NOON, Place, started
from tests.assistant.journal.tables.test_goals import BREAD, DONE, FIRE, promised


@contextmanager
def program_of(steps: int, monkeypatch: pytest.MonkeyPatch, place: Place) -> Iterator[Database]:
    """The tables of this place as a program with so many of the steps of today's makes them."""
    if isinstance(place, Path):
        create(place, SCHEMA.upto(steps))
        with closing(sqlite3.connect(place, isolation_level=None)) as file:
            yield file
        return
    with monkeypatch.context() as older, closing(connect(place)) as db:
        older.setattr(in_server, "STEPS", in_server.STEPS[:steps])
        in_server.migrate(db)
        assert in_server.version_of(db) == steps
        yield db


def steps_of(place: Place) -> Sequence[tuple[str, ...]]:
    return SCHEMA.steps if isinstance(place, Path) else in_server.STEPS


async def test_a_journal_of_the_version_before_gets_room_for_them(
    place: Place, reactor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = steps_of(place)
    before = next(at for at, step in enumerate(steps) if step[0].startswith("CREATE TABLE goals"))
    with program_of(before, monkeypatch, place):
        pass
    async with started(place, reactor) as journal:
        assert await journal.goals() == ()
        await promised(journal, BREAD)
        assert await journal.goals() == (BREAD,)


class Explained:
    """A database that notes how it answers each statement before it answers it."""

    def __init__(self, db: Database, explain: str) -> None:
        self.db = db
        self.explain = explain
        self.plans: list[str] = []

    def execute(self, sql: str, values: Values = (), /) -> FoundRows:
        self.plans.append(str(self.db.execute(f"{self.explain} {sql}", values).fetchall()))
        return self.db.execute(sql, values)

    def executemany(self, sql: str, rows: Iterable[Values], /) -> FoundRows:
        return self.db.executemany(sql, rows)


async def test_those_that_are_not_over_are_found_by_an_index_also_in_an_older_journal(
    place: Place, reactor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An assistant has few of them, among all that it ever promised."""
    ended = [replace(DONE, id=f"done {number}", made_at=NOON + number) for number in range(2000)]
    withdrawn = replace(FIRE, state=GoalState.WITHDRAWN)
    with program_of(len(steps_of(place)) - 1, monkeypatch, place) as db:
        add(db, "sage", [BREAD, withdrawn, *ended], NOON)
    async with started(place, reactor) as journal:
        assert await journal.goals() == (BREAD, withdrawn)
    is_file = isinstance(place, Path)
    with closing(sqlite3.connect(place) if isinstance(place, Path) else connect(place)) as db:
        assert (version_of(db) if is_sqlite(db) else in_server.version_of(db)) == len(steps_of(place))
        db.execute("ANALYZE goals")
        explained = Explained(db, "EXPLAIN QUERY PLAN" if is_file else "EXPLAIN")
        assert load(explained, "sage", with_ended=False) == ((BREAD, withdrawn), 0)
    assert "goals_living" in explained.plans[0]
    assert not re.search("sort|temp b-tree", explained.plans[0], re.IGNORECASE)


async def test_the_program_before_refuses_the_journal_of_today(
    place: Place, reactor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with started(place, reactor):
        pass
    before = len(steps_of(place)) - 1
    if isinstance(place, Path):
        db, state = open_file(place, SCHEMA.upto(before), NOON)
        assert db is None
        assert isinstance(state, OpeningRefused)
        assert f"version {before + 1}, this one knows {before}" in state.sentence
    else:
        with pytest.raises(JournalRefused, match="newer"), program_of(before, monkeypatch, place):
            pass
