from collections.abc import Iterator
from itertools import count

import pytest

from tools.errors import ToolFailed
from tools.notes import MemoryNotes
from tools.testing import ANNA, now
from tools.trust import Principal

BEN = Principal("player:ben", "Ben")


def ticking() -> Iterator[float]:
    return (float(second) for second in count(1))


def texts(notes: MemoryNotes, query: str, limit: int = 5, about_id: str | None = None) -> list[str]:
    return [note.text for note in now(notes.search(query, limit, about_id=about_id))]


@pytest.fixture
def notes() -> MemoryNotes:
    notes = MemoryNotes(ticking().__next__)
    now(notes.add("The key is under the stone.", ANNA))
    now(notes.add("Ben likes cheese.", BEN))
    now(notes.add("The stone key opens the chest."))
    return notes


def test_a_note_keeps_who_it_came_from_and_when(notes: MemoryNotes) -> None:
    (note,) = now(notes.search("cheese", 5))
    assert (note.text, note.about_id, note.about_name, note.at) == ("Ben likes cheese.", "player:ben", "Ben", 2.0)


def test_more_shared_words_come_first_and_newer_ones_on_ties(notes: MemoryNotes) -> None:
    assert texts(notes, "Where is the KEY under it?") == [
        "The key is under the stone.",
        "The stone key opens the chest.",
    ]
    assert texts(notes, "stone")[0] == "The stone key opens the chest."


def test_the_name_of_the_person_is_found_too(notes: MemoryNotes) -> None:
    assert texts(notes, "anna") == ["The key is under the stone."]


def test_an_empty_query_gives_the_newest(notes: MemoryNotes) -> None:
    assert texts(notes, " ", limit=2) == ["The stone key opens the chest.", "Ben likes cheese."]


def test_nothing_fits(notes: MemoryNotes) -> None:
    assert texts(notes, "dragon") == []


def test_one_persons_notes_and_nobodys(notes: MemoryNotes) -> None:
    assert texts(notes, "", about_id="player:ben") == ["The stone key opens the chest.", "Ben likes cheese."]
    assert texts(notes, "key", about_id="player:ben") == ["The stone key opens the chest."]
    assert texts(notes, "", about_id="") == ["The stone key opens the chest."]


def test_a_person_can_see_and_delete_what_came_from_them(notes: MemoryNotes) -> None:
    now(notes.add("Ben is tired.", BEN, 1))
    assert [note.text for note in now(notes.about("player:ben"))] == ["Ben is tired.", "Ben likes cheese."]
    assert now(notes.forget("player:ben")) == 2
    assert now(notes.forget("player:ben")) == 0
    assert now(notes.about("player:ben")) == []
    assert texts(notes, "") == ["The stone key opens the chest.", "The key is under the stone."]


def test_a_note_is_trusted_as_it_is_said_and_else_not_at_all(notes: MemoryNotes) -> None:
    assert now(notes.add("new", BEN, 3)).note.trust == 3
    assert [note.trust for note in now(notes.search("new cheese"))] == [3, 0]


def test_the_same_note_again_only_becomes_newer(notes: MemoryNotes) -> None:
    assert now(notes.add("The key is under the stone.", ANNA)).dropped == ()
    assert texts(notes, "")[0] == "The key is under the stone."
    assert len(texts(notes, "")) == 3


def test_the_oldest_goes_when_there_are_too_many_and_it_is_said() -> None:
    notes = MemoryNotes(ticking().__next__, max_notes=2)
    assert [len(now(notes.add(text)).dropped) for text in ("one", "two", "three")] == [0, 0, 1]
    assert texts(notes, "") == ["three", "two"]


def test_as_many_old_ones_go_as_bytes_are_needed() -> None:
    notes = MemoryNotes(ticking().__next__, max_bytes=10)
    for text in ("aaaa", "bbbb"):
        now(notes.add(text))
    assert [note.text for note in now(notes.add("éééé")).dropped] == ["aaaa", "bbbb"]


def test_a_note_that_can_never_fit_is_refused_and_nothing_is_lost() -> None:
    notes = MemoryNotes(ticking().__next__, max_bytes=10)
    now(notes.add("kept"))
    with pytest.raises(ToolFailed, match="too long to remember"):
        now(notes.add("x" * 11))
    assert texts(notes, "") == ["kept"]
