"""Acquaintances in the journal: met by id, corrected, kept beyond the quota, forgotten, and read from an older file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import Said, Whispered
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.tables import acquaintances, memories, removal
from mud_assistant.assistant.memory.acquaintance.known_people import KnownPeople
from mud_assistant.assistant.memory.remembered import RowsInMemory
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.tools import Principal
from mud_assistant.tools.memories import FactPart
from mud_assistant.tools.testing import now
from tests.assistant.journal.test_cost import steps

ANN, BEA = Principal("7", "Ann"), Principal("8", "Bea")
REMEMBER = remembering(("Sage",))
TOLD = Attention(Classification.TRIGGER, 10, addressed=True)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        SCHEMA.migrate(connection)
        yield connection


def hear(db: sqlite3.Connection, who: Principal, text: str, at: float = 0.0, kind: Any = Said) -> None:
    event = kind(id=f"{who.id} {at} {text}", at=at, who=who, text=text)
    acquaintances.meet(db, "sage", event)
    memory = REMEMBER(Accepted(event, TOLD))
    if memory is not None:
        memories.keep(db, "sage", memory)


def facts(db: sqlite3.Connection, who: Principal = ANN) -> dict[FactPart, str]:
    return {fact.part: fact.memory.text for fact in reversed(acquaintances.facts_of(db, "sage", who.id))}


def count(db: sqlite3.Connection) -> tuple[int, int]:
    met = db.execute("SELECT count(*) FROM acquaintances").fetchone()[0]
    return met, db.execute("SELECT count(*) FROM acquaintance_facts").fetchone()[0]


def test_a_newer_fact_takes_the_place_of_the_older_within_one_audience(db: sqlite3.Connection) -> None:
    hear(db, ANN, "My dog is called Rex.", 10)
    hear(db, ANN, "My dog is called Bella.", 20)
    assert facts(db) == {FactPart.KIN: "My dog is called Bella."}
    hear(db, ANN, "My dog is called Spy.", 30, Whispered)
    known = acquaintances.facts_of(db, "sage", ANN.id)
    assert [(fact.memory.text, fact.memory.audience) for fact in known] == [
        ("My dog is called Spy.", frozenset({ANN.id})),
        ("My dog is called Bella.", None),
    ]
    hear(db, ANN, "My dog is called Rex.", 15)  # an older line that comes again
    assert facts(db)[FactPart.KIN] != "My dog is called Rex."


def test_a_visit_begins_after_a_gap_and_a_new_name_is_the_same_person(db: sqlite3.Connection) -> None:
    for at in (0, 600, 1200, 90_000, 90_060):
        hear(db, ANN, "Hello.", at)
    hear(db, replace(ANN, name="Anna"), "Hello.", 180_000)
    latest, first = acquaintances.meetings(db, "sage", ANN.id)
    assert (latest.name, latest.visits) == ("Anna", 1)
    assert (first.name, first.visits, first.first_at, first.before_at, first.last_at) == ("Ann", 2, 0, 1200, 90_060)
    assert acquaintances.called(db, "sage", ["ann", "anna", "an"]) == [("ann", ANN.id), ("anna", ANN.id)]


def test_what_a_quota_pushes_out_stands_in_the_acquaintance(db: sqlite3.Connection) -> None:
    hear(db, ANN, "I am a cooper from Velden.", 1)
    for number in range(memories.PERSON_ROWS + 40):
        hear(db, ANN, f"The barrels of row {number} are mended by now.", 1000 * number + 10_000)
    texts = {memory.text for memory in memories.newest(db, "sage", 2000)}
    assert "I am a cooper from Velden." not in texts
    assert facts(db)[FactPart.HOME] == "I am a cooper from Velden."
    assert "I am a cooper from Velden." in [memory.text for memory in memories.about(db, "sage", ANN.id)]


def test_the_facts_of_a_person_are_bounded(db: sqlite3.Connection) -> None:
    for number in range(3 * acquaintances.PART_FACTS):
        hear(db, ANN, f"I love the {chr(97 + number % 26) * 3}{number} cake.", number)
    assert count(db)[1] <= acquaintances.PART_FACTS


def test_a_person_is_forgotten_whole_and_others_stay(db: sqlite3.Connection) -> None:
    for who in (ANN, BEA):
        hear(db, who, f"I am {who.name}, a cooper from Velden.")
    removal.forget(db, "sage", ANN.id, lambda gone: gone)
    assert (acquaintances.meetings(db, "sage", ANN.id), facts(db, ANN)) == ([], {})
    assert facts(db, BEA)
    memories.clear(db, "sage")
    assert count(db) == (0, 0)


def test_one_thing_is_forgotten_with_its_facts(db: sqlite3.Connection) -> None:
    hear(db, ANN, "I am a cooper from Velden.", 1)
    hear(db, ANN, "My dog is called Rex.", 2)
    [fact] = [fact for fact in acquaintances.facts_of(db, "sage", ANN.id) if fact.part is FactPart.KIN]
    gone = removal.forget_event(db, "sage", fact.memory.event, fact.memory.id, lambda lost: lost)
    assert gone == 1
    assert FactPart.KIN not in facts(db)
    assert FactPart.HOME in facts(db)


def test_an_assistant_that_is_erased_takes_its_acquaintances_along(db: sqlite3.Connection) -> None:
    hear(db, ANN, "I am a cooper from Velden.")
    removal.erase(db, "sage")
    assert count(db) == (0, 0)


def test_a_journal_of_the_version_before_knows_those_whose_words_it_has(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "j", isolation_level=None)) as db:
        SCHEMA.upto(4).migrate(db)
        memory = REMEMBER(Accepted(Said(id="e", at=90_000.0, who=ANN, text="I am a cooper from Velden."), TOLD))
        assert memory is not None
        memories.keep(db, "sage", replace(memory, facts=()))
        SCHEMA.migrate(db)
        rows = RowsInMemory("sage", db)
        for _ in range(2):
            found = now(KnownPeople(rows).find(BEA.id, ["ann"]))
            [(word, known)] = found.named
            assert (word, known.name, known.visits, known.first_at) == ("ann", "Ann", 1, 90_000)
            assert {fact.part for fact in known.facts} == {FactPart.HOME, FactPart.WORK}


def test_a_heard_line_costs_the_same_among_many_people(db: sqlite3.Connection) -> None:
    def line(connection: sqlite3.Connection) -> None:
        hear(connection, ANN, "I am a cooper from Velden.", 5)

    few = steps(db, line)
    for number in range(2000):
        hear(db, Principal(str(number + 100), f"P{number}"), "My dog is called Rex.", number)
    assert steps(db, line) < 1.5 * few
