"""Comparing by meaning with pgvector: that it is used, and what is right while it comes, goes or is not for us."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from twisted.logger import capturedLogs

from assistant.journal.postgres.connection import connect
from assistant.memory.recall import RecallIndex
from tests.assistant.memory.recall.keeping import WHO, heard
from tests.assistant.memory.recall.overheard import MODEL, Process, Start, given, search
from tests.postgres import EXTENSIONS, OWNER, PostgresServer, find_pgvector_programs

CREATE = f"CREATE EXTENSION vector SCHEMA {EXTENSIONS}"


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as made:

        def start_one(url: str) -> Process:
            process = Process(url)
            made.enter_context(closing(process.index))
            return process

        yield start_one


@pytest.fixture
def bare(pgvector_server: PostgresServer) -> Iterator[str]:
    """The name of a database that has no pgvector yet."""
    name = f"bare_{uuid4().hex[:12]}"
    pgvector_server.execute(f"CREATE DATABASE {name}")
    pgvector_server.execute(f"CREATE SCHEMA {EXTENSIONS}", database=name)
    pgvector_server.execute("CREATE SCHEMA mud", database=name)
    yield name
    pgvector_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def bare_url(pgvector_server: PostgresServer, bare: str) -> str:
    return pgvector_server.url("mud", database=bare)


@pytest.fixture
def in_bare(pgvector_server: PostgresServer, bare: str) -> Callable[[str], list[tuple[Any, ...]]]:
    return partial(pgvector_server.execute, database=bare)


def test_the_server_compares_and_sends_no_vector(start: Start, pgvector_url: str, postgres_url: str) -> None:
    received = []
    for url in (pgvector_url, postgres_url):
        process, chance = start(url), Random(3)  # noqa: S311 - the same numbers each time
        memories = [heard(f"m{n}", "ann", f"Bell {n}.") for n in range(100)]
        process.put(*memories, **{memory.id: [chance.gauss(0, 1) for _ in range(384)] for memory in memories})
        like = [chance.gauss(0, 1) for _ in range(384)]
        process.find(*like)
        assert process.db is not None
        process.db.bytes = 0
        process.find(*like, text="zebra bell")
        received.append(process.db.bytes)
        assert process.uses_pgvector(*like) is (url == pgvector_url)
    assert received[0] < received[1] - 100 * (384 - 8)  # in the place of each vector comes its cosine


def test_the_answers_are_those_of_the_other_ways(start: Start, pgvector_url: str) -> None:
    chance = Random(4)  # noqa: S311 - the same world each time
    who = [f"P{n}" for n in range(6)]
    words = ["lantern", "anchor", "kettle", "harbour", "mill", "chapel", "lost", "found", "mended"]

    def numbers() -> list[float]:
        return [chance.gauss(0, 1) for _ in range(24)]

    process, file = start(pgvector_url), RecallIndex(None)
    file.open()
    lines = [
        heard(
            f"m{n}", chance.choice(who), " ".join(chance.sample(words, 4)), at=100.0 * n,
            audience=frozenset(chance.sample(who, 2)) if chance.random() < 0.4 else None,
        )
        for n in range(1, 120)
    ]  # fmt: skip
    vectors = [(line.id, given(*numbers())) for line in lines[20:]] + [("m9", given(1, 2)), ("m8", given(2, 1))]
    for index in (process.index, file):
        index.add(WHO, enumerate(lines, 1))
        index.put_vectors(WHO, MODEL, vectors)
        index.put_vectors(WHO, "former", [("m3", given(*vectors[3][1].numbers, model="former"))])
    for _ in range(40):
        like, text, asker = given(*numbers()), " ".join(chance.sample([*words, "zebra"], 2)), chance.choice(who)
        found, expected = (search(index, like, text, asker) for index in (process.index, file))
        assert found == expected
    assert process.uses_pgvector(*numbers())
    file.close()


def test_lines_of_nearly_the_same_meaning_are_put_in_order_of_time(start: Start, pgvector_url: str) -> None:
    process = start(pgvector_url)
    older, newer = (
        heard(f"m{n}", "ann", text) for n, text in ((1, "The old boat is Heron."), (2, "My ship is Stork."))
    )
    process.put(older, newer, m1=[1, 0.1], m2=[1, 0.3])
    found = search(process.index, given(1, 0), "What is the name of the boat or ship?")
    assert found.ids == ("m2", "m1")
    process.put(m1=[1, 0.1, 0.1])
    assert search(process.index, given(1, 0), "What is the name of the boat or ship?").ids


def test_an_extension_that_comes_later_is_used_from_the_next_start(
    start: Start, bare_url: str, in_bare: Callable[[str], list[Any]]
) -> None:
    bell, horn = heard("m1", "ann", "The bell cracked."), heard("m2", "bob", "The horn blew.")
    before = start(bare_url)
    before.put(bell, m1=[1, 0])
    assert not before.uses_pgvector(1, 0)
    in_bare(CREATE)
    after = start(bare_url)
    assert after.uses_pgvector(1, 0)
    assert not before.uses_pgvector(1, 0)
    before.put(horn, m2=[1, 0.1])
    assert [each.find(1, 0) for each in (before, after)] == [("m1", "m2"), ("m1", "m2")]
    before.put(m1=[0, 1])
    assert [each.find(1, 0) for each in (before, after)] == [("m2",), ("m2",)]
    before.index.remove(WHO, ["m2"], 1)
    assert after.find(1, 0) == ()
    assert in_bare('SELECT "row", embedding::text FROM mud.recall_embeddings') == [(1, "[0,127]")]


def test_an_extension_that_goes_is_done_without(
    start: Start, bare_url: str, in_bare: Callable[[str], list[Any]]
) -> None:
    in_bare(CREATE)
    process = start(bare_url)
    process.put(heard("m1", "ann", "The bell cracked."), m1=[1, 0])
    assert process.uses_pgvector(1, 0)
    in_bare("DROP EXTENSION vector CASCADE")
    with capturedLogs() as logs:
        assert process.find(1, 0) == ("m1",)
    assert "without pgvector" in logs[0]["log_format"]
    assert not process.uses_pgvector(1, 0)
    in_bare(CREATE)
    assert not process.uses_pgvector(1, 0)
    process.index.open()
    assert process.uses_pgvector(1, 0)
    in_bare("DROP EXTENSION vector CASCADE")
    in_bare("CREATE EXTENSION vector")
    assert process.find(1, 0) == ("m1",)
    assert process.uses_pgvector(1, 0), "it is in another schema now"


def test_many_vectors_are_copied_in_slices_and_all_are_found_meanwhile(
    start: Start, bare_url: str, in_bare: Callable[[str], list[Any]]
) -> None:
    before = start(bare_url)
    memories = [heard(f"m{n}", "ann", f"Bell {n}.") for n in range(1, 1_101)]
    chance = Random(5)  # noqa: S311 - the same numbers each time
    before.put(*memories, **{memory.id: [1, *(chance.gauss(0, 1) for _ in range(7))] for memory in memories})
    before.put(m1=[-9, 1, 0, 0, 0, 0, 0, 0])
    in_bare(CREATE)
    process = start(bare_url)
    for copied in (1_000, 1_100, 1_100):
        assert process.find(-9, 1, 0, 0, 0, 0, 0, 0)[0] == "m1"
        assert in_bare("SELECT count(*) FROM mud.recall_embeddings") == [(copied,)]
    assert process.uses_pgvector(1, 0, 0, 0, 0, 0, 0, 0)


def test_a_search_does_not_wait_for_who_writes(start: Start, pgvector_url: str) -> None:
    process = start(pgvector_url)
    process.put(heard("m1", "ann", "The bell cracked."), m1=[1, 0])
    with closing(connect(pgvector_url)) as other:
        other.run("BEGIN; SELECT FROM recall_assistants FOR UPDATE")
        assert process.db is not None
        process.db.run("SET lock_timeout = '1ms'")
        with capturedLogs() as logs:
            assert process.find(1, 0) == ("m1",)
        assert logs == []
    assert process.uses_pgvector(1, 0)


def test_nothing_is_left_of_what_was_removed(
    start: Start, pgvector_url: str, pgvector_server: PostgresServer, pgvector_schema: str
) -> None:
    process, table = start(pgvector_url), f"{pgvector_schema}.recall_embeddings"
    memories = [heard(f"m{n}", "ann", f"Bell {n} cracked.") for n in (1, 2, 3)]
    process.put(*memories, m1=[1, 0], m2=[1, 0.1], m3=[1, 0.2])
    assert set(process.find(1, 0)) == {"m1", "m2", "m3"}
    process.index.remove(WHO, ["m1", "m3"], 2)
    left = pgvector_server.execute(f"SELECT embedding::text FROM {table}")  # noqa: S608  (a name of ours)
    assert left == [("[127,13]",)]
    process.index.erase()
    pgvector_server.execute("CHECKPOINT")
    [[path]] = pgvector_server.execute(f"SELECT pg_relation_filepath('{table}')")
    stored = (pgvector_server.data / path).read_bytes()
    assert b"\x00\x00\xfe\x42\x00\x00\x50\x41" in stored, "127 and 13 as pgvector keeps them"
    assert b"\x00\x00\xfe\x42\x00\x00\xc8\x41" not in stored, "127 and 25 were removed"
    process.index.clear(WHO)
    assert pgvector_server.execute(f"TABLE {table}") == []


def test_a_role_that_may_not_use_it_goes_without(
    start: Start, pgvector_server: PostgresServer, pgvector_schema: str
) -> None:
    run, url = pgvector_server.execute, pgvector_server.url(pgvector_schema, user="guest")
    run("CREATE ROLE guest LOGIN")
    try:
        run(f"GRANT ALL ON SCHEMA {pgvector_schema} TO guest")
        process = start(url)
        process.put(heard("m1", "ann", "The bell cracked."), m1=[1, 0])
        assert not process.uses_pgvector(1, 0)
        run(f"GRANT USAGE ON SCHEMA {EXTENSIONS} TO guest")
        run(f"REVOKE CREATE ON SCHEMA {pgvector_schema} FROM guest")
        assert not start(url).uses_pgvector(1, 0), "it may not make the table"
        run(f"GRANT CREATE ON SCHEMA {pgvector_schema} TO guest")
        assert start(url).uses_pgvector(1, 0)
        run(f"REVOKE ALL ON {pgvector_schema}.recall_embeddings FROM guest")
        with capturedLogs() as logs:
            assert start(url).find(1, 0) == ("m1",)
        assert "without pgvector" in logs[0]["log_format"]
    finally:
        pgvector_server.drop_schema(pgvector_schema)
        run("DROP OWNED BY guest")
        run("DROP ROLE guest")


def test_tables_of_an_older_version_go_with_the_copy(
    start: Start, pgvector_url: str, pgvector_server: PostgresServer, pgvector_schema: str
) -> None:
    process = start(pgvector_url)
    process.put(heard("m1", "ann", "The bell cracked."), m1=[1, 0])
    assert process.uses_pgvector(1, 0)
    pgvector_server.execute(f"TRUNCATE {pgvector_schema}.recall_meta")
    assert "older version" in process.index.open()
    process.put(heard("m1", "ann", "The bell cracked."), m1=[1, 0])
    assert process.uses_pgvector(1, 0)


def test_a_dump_is_of_use_where_there_is_no_pgvector(
    start: Start, pgvector_server: PostgresServer, pgvector_schema: str, bare: str
) -> None:
    process = start(pgvector_server.url(pgvector_schema))
    process.put(heard("m1", "ann", "The bell cracked."), m1=[1, 0])
    assert process.uses_pgvector(1, 0)
    programs = find_pgvector_programs()
    assert programs is not None
    where = ["-h", str(pgvector_server.folder), "-U", OWNER]
    dumped = subprocess.run(
        [programs / "pg_dump", *where, "-Fc", "-n", pgvector_schema, OWNER],
        capture_output=True,
        check=True,
        timeout=60,
    )
    made = subprocess.run(
        [programs / "pg_restore", *where, "-d", bare],
        input=dumped.stdout,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert b"extensions.vector" in made.stderr
    restored = start(pgvector_server.url(pgvector_schema, database=bare))
    assert restored.find(1, 0) == ("m1",)
    assert not restored.uses_pgvector(1, 0)
