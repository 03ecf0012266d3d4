"""Whose memories go when there is no more room, and what a damaged row still says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from mud_assistant.assistant.journal.database import Database, is_sqlite
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.schema import migrate
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.tables import memories
from mud_assistant.assistant.journal.tables.memories import PERSON_BYTES, PERSON_ROWS, TOTAL_ROWS
from mud_assistant.tools import Principal
from mud_assistant.tools.memories import Memory
from tests.assistant.journal.keeping import ANNA, NOON, fact

BEN, MALLORY = Principal("8", "Ben"), Principal("9", "Mallory")
DAY = 86_400.0


@pytest.fixture
def file_db() -> Iterator[Database]:
    """Tables of SQLite, for tests that write so many rows that a server takes a minute for them."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        SCHEMA.migrate(made)
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    if request.param == "sqlite":
        yield request.getfixturevalue("file_db")
        return
    with closing(connect(request.getfixturevalue("postgres_url"))) as server:
        migrate(server)
        yield server


def keep(db: Database, *kept: Memory) -> list[Memory]:
    """Write these down in one transaction, as the writer's thread does; return what they pushed out."""
    db.execute("BEGIN")
    dropped = [gone for memory in kept for gone in memories.keep(db, "sage", memory).dropped]
    db.execute("COMMIT")
    return dropped


def texts(db: Database, who: Principal) -> list[str]:
    return [memory.text for memory in memories.about(db, "sage", who.id)]


def count(db: Database) -> int:
    (number,) = db.execute("SELECT count(*) FROM memories").fetchone()
    return int(number)


def test_one_players_ten_thousand_lines_push_out_nothing_of_others(file_db: Database) -> None:
    keep(file_db, *(fact(f"Anna's line {number}", ANNA, importance=2) for number in range(100)))
    dropped = keep(
        file_db, *(fact(f"Spam {number} of it", MALLORY, importance=10, at=NOON + number) for number in range(10_000))
    )
    assert len(texts(file_db, ANNA)) == 100
    assert {memory.who for memory in dropped} == {MALLORY.id}
    assert PERSON_ROWS * 9 // 10 < len(texts(file_db, MALLORY)) <= PERSON_ROWS
    assert texts(file_db, MALLORY)[0] == "Spam 9999 of it"


def test_long_lines_have_room_by_their_bytes(db: Database) -> None:
    keep(db, *(fact(f"{number} " + "\u00e9" * 900, MALLORY, at=NOON + number) for number in range(200)))
    left = memories.about(db, "sage", MALLORY.id)
    assert PERSON_BYTES * 9 // 10 < sum(memory.size_bytes for memory in left) <= PERSON_BYTES
    assert left[0].text.startswith("199 ")


def test_what_is_worth_least_goes_first(db: Database) -> None:
    filler = [fact(f"Filler {number}", ANNA, importance=5, at=NOON - DAY) for number in range(PERSON_ROWS - 3)]
    told = {
        "dear and old": fact("A dear and old one", ANNA, importance=9, at=NOON - 30 * DAY),
        "used and dull": fact("A used and dull one", ANNA, importance=4, at=NOON - DAY),
        "dull": fact("A dull one", ANNA, importance=4, at=NOON - DAY),
    }
    keep(db, *filler, *told.values())
    memories.count_uses(db, "sage", [told["used and dull"].id], NOON)
    dropped = keep(db, fact("The last straw", ANNA, importance=5))
    assert dropped[0] == told["dull"]
    assert len(dropped) < PERSON_ROWS // 10
    left = texts(db, ANNA)
    assert {"A dear and old one", "A used and dull one", "The last straw"} <= set(left)


def test_a_use_counts_once_an_hour(db: Database) -> None:
    tea = fact("Anna likes tea", ANNA)
    keep(db, tea)
    for minutes in (0, 1, 59, 61, 62):
        memories.count_uses(db, "sage", [tea.id], NOON + 60 * minutes)
    assert db.execute("SELECT uses, used_at FROM memories").fetchall() == [(2, NOON + 3660)]
    keep(db, tea)  # said again: it was used as often
    assert db.execute("SELECT uses FROM memories").fetchall() == [(2,)]


def test_a_use_makes_nothing_newer(db: Database) -> None:
    tea = fact("Anna likes tea", ANNA)
    keep(db, tea)
    memories.count_uses(db, "sage", [tea.id], NOON + DAY)
    assert memories.about(db, "sage", ANNA.id) == [tea]


def test_equal_lines_are_one_with_the_newest_time_and_the_least_trust(db: Database) -> None:
    keep(
        db,
        fact("Anna likes tea", ANNA, importance=8, authority=1, at=NOON + 5, event="e1"),
        fact("anna  likes TEA", ANNA, importance=4, authority=3, at=NOON + 9, sources=frozenset({"8"}), event="e2"),
        fact("Anna likes tea", ANNA, importance=4, authority=2, at=NOON, event="e3"),
    )
    [tea] = memories.about(db, "sage", ANNA.id)
    assert (tea.at, tea.importance, tea.authority, tea.sources) == (NOON + 9, 8, 1, frozenset({"7", "8"}))


