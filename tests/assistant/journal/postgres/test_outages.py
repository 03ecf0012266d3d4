"""Lines that are cut and servers that end: nothing is done twice, and nothing that was told as done is lost."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from mud_assistant.assistant.journal import Sound
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import JournalRefused, JournalUnreadable, JournalUnwritable
from mud_assistant.assistant.journal.place import OpeningRefused, ReadOnly
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.schema import LOCK, STEPS, migrate
from mud_assistant.assistant.journal.postgres.writer import GIVE_UP_SECONDS
from mud_assistant.assistant.journal.store import CALM_COMMITS
from tests.assistant.journal.postgres.outage import WaitingClock, opened, put, together, words
from tests.postgres import PostgresServer
from tests.postgres_relay import AFTER, BEFORE, relay_to


def give_up(_: Database) -> None:
    raise LookupError("a bug")


@pytest.mark.parametrize(("where", "times"), [(BEFORE, 2), (AFTER, 1)])
async def test_a_line_that_is_cut_around_a_commit_does_it_once(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any, where: str, times: int
) -> None:
    with relay_to(postgres_server) as relay:
        async with opened(relay.url(postgres_schema), reactor, WaitingClock()) as store:
            runs: list[str] = []
            for number in range(3):
                before = store.commits
                works = [put(f"{number}a", runs), give_up, put(f"{number}b", runs)]
                relay.cut_at_commit(where)
                asked = await together(store, *works)
                assert await asked[0] == f"{number}a"
                with pytest.raises(LookupError):
                    await asked[1]
                assert await asked[2] == f"{number}b"
                assert store.commits == before + 1
            assert relay.commits_cut == 3
            # The first is done once more: in a pipeline with the one that fails, which is given up.
            assert len(runs) == (2 + 1) * 3 * times
            assert await words(store) == ["0a", "0b", "1a", "1b", "2a", "2b"]


@pytest.mark.parametrize("where", [BEFORE, AFTER])
async def test_a_doubt_that_lasts_is_settled_later_and_is_not_about_the_next(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any, where: str
) -> None:
    with relay_to(postgres_server) as relay:
        clock = WaitingClock()
        async with opened(relay.url(postgres_schema), reactor, clock) as store:
            relay.cut_at_commit(where)
            relay.refuses = True
            with pytest.raises(JournalUnwritable):
                await store.write(put("doubtful"))
            assert clock.time > GIVE_UP_SECONDS / 2
            relay.refuses = False
            assert await words(store) == ["doubtful"] * (where == AFTER)
            assert [await store.write(put(word)) for word in "ab"] == ["a", "b"]
            assert await words(store) == ["a", "b"] + ["doubtful"] * (where == AFTER)


async def test_a_doubt_is_settled_by_the_next_write_too(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    with relay_to(postgres_server) as relay:
        async with opened(relay.url(postgres_schema), reactor, WaitingClock()) as store:
            relay.cut_at_commit(AFTER)
            relay.refuses = True
            with pytest.raises(JournalUnwritable):
                await store.write(put("doubtful"))
            relay.refuses = False
            assert await store.write(put("next")) == "next"
            assert await words(store) == ["doubtful", "next"]


async def test_a_session_that_is_ended_in_the_middle_is_no_loss(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, WaitingClock()) as store:
        runs: list[str] = []

        def end_it(db: Database) -> None:
            put("b", runs)(db)
            if len(runs) < 4:
                db.execute("SELECT pg_terminate_backend(pg_backend_pid())")

        for done in await together(store, put("a", runs), end_it, put("c", runs)):
            await done
        assert await words(store) == ["a", "b", "c"]
        assert runs.count("a") == 2


async def test_a_session_that_is_ended_while_nothing_is_done_is_made_anew(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    clock = WaitingClock()
    async with opened(postgres_server.url(postgres_schema), reactor, clock) as store:
        for word in "ab":
            postgres_server.end_sessions()
            assert await store.write(put(word)) == word
            assert await words(store) == list("ab"[: "ab".index(word) + 1])
        assert clock.time == 0.0


async def test_a_line_that_says_nothing_is_left_and_its_session_ended(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    """The old session holds the row of the process, as nobody told the server that the line is gone."""
    with relay_to(postgres_server) as relay:
        async with opened(relay.url(postgres_schema), reactor, WaitingClock()) as store:
            calls: list[str] = []

            def mute(db: Database) -> None:
                put("a", calls)(db)
                if len(calls) == 1:
                    db.connection.answer_seconds = 0.2  # type: ignore[attr-defined]
                    relay.stall()

            await store.write(mute)
            assert len(calls) == 2
            assert await words(store) == ["a"]


@pytest.mark.parametrize("how", ["crash", "orderly"])
async def test_a_server_that_is_back_in_time_has_all_that_was_told_and_does_what_waits(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any, how: str
) -> None:
    waits: list[float] = []

    def wait(time: float) -> None:
        waits.append(time)
        if len(waits) == 3:
            postgres_server.start()

    told: list[str] = []
    async with opened(postgres_server.url(postgres_schema), reactor, WaitingClock(wait), told=told) as store:
        early = [f"a{number:02}" for number in range(20)]
        for word in early:
            await store.write(put(word))
        (postgres_server.stop_immediate if how == "crash" else postgres_server.stop)()
        late = [f"b{number:02}" for number in range(20)]
        asked = [store.write(put(word)) for word in late]
        assert [await one for one in asked] == late
        assert await words(store) == early + late
        assert len(waits) >= 3
    assert not any(told)


async def test_a_server_that_stays_away_fails_what_waits_until_it_is_back(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    clock, told = WaitingClock(), list[str]()
    async with opened(postgres_server.url(postgres_schema), reactor, clock, told=told) as store:
        await store.write(put("a"))
        postgres_server.stop_immediate()
        asked = [store.write(put(word)) for word in "bcd"]
        reading = store.read(lambda db: db.execute("SELECT 1").fetchone())
        for one in asked:
            with pytest.raises(JournalUnwritable) as failed:
                await one
            assert len(str(failed.value).splitlines()) == 1
            assert str(failed.value).startswith("the journal could not be written: ")
        with pytest.raises(JournalUnreadable):
            await reading
        assert GIVE_UP_SECONDS - 2 < clock.time <= GIVE_UP_SECONDS
        before = clock.time
        with pytest.raises(JournalUnwritable):
            await store.write(put("e"))
        assert clock.time == before  # who knows of the trouble need not wait for it again
        assert [line.count("\n") for line in told] == [0]
        postgres_server.start()
        assert await store.write(put("f")) == "f"
        for _ in range(CALM_COMMITS):
            await store.write(lambda _: None)
        assert await words(store) == ["a", "f"]
    assert told[-1] == ""


async def test_a_server_that_comes_late_is_used(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    postgres_server.stop_immediate()
    async with opened(postgres_server.url(postgres_schema), reactor, WaitingClock()) as store:
        found = store.opened
        assert isinstance(found, ReadOnly)
        with pytest.raises(JournalUnwritable):
            await store.write(put("a"))
        postgres_server.start()
        assert await store.write(put("b")) == "b"
        found = store.opened
        assert isinstance(found, Sound)
        assert await words(store) == ["b"]


async def test_tables_of_a_newer_version_that_come_late_are_refused(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    url, clock = postgres_server.url(postgres_schema), WaitingClock()
    with closing(connect(url)) as db:
        migrate(db)
        db.execute("UPDATE meta SET value = ? WHERE key = 'schema version'", (str(len(STEPS) + 1),))
    postgres_server.stop_immediate()
    async with opened(url, reactor, clock) as store:
        postgres_server.start()
        for _ in range(2):
            with pytest.raises(JournalRefused, match="newer"):
                await store.write(put("a"))
        assert isinstance(store.opened, OpeningRefused)
        assert clock.time == 0.0


async def test_a_search_path_without_a_schema_is_refused_at_once(postgres_server: PostgresServer, reactor: Any) -> None:
    clock = WaitingClock()
    async with opened(postgres_server.url("nowhere"), reactor, clock) as store:
        assert isinstance(store.opened, OpeningRefused)
        with pytest.raises(JournalRefused, match="schema"):
            await store.write(put("a"))
        assert clock.time == 0.0


async def test_tables_that_are_gone_fail_what_is_asked_and_not_the_store(postgres_url: str, reactor: Any) -> None:
    async with opened(postgres_url, reactor, WaitingClock()) as store:
        await store.read(lambda db: db.execute("ALTER TABLE processes RENAME TO away").rowcount)
        for _ in range(2):
            with pytest.raises(JournalUnwritable):
                await store.write(put("a"))
        with closing(connect(postgres_url)) as db:
            db.execute("ALTER TABLE away RENAME TO processes")
        assert await store.write(put("b")) == "b"
        assert await words(store) == ["b"]


async def test_who_connects_waits_for_no_process_that_hangs_while_it_connects(
    postgres_server: PostgresServer, postgres_schema: str, reactor: Any
) -> None:
    url = postgres_server.url(postgres_schema)
    async with opened(url, reactor, name="a"):
        pass
    with closing(connect(url)) as hanging:
        hanging.execute("SELECT pg_advisory_lock(?)", (LOCK,))
        async with opened(url, reactor, WaitingClock(), name="b") as store:
            assert isinstance(store.opened, Sound)
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE '% writer %'"
            )
            assert await store.write(put("a")) == "a"
