"""What every `Memories` does, wherever they are kept. A new one joins by a builder in the fixture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from msgspec.structs import replace
from twisted.internet.defer import Deferred

from mud_assistant.assistant.journal import Store, StoredJournal
from mud_assistant.assistant.journal.postgres.connection import connect
from mud_assistant.assistant.journal.postgres.sharing.process import JournalProcess
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from mud_assistant.assistant.journal.store import JournalStore
from mud_assistant.assistant.memory.recall.words import ENGLISH
from mud_assistant.assistant.memory.recall_file import RecallFile, RecallInMemory, RecallThread
from mud_assistant.assistant.memory.remembered import IndexedMemories, RowsInMemory
from mud_assistant.assistant.runtime.sharing.journal import RecallPostgres
from mud_assistant.tools.memories import Memories, Memory, MemoryKind, memory_id
from mud_assistant.tools.testing.memories import ListedMemories
from mud_assistant.tools.trust import TOP, Audience, Principal
from tests.assistant.journal.keeping import NOON, noon

ANN, BEA, OWNER = Principal("1", "Ann"), Principal("2", "Bea"), Principal("9", "Olga", permission=TOP)
TO_ANN, TO_BEA, TO_BOTH = (frozenset(ids) for ids in (("1",), ("2",), ("1", "2")))


@pytest.fixture(params=["listed", "in memory", "sqlite", "postgres", "newest"])
def memories(request: pytest.FixtureRequest, tmp_path: Path, reactor: Any) -> Iterator[Memories]:
    if request.param == "listed":
        yield ListedMemories()
    elif request.param == "in memory":
        yield IndexedMemories(RowsInMemory("sage"), RecallInMemory(ENGLISH), noon)
    else:
        store: JournalStore
        index: RecallThread
        if request.param == "sqlite":
            store, index = Store(tmp_path / "j", reactor, noon), RecallFile(tmp_path / "j.recall", reactor, ENGLISH)
        else:
            url = request.getfixturevalue(f"{request.param}_url")
            store = PostgresStore(url, reactor, noon, JournalProcess("test"))
            index = RecallPostgres(partial(connect, url), reactor, ENGLISH)
        pytest_twisted.blockon(store.open())
        journal = StoredJournal(store, "sage")
        pytest_twisted.blockon(Deferred.fromCoroutine(journal.start()))
        yield IndexedMemories(journal.lease, index, noon)
        pytest_twisted.blockon(Deferred.fromCoroutine(index.close()))
        pytest_twisted.blockon(store.close())


_ticks = count(1)


def told(who: Principal, text: str, audience: Audience = None, **labels: Any) -> Memory:
    """What somebody said, a second after what was said before."""
    labels = {"at": NOON + next(_ticks), "authority": 1, "sources": frozenset({who.id}), **labels}
    kind = labels.pop("kind", MemoryKind.HEARD)
    return Memory(
        memory_id(kind, who.id, text, audience), text, kind, who=who.id, name=who.name, audience=audience, **labels
    )


async def keep(memories: Memories, *kept: Memory) -> None:
    for memory in kept:
        await memories.keep(memory)


def texts(found: Sequence[Memory]) -> list[str]:
    return [memory.text for memory in found]


async def test_what_is_kept_is_found_by_its_words_as_it_was(memories: Memories) -> None:
    lamp = told(ANN, "The brass lamp hangs in the cellar.", about=("2",), event="e1", how="said", place="hall")
    await keep(memories, lamp, told(BEA, "A ferry leaves at dawn."))
    found = await memories.recall("where is the lamp", hearers=TO_ANN)
    assert found.memories == (lamp,)
    assert found.withheld == 0
    assert (await memories.recall("dragon", hearers=TO_ANN)).memories == ()


async def test_a_memory_is_new_once(memories: Memories) -> None:
    first = told(ANN, "The brass lamp hangs in the cellar.")
    assert (await memories.keep(first)).new
    await keep(memories, told(BEA, "The brass bell hangs in the tower."))
    again = await memories.keep(told(ANN, "the brass lamp  hangs in the CELLAR.", sources=TO_BOTH))
    assert (again.new, again.memory.sources) == (False, TO_BOTH)
    newest = (await memories.recall("", hearers=None)).memories
    assert [memory.name for memory in newest] == ["Ann", "Bea"]
    assert newest[0].at > first.at


async def test_the_same_words_for_another_audience_are_another_memory(memories: Memories) -> None:
    await keep(memories, told(ANN, "The brass lamp is mine."), told(ANN, "The brass lamp is mine.", TO_ANN))
    assert [memory.audience for memory in await memories.about(ANN.id)] == [TO_ANN, None]


@pytest.mark.parametrize(
    ("hearers", "expected"),
    [
        (TO_ANN, {"public", "for Ann", "for both"}),
        (TO_BEA, {"public", "for Bea", "for both"}),
        (TO_BOTH, {"public", "for both"}),
        (None, {"public"}),
        (frozenset[str](), {"public", "for Ann", "for Bea", "for both"}),
    ],
)
@pytest.mark.parametrize("query", ["lamp", ""])
async def test_only_what_each_hearer_may_be_told_is_recalled(
    memories: Memories, hearers: Audience, expected: set[str], query: str
) -> None:
    everything = {"public": None, "for Ann": TO_ANN, "for Bea": TO_BEA, "for both": TO_BOTH}
    await keep(memories, *(told(ANN, f"The lamp is {text}", audience) for text, audience in everything.items()))
    found = await memories.recall(query, hearers=hearers)
    assert {memory.text.removeprefix("The lamp is ") for memory in found.memories} == expected


async def test_what_only_the_asker_may_hear_is_counted(memories: Memories) -> None:
    await keep(
        memories,
        told(ANN, "The lamp is broken."),
        told(ANN, "The lamp is stolen.", TO_ANN),
        told(BEA, "The lamp is cursed.", TO_BEA),
    )
    aloud = await memories.recall("lamp", hearers=None, asker=ANN.id)
    assert (texts(aloud.memories), aloud.withheld) == (["The lamp is broken."], 1)
    assert (await memories.recall("lamp", hearers=TO_ANN, asker=ANN.id)).withheld == 0
    assert (await memories.recall("lamp", hearers=None)).withheld == 0


async def test_no_more_is_given_than_is_asked_for(memories: Memories) -> None:
    await keep(memories, *(told(ANN, f"The lamp number {number} hangs there.") for number in range(9)))
    assert len((await memories.recall("lamp", hearers=None)).memories) == 5
    assert len((await memories.recall("lamp", hearers=None, limit=8)).memories) == 8
    assert len((await memories.recall("", hearers=None, limit=2)).memories) == 2


async def test_a_person_sees_what_came_from_them_and_what_is_about_them(memories: Memories) -> None:
    await keep(
        memories,
        told(ANN, "The lamp is mine."),
        told(BEA, "Somebody stole a lamp.", about=("1",)),
        told(BEA, "The ferry is late."),
        told(BEA, "They were here.", sources=TO_BOTH),
    )
    assert texts(await memories.about(ANN.id)) == ["They were here.", "Somebody stole a lamp.", "The lamp is mine."]
    assert await memories.about("nobody") == []


async def test_one_memory_is_dropped_with_what_was_derived_from_it(memories: Memories) -> None:
    lamp, ferry = told(ANN, "The lamp is mine."), told(ANN, "The ferry is late.")
    derived = told(ANN, "They wait for the ferry.", kind=MemoryKind.REFLECTION, made_of=(ferry.id,))
    await keep(memories, lamp, ferry, derived)
    assert await memories.drop(ferry.id) == 2
    assert await memories.drop(ferry.id) == 0
    assert texts((await memories.recall("lamp ferry", hearers=None)).memories) == ["The lamp is mine."]


async def test_a_person_is_forgotten_with_what_was_derived_from_their_words(memories: Memories) -> None:
    await keep(
        memories,
        told(ANN, "The lamp is mine."),
        told(BEA, "The ferry is late."),
        told(BEA, "Both wait for a lamp.", kind=MemoryKind.REFLECTION, sources=TO_BOTH),
    )
    await memories.recall("lamp", hearers=None)
    assert [await memories.forget(ANN.id), await memories.forget(ANN.id)] == [2, 0]
    assert texts((await memories.recall("lamp ferry wait", hearers=None)).memories) == ["The ferry is late."]
    assert await memories.about(ANN.id) == []


async def test_a_correction_stands_in_place_of_what_it_corrects(memories: Memories) -> None:
    old, new = told(ANN, "My ship is called Heron."), told(ANN, "My ship is called Stork.")
    await keep(memories, old)
    assert await memories.supersede(old.id, new)
    found = texts((await memories.recall("what is the ship called", hearers=None)).memories)
    assert found[0] == new.text
    assert {memory.text: memory.superseded_by for memory in await memories.about(ANN.id)} == {
        new.text: "",
        old.text: new.id,
    }
    assert texts((await memories.recall("", hearers=None)).memories) == [new.text]


async def test_only_who_said_it_corrects_it(memories: Memories) -> None:
    old, new = told(ANN, "My ship is called Heron."), told(BEA, "Her ship is called Stork.")
    await keep(memories, old)
    assert not await memories.supersede(old.id, new)
    assert not await memories.supersede("unknown", new)
    assert texts((await memories.recall("", hearers=None)).memories) == [old.text]
    assert (await memories.about(ANN.id))[0].superseded_by == ""


async def test_the_operator_corrects_everybody(memories: Memories) -> None:
    old, new = told(ANN, "The ship is called Heron."), told(OWNER, "The ship is called Stork.", authority=TOP)
    await keep(memories, old)
    assert await memories.supersede(old.id, new)
    assert replace((await memories.about(ANN.id))[0], superseded_by="") == old


@pytest.mark.parametrize(
    "query", ["NOT", 'lamp"', "line:lamp", "lamp*", "^lamp", "(", "\x00", "NEAR(", "\ud800 lamp", "lamp AND"]
)
async def test_no_query_is_syntax(memories: Memories, query: str) -> None:
    await keep(memories, told(ANN, "The lamp is mine."))
    found = texts((await memories.recall(query, hearers=None)).memories)
    assert ("lamp" in query) <= (found == ["The lamp is mine."])
