"""The memories of a character by the name of the version before, for tools of others."""

from itertools import count

import pytest

from tools.memories import MemoryKind
from tools.notes import Notes
from tools.testing import ANNA, now, tool_context
from tools.testing.memories import ListedMemories
from tools.trust import Principal

BEN = Principal("player:ben", "Ben")


@pytest.fixture
def memories() -> ListedMemories:
    return ListedMemories()


@pytest.fixture
def notes(memories: ListedMemories) -> Notes:
    notes = Notes(memories, (float(second) for second in count(1)).__next__)
    now(notes.add("The key is under the stone.", ANNA, audience=frozenset({ANNA.id})))
    now(notes.add("Ben likes cheese.", BEN, 2, sources=[ANNA.id], audience=frozenset({BEN.id})))
    now(notes.add("The stone key opens the chest."))
    return notes


def texts(notes: Notes, query: str, limit: int = 5, about_id: str | None = None) -> list[str]:
    return [note.text for note in now(notes.search(query, limit, about_id=about_id))]


def test_a_note_keeps_who_it_came_from_and_when(notes: Notes) -> None:
    (note,) = now(notes.search("cheese"))
    assert (note.text, note.about_id, note.about_name, note.at) == ("Ben likes cheese.", "player:ben", "Ben", 2.0)
    assert (note.trust, note.sources, note.audience) == (2, frozenset({ANNA.id}), frozenset({BEN.id}))


def test_a_note_is_a_fact_among_the_memories(notes: Notes, memories: ListedMemories) -> None:
    assert {memory.kind for memory in memories.kept} == {MemoryKind.FACT}
    assert memories.kept[1].sources == {ANNA.id, BEN.id}


def test_an_empty_query_gives_the_newest(notes: Notes) -> None:
    assert texts(notes, " ", limit=2) == ["The stone key opens the chest.", "Ben likes cheese."]


def test_only_what_a_person_may_be_told_is_given_for_them(notes: Notes) -> None:
    assert texts(notes, "key", about_id=BEN.id) == ["The stone key opens the chest."]
    assert texts(notes, "key", about_id=ANNA.id) == ["The stone key opens the chest.", "The key is under the stone."]


def test_a_person_can_see_and_delete_what_came_from_them(notes: Notes) -> None:
    assert [note.text for note in now(notes.about(BEN.id))] == ["Ben likes cheese."]
    assert [now(notes.forget(BEN.id)), now(notes.forget(BEN.id))] == [1, 0]
    assert now(notes.about(BEN.id)) == []
    assert texts(notes, "") == ["The stone key opens the chest.", "The key is under the stone."]


def test_the_same_note_again_only_becomes_newer(notes: Notes) -> None:
    now(notes.add("The key is under the stone.", ANNA, audience=frozenset({ANNA.id})))
    assert texts(notes, "")[0] == "The key is under the stone."
    assert len(texts(notes, "")) == 3


def test_a_tool_of_the_version_before_finds_the_notes_in_its_context() -> None:
    context = tool_context()
    with pytest.warns(DeprecationWarning, match="memories"):
        notes = context.notes
    now(notes.add("Anna likes tea.", ANNA))
    assert [memory.text for memory in now(context.memories.about(ANNA.id))] == ["Anna likes tea."]
