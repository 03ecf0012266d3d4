"""What only the index in PostgreSQL does; what both do is in the other files here."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from random import Random
from typing import Any

import pytest

from mud_assistant.assistant.journal import StoredJournal
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.memory.recall import RecallIndexError, RecallQuery, SqliteIndex, Vector, make_vector
from mud_assistant.assistant.memory.recall.postgres.index import PostgresIndex
from mud_assistant.assistant.memory.recall.postgres.lists import BIT_COUNT, OLD_BIT_COUNT
from mud_assistant.assistant.memory.recall.postgres.tokens import find_tokens, write_queries, write_vector
from mud_assistant.assistant.memory.recall.stems import make_stemmer, stem_english
from mud_assistant.assistant.memory.remembered import IndexedMemories
from mud_assistant.assistant.runtime.sharing.journal import RecallPostgres
from mud_assistant.tools.memories import Memory
from tests.assistant.journal.keeping import ANNA, fact, noon
from tests.assistant.memory.recall.keeping import WHO, ask, heard, without_full_text
from tests.postgres import PostgresServer

Opened = Callable[..., PostgresIndex]


@pytest.fixture
def opened(postgres_url: str) -> Iterator[Opened]:
    """Opens an index as a process does, with a connection of its own."""
    with ExitStack() as made:

        def open_one(language: str = "english", **options: Any) -> PostgresIndex:
            index = PostgresIndex(partial(connect, postgres_url), language, **options)
            made.enter_context(closing(index))
            assert index.open() == ""
            return index

        yield open_one


@pytest.fixture
def ask_tables(postgres_url: str) -> Iterator[Callable[[str], list[Any]]]:
    with closing(connect(postgres_url)) as db:
        yield lambda sql: db.execute(sql).fetchall()


def test_stems_are_those_of_sqlite() -> None:
    endings = "s es ed ing eed ies ational tional ization izer ously ness fulness ive ment ement able ll e y al"
    roots = "hous fl agr pla hopp fall fil happ sk troubl siz condit valenc digit oper feudal form electr adopt contr"
    words = [root + ending for root in roots.split() for ending in ["", *endings.split()]]
    others = "sky by yes naïve 1234s ss caresses ponies cats motoring sized relational"
    words += others.split()
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE t USING fts5(line, tokenize='porter unicode61 remove_diacritics 2')")
        except sqlite3.OperationalError:
            pytest.skip("needs a SQLite with FTS5")
        db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        db.executemany("INSERT INTO t (rowid, line) VALUES (?, ?)", enumerate(words))
        expected = dict(db.execute("SELECT doc, term FROM v"))
    assert {number: find_tokens(word) for number, word in enumerate(words)} == {
        number: [term] for number, term in expected.items()
    }


@pytest.mark.parametrize(("word", "stem"), [("relational", "relat"), ("hopping", "hop"), ("sky", "sky"), ("a", "a")])
def test_stems(word: str, stem: str) -> None:
    assert stem_english(word) == stem


def test_without_fts5_stems_are_cruder() -> None:
    with closing(without_full_text(None)) as db:
        stem = make_stemmer(db)
        assert [stem(word) for word in ("hopping", "kettles", "sky")] == ["hop", "kettl", "sky"]


def test_words_are_written_so_that_none_is_syntax() -> None:
    assert write_vector(7, ["a", "b", "a"]) == "'7:a':1,3 '7:b':2"
    assert write_vector(7, ["'\\"]) == "'7:''\\\\':1"
    assert write_queries(7, ["Kettles", "!?"]) == ["'7:kettl'"]
    assert write_queries(7, ["haus"], "german") == ["'7:hau' <-> '7:aus'"]
    assert write_vector(1, ["a"] * 20_000).endswith(",16383")


def test_another_process_finds_at_once_what_one_indexed(opened: Opened) -> None:
    first, second = opened(), opened()
    first.add(WHO, [(7, heard("m1", "ann", "The bell cracked."))])
    assert (ask(second, "bell").ids, second.state(WHO)) == (("m1",), (7, 0))
    second.add(WHO, [(8, heard("m2", "bob", "The bell is mended."))])
    assert set(ask(first, "bell").ids) == {"m1", "m2"}
    first.remove(WHO, ["m1"], 1)
    assert (ask(second, "bell").ids, second.state(WHO)) == (("m2",), (8, 1))


def test_what_was_removed_leaves_no_row_and_no_word(opened: Opened, ask_tables: Callable[[str], list[Any]]) -> None:
    index = opened()
    secret = heard("m1", "ann", "I hid the wombatkey.", audience=frozenset({"annoxyz"}))
    after = [heard(f"m{n}", "bob", "Where?", audience=frozenset({"annoxyz"})) for n in (2, 3)]
    index.add(WHO, enumerate([secret, *after], 1))
    vector = make_vector("mini", [1.0, 0.5])
    assert vector is not None
    index.put_vectors(WHO, "mini", [("m1", vector)])
    assert ask_tables("SELECT count(*) FROM recall_passages WHERE words::text LIKE '%wombatkei%'") == [(3,)]
    index.remove(WHO, ["m1"], 1)
    index.erase()
    assert ask_tables("SELECT count(*) FROM recall_passages WHERE words::text LIKE '%wombatkei%'") == [(0,)]
    assert ask_tables("SELECT id, first, second FROM recall_lines ORDER BY row") == [
        ("m2", None, None),
        ("m3", 2, None),
    ]
    assert ask_tables("SELECT * FROM recall_vectors") == []
    index.remove(WHO, ["m2", "m3"], 3)
    assert ask_tables("SELECT * FROM recall_members") == ask_tables("SELECT * FROM recall_audiences") == []
    assert ask_tables("SELECT lines, words, passages, passage_words FROM recall_assistants") == [(0, 0, 0, 0)]
    index.clear(WHO)
    assert ask_tables("SELECT * FROM recall_assistants") == []


def test_a_process_that_lost_the_assistant_brings_nothing_back(opened: Opened) -> None:
    def hold(_: Database, assistant: str, ids: object) -> set[str]:
        return {"m2"}

    index = opened(hold=hold)
    index.add(WHO, [(1, heard("m1", "ann", "It was forgotten.")), (2, heard("m2", "ann", "It was kept."))])
    assert index.ids(WHO) == {"m2"}


def test_tables_of_an_older_version_are_begun_anew_and_of_a_newer_one_are_left(
    opened: Opened, postgres_url: str, ask_tables: Callable[[str], list[Any]]
) -> None:
    opened().add(WHO, [(1, heard("m1", "ann", "The bell cracked."))])
    ask_tables("UPDATE recall_meta SET version = 0 RETURNING 1")
    index = PostgresIndex(partial(connect, postgres_url), "english")
    assert "older version" in index.open()
    assert index.state(WHO) == (0, 0)
    index.close()
    ask_tables("UPDATE recall_meta SET version = 99 RETURNING 1")
    with pytest.raises(RecallIndexError, match="newer version"):
        index.open()
    index.close()


def test_another_language_begins_an_assistant_anew(opened: Opened) -> None:
    opened().add(WHO, [(1, heard("m1", "ann", "The bell cracked."))])
    index = opened("German")
    assert (index.state(WHO), index.ids(WHO)) == ((0, 0), frozenset())
    index.add(WHO, [(1, heard("m1", "ann", "Die Glocken haben einen Sprung."))])
    assert ask(index, "Glocke").ids == ("m1",)


def test_a_text_that_postgresql_cannot_store_is_found_by_its_other_words(opened: Opened) -> None:
    index = opened()
    odd = heard("m1", "n" * 5000, "A bell\0and a \ud800lantern.")
    for _ in range(2):
        index.add(WHO, [(1, odd)])
    assert ask(index, "lantern").ids == ask(index, "bell").ids == ("m1",)


def test_both_databases_give_the_same_answers(opened: Opened) -> None:
    chance = Random(18)  # noqa: S311 - the same world each time
    said = "lantern anchor kettle harbour mill chapel lost found mended houses running Ann's café river"
    words = said.split()
    who = [f"P{n}" for n in range(12)]

    def line(number: int) -> Memory:
        audience = frozenset(chance.sample(who, 2)) if chance.random() < 0.3 else None
        text = " ".join(chance.sample(words, chance.randint(3, 9))) + chance.choice([".", "?", f" {number}."])
        return heard(f"m{number}", chance.choice(who), text, audience=audience, at=100.0 * number)

    lines = [line(number) for number in range(1, 250)]
    index, file = opened(), SqliteIndex(None)
    file.open()
    for each in (index, file):
        each.add(WHO, enumerate(lines, 1))
        each.remove(WHO, [f"m{number}" for number in range(3, 250, 7)], 1)
    same = 0
    for _ in range(40):
        text = " ".join(chance.sample([*words, *who, "what", "I"], 4)).capitalize()
        query = RecallQuery(text, frozenset(chance.sample(who, 1)), chance.choice(who), 10, 1e5)
        found, expected = index.search(WHO, query), file.search(WHO, query)
        assert found.unsure == expected.unsure
        same += (found.ids, found.withheld) == (expected.ids, expected.withheld)
    assert same >= 38  # SQLite puts lines of the same worth in the order of an error in the 16th place
    file.close()


def test_both_databases_compare_meanings_alike(opened: Opened) -> None:
    chance = Random(4)  # noqa: S311 - the same world each time
    who = [f"P{n}" for n in range(6)]
    words = ["lantern", "anchor", "kettle", "harbour", "mill", "chapel", "lost", "found", "mended"]

    def given(*numbers: float, model: str = "mini") -> Vector:
        vector = make_vector(model, numbers or [chance.gauss(0, 1) for _ in range(24)])
        assert vector is not None
        return vector

    index, file = opened(), SqliteIndex(None)
    file.open()
    lines = [
        heard(
            f"m{n}", chance.choice(who), " ".join(chance.sample(words, 4)), at=100.0 * n,
            audience=frozenset(chance.sample(who, 2)) if chance.random() < 0.4 else None,
        )
        for n in range(1, 120)
    ]  # fmt: skip
    vectors = [(line.id, given()) for line in lines[20:]] + [("m9", given(1, 2)), ("m8", given(2, 1))]
    for each in (index, file):
        each.add(WHO, enumerate(lines, 1))
        each.put_vectors(WHO, "mini", vectors)
        each.put_vectors(WHO, "former", [("m3", given(*vectors[3][1].numbers, model="former"))])
    for _ in range(40):
        text, asker = " ".join(chance.sample([*words, "zebra"], 2)), chance.choice(who)
        query = RecallQuery(text, frozenset({asker}), asker, 10, 1e6, vector=given())
        assert index.search(WHO, query) == file.search(WHO, query)
    file.close()


def test_a_former_table_goes_and_the_answers_stay(opened: Opened, postgres_url: str) -> None:
    index, vector = opened(), make_vector("mini", [1.0, 0.5])
    assert vector is not None
    index.add(WHO, [(1, heard("m1", "ann", "The bell cracked."))])
    index.put_vectors(WHO, "mini", [("m1", vector)])
    with closing(connect(postgres_url)) as db:
        db.run(
            """CREATE TABLE recall_embeddings AS SELECT assistant, row, numbers AS embedding FROM recall_vectors;
            ALTER TABLE recall_embeddings
            ADD FOREIGN KEY (assistant, row) REFERENCES recall_vectors ON DELETE CASCADE"""
        )
        assert index.open() == ""
        assert db.execute("SELECT to_regclass('recall_embeddings')").fetchone() == (None,)
    assert index.state(WHO) == (1, 0)
    assert index.search(WHO, RecallQuery("zebra", frozenset({"ann"}), vector=vector)).ids == ("m1",)


async def test_a_broken_connection_is_made_anew(
    postgres_url: str, postgres_server: PostgresServer, reactor: Any
) -> None:
    recall = RecallPostgres(partial(connect, postgres_url), reactor, "english")
    assert await recall.run(lambda index: len(index.ids(WHO))) == 0
    postgres_server.stop_immediate()
    postgres_server.start()
    assert await recall.run(lambda index: len(index.ids(WHO))) == 0
    postgres_server.stop()
    with pytest.raises(RecallIndexError):
        await recall.run(lambda index: len(index.ids(WHO)))
    await recall.close()


async def test_an_assistant_that_moved_finds_its_memories_at_once(postgres_url: str, reactor: Any) -> None:
    async def work(name: str, *said: str) -> tuple[str, ...]:
        """Keep what was said as one process, and return what it finds then."""
        store = PostgresStore(postgres_url, reactor, noon, JournalProcess(name))
        await store.open()
        index = RecallPostgres(store.connect, reactor, "english")
        journal = StoredJournal(store, WHO)
        await journal.start()
        memories = IndexedMemories(journal.lease, index, noon)
        for text in said:
            await memories.keep(fact(text, ANNA))
        indexed = await index.run(lambda opened: len(opened.ids(WHO)))
        found = await memories.recall("Where is the lantern?", hearers=frozenset({ANNA.id}))
        await index.close()
        await store.write(lambda db: store.leases.release(db, WHO))
        await store.close()
        return (str(indexed), *(memory.text for memory in found.memories))

    assert await work("first", "The lantern is in the mill.") == ("0", "The lantern is in the mill.")
    assert await work("second") == ("1", "The lantern is in the mill.")


async def test_what_the_journal_has_no_more_is_not_indexed(postgres_url: str, reactor: Any) -> None:
    store = PostgresStore(postgres_url, reactor, noon, JournalProcess("first"))
    await store.open()
    index = RecallPostgres(store.connect, reactor, "english")
    await index.run(lambda opened: opened.add(WHO, [(1, heard("m1", "ann", "It was forgotten since."))]))
    assert await index.run(lambda opened: len(opened.ids(WHO))) == 0
    await index.close()
    await store.close()


def test_an_older_server_counts_bits_in_another_way(postgres_url: str) -> None:
    with closing(connect(postgres_url)) as db:
        bits = [f"B'{number:09b}' # B'101010101'" for number in (0, 1, 255, 341, 511)]
        new, old = (
            [db.execute(f"SELECT {ones.format(each)}").fetchone()[0] for each in bits]
            for ones in (BIT_COUNT, OLD_BIT_COUNT)
        )
        assert new == old == [5, 4, 5, 0, 4]