def test_a_memory_that_was_said_again_has_a_new_number_for_the_index(db: Database) -> None:
    keep(db, fact("Anna likes tea", ANNA), fact("Ben likes rain", BEN))
    [*_, (last, _)] = memories.since(db, "sage", 0, 10)
    keep(db, fact("Anna likes tea", ANNA, at=NOON + 9))
    assert [(number, memory.at) for number, memory in memories.since(db, "sage", last, 10)] == [(last + 1, NOON + 9)]


def test_five_thousand_people_have_room_for_four_lines_each(file_db: Database) -> None:
    people = [Principal(f"player:{number}", f"Player {number}") for number in range(5000)]
    kept = (fact(f"{who.name} says {line}", who, at=NOON + line) for line in range(4) for who in people)
    assert keep(file_db, *kept) == []
    assert count(file_db) == 20_000 == TOTAL_ROWS


def test_when_all_have_too_much_it_goes_from_who_has_most(file_db: Database) -> None:
    people = [Principal(f"player:{number}", "Player") for number in range(40)]
    keep(file_db, *(fact(f"{who.id} {line}", who) for line in range(PERSON_ROWS) for who in people))
    few = [fact(f"Anna {number}", ANNA, importance=1) for number in range(10)]
    dropped = keep(file_db, *few, *(fact(f"Ben {number}", BEN) for number in range(PERSON_ROWS)))
    assert TOTAL_ROWS - 1000 < count(file_db) <= TOTAL_ROWS + 64  # counted at every 64th
    assert {memory.who for memory in dropped} <= {who.id for who in (*people, BEN)}
    assert len(texts(file_db, ANNA)) == 10


def test_when_everybody_has_one_the_least_of_all_go(file_db: Database) -> None:
    """Nobody has more than another: the room is not for those alone who came first."""
    total = TOTAL_ROWS + 200
    kept = (fact("Hello there", Principal(f"player:{number}", "P"), at=NOON + number) for number in range(total))
    dropped = keep(file_db, *kept)
    assert count(file_db) <= TOTAL_ROWS + 64
    assert len(dropped) == total - count(file_db)
    assert dropped[0].who == "player:0"


@pytest.mark.parametrize("origin", [b"\x00", b"{}#00000000", b"[1]"])
def test_a_damaged_origin_is_told_only_to_who_said_it(db: Database, origin: bytes) -> None:
    keep(db, fact("Anna likes tea", ANNA), fact("The bridge is out"))
    db.execute("UPDATE memories SET origin = ?", (origin,))
    [tea] = memories.about(db, "sage", ANNA.id)
    assert tea.audience == frozenset({ANNA.id})
    assert {memory.text: memory.audience for memory in memories.newest(db, "sage", 9)} == {
        "Anna likes tea": frozenset({ANNA.id}),
        "The bridge is out": frozenset(),  # nobody is told
    }
    assert len(memories.forget(db, "sage", BEN.id)) == 2  # it may be theirs


def test_a_correction_that_goes_lets_the_old_one_hold_again(db: Database) -> None:
    old, new = fact("My ship is Heron", ANNA), fact("My ship is Stork", ANNA, at=NOON + 1)
    keep(db, old)
    assert memories.supersede(db, "sage", old.id, new, may=False) is not None
    assert memories.newest(db, "sage", 9) == [new]
    assert memories.drop(db, "sage", new.id) == [new]
    assert memories.newest(db, "sage", 9) == [old]
    assert memories.removed_count(db, "sage") == 1


def test_what_was_derived_goes_to_the_last_link(db: Database) -> None:
    tea = fact("Anna likes tea", ANNA)
    first = fact("They all like tea", made_of=(tea.id,))
    second = fact("Tea is loved", made_of=("other", first.id))
    keep(db, tea, first, second, fact("It rains", BEN))
    assert {memory.text for memory in memories.drop(db, "sage", tea.id)} == {tea.text, first.text, second.text}
    assert count(db) == 1


def test_another_assistants_memories_are_its_own(db: Database) -> None:
    tea = fact("Anna likes tea", ANNA)
    keep(db, tea)
    memories.keep(db, "tom", tea)
    assert memories.forget(db, "sage", ANNA.id) == [tea]
    assert memories.about(db, "tom", ANNA.id) == [tea]
    assert [memories.removed_count(db, name) for name in ("sage", "tom")] == [1, 0]


def test_a_text_that_cannot_be_stored_is_stored_as_far_as_it_can(db: Database) -> None:
    keep(db, fact("boom \ud800 \x00 end", ANNA))
    assert texts(db, ANNA) == [f"boom ? {chr(0) if is_sqlite(db) else chr(0xFFFD)} end"]
