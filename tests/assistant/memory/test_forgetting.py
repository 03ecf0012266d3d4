"""What a player asked to be forgotten is in no row, no conclusion, no vector, no index term and no byte of any file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred

from mud_assistant.assistant.memory.recall.index import RecallIndex, RecallIndexError
from mud_assistant.assistant.memory.recall.vectors import Vector, make_vector
from mud_assistant.assistant.memory.sleep.night import NightEnd, Sleeper
from mud_assistant.assistant.memory.sleep.plan import QuietSigns, SleepPlan
from mud_assistant.assistant.memory.sleep.state import SleepAnswer, SleepRecord
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.runtime.storage import JournalFile, Storage
from mud_assistant.llm import Message
from mud_assistant.llm.messages import JSONObject
from mud_assistant.llm.testing import FakeOllama, serve
from mud_assistant.resilience import HttpExchange
from mud_assistant.tools import Principal
from mud_assistant.tools.memories import MemoryKind
from tests.assistant.living import SAGE, reactor
from tests.policy.gossip import DAY, Told, Town
from tests.virtual import ForwardReactor

ANN, BEA, CID = (Principal(f"player:{name.lower()}", name) for name in ("Ann", "Bea", "Cid"))
MODEL = "made by hand"
#: What each of them tells in the room; the words that nobody else says.
TOLD = {
    "zq0bcd": (ANN, "the password of the copper mill is zq0bcd"),
    "zq1fgh": (ANN, "a golden heron nests at zq1fgh near the ferry"),
    "zq2jkl": (BEA, "the password of the silver chapel is zq2jkl"),
    "zq3mnp": (BEA, "my brother Tom lives at zq3mnp by the quarry"),
    "zq4bdf": (CID, "the price of the amber tower is zq4bdf"),
    "zq5ghj": (CID, "two black horses wait at zq5ghj for the king"),
}
WHISPERED = {
    "zq6klm": (ANN, "the secret of the mossy cellar is zq6klm"),
    "zq7npb": (BEA, "the secret of rain is zq7npb"),
}
ANNS, BEAS = ("zq0bcd", "zq1fgh", "zq6klm"), ("zq2jkl", "zq3mnp", "zq7npb")


@asynccontextmanager
async def told(folder: Path) -> AsyncIterator[tuple[Town, Assistant, Storage]]:
    """A town where everybody told their things to a character that told them on, and slept over them."""
    exchange = HttpExchange(reactor)
    towns: list[Town] = []
    fake = FakeOllama(reactor, lambda request: towns[-1].brain(request))  # noqa: PLW0108  (the town comes later)
    async with serve(fake, reactor) as url:
        town = Town(
            Random(1), (ANN, BEA, CID), frozenset(), ForwardReactor(), folder / "j.sqlite", "tools", 16_384, url, fake,  # noqa: S311
            exchange,
        )  # fmt: skip
        towns.append(town)
        async with town.day() as (assistant, storage):
            for word, (who, text) in {**TOLD, **WHISPERED}.items():
                how = "whisper" if word in WHISPERED else "say"
                town.told[word] = Told(word, text, who, how, frozenset({who.id}) if word in WHISPERED else None)
                await (town.bodies[who.id].whisper("Sage", text) if word in WHISPERED else say(town, who, text))
                await assistant.settled()
            await sleep(town, storage)
            yield town, assistant, storage
    await exchange.close()


async def say(town: Town, who: Principal, text: str) -> None:
    await town.bodies[who.id].say(f"Sage, {text}")


async def sleep(town: Town, storage: Storage) -> None:
    """A night in which a model concludes whatever it is shown."""

    async def dream(messages: Sequence[Message], _: JSONObject) -> str:
        words = [word for word in town.told if word in str(messages)]
        said = f"They speak of {' '.join(words)}."
        insights = [{"text": said, "lines": list(range(1, 61))}]
        return json.dumps({"profile": said, "insights": insights, "pairs": []})

    town.clock.ahead += DAY
    now = town.clock.seconds()
    sleeper = Sleeper(storage.sleep, storage.sleep, dream, SAGE, SleepPlan(sleep_calls=20, importance=1))
    assert await sleeper.maybe(QuietSigns(now, now - 3600)) is NightEnd.OVER


async def give_vectors(file: JournalFile, ids: Sequence[str]) -> dict[str, Vector]:
    """Give each memory a vector of its own."""
    chance = Random(1)  # noqa: S311
    made = {each: make_vector(MODEL, [chance.uniform(-1, 1) for _ in range(48)]) for each in ids}
    vectors = {each: vector for each, vector in made.items() if vector is not None}
    await file.recall.run(lambda index: index.put_vectors(SAGE.id, MODEL, list(vectors.items())))
    return vectors


async def everything(storage: Storage) -> dict[str, str]:
    """The text of all memories by their ids."""
    known = [one for who in (ANN, BEA, CID) for one in await storage.memories.about(who.id)]
    return {one.id: one.text for one in known}


def leftovers(folder: Path, gone: Sequence[bytes]) -> list[str]:
    return [f"{each!r} in {path.name}" for path in folder.iterdir() for each in gone if each in path.read_bytes()]


def index_terms(folder: Path) -> set[str]:
    """All terms of the full-text indexes."""
    terms: set[str] = set()
    with closing(sqlite3.connect(folder / "j.sqlite.recall")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%USING fts5%'")]
        for table in tables:
            db.execute(f"CREATE VIRTUAL TABLE temp.v_{table} USING fts5vocab(main, {table}, row)")
            found = db.execute(f"SELECT term FROM temp.v_{table}")  # noqa: S608  (names of the index's own tables)
            terms.update(term for (term,) in found)
    return terms


async def test_who_is_forgotten_leaves_nothing_anywhere_and_takes_nothing_of_others(tmp_path: Path) -> None:
    async with told(tmp_path) as (town, assistant, storage):
        assert town.opened is not None
        await storage.memories.recall("heron", hearers=None)
        before = await everything(storage)
        assert {word for word in town.told if word in " ".join(before.values())} == set(town.told)
        known = await storage.memories.about(ANN.id)
        assert sum(one.kind is MemoryKind.REFLECTION for one in known) >= 2
        vectors = await give_vectors(town.opened, sorted(before))
        theirs = [one.id for one in known if one.is_from(ANN.id)]
        marks = [vectors[each].numbers.tobytes() for each in theirs]
        marks += [word[2:].encode() for word in ANNS]
        assert len(leftovers(tmp_path, marks)) >= len(marks), "what is looked for was there"

        forgotten = await assistant.forget(ANN)

        assert forgotten.erased
        assert forgotten.memories == len(theirs)
        assert leftovers(tmp_path, marks) == []
        assert not index_terms(tmp_path).intersection(ANNS)
        left = await everything(storage)
        assert not [word for word in ANNS if word in " ".join(left.values())]
        assert await storage.memories.about(ANN.id) == []
        with closing(sqlite3.connect(tmp_path / "j.sqlite.recall")) as db:
            assert db.execute("SELECT count(*) FROM vectors_1").fetchone()[0] == len(left)


async def test_what_others_told_stays_and_what_was_concluded_of_it_is_concluded_anew(tmp_path: Path) -> None:
    async with told(tmp_path) as (town, assistant, storage):
        await assistant.forget(ANN)
        for word in BEAS:
            found = await storage.memories.recall(town.told[word].topic, hearers=frozenset({BEA.id}), asker=BEA.id)
            assert any(word in one.text for one in found.memories), word
        queued = await storage.sleep.queued()
        heard = {one.id for who in (BEA, CID) for one in await storage.memories.about(who.id)}
        assert queued
        assert all(heard.issuperset(parts) for parts in queued)
        await sleep(town, storage)
        assert await storage.sleep.queued() == ()
        concluded = [one for one in await storage.memories.about(BEA.id) if one.kind is MemoryKind.REFLECTION]
        assert any(one.sources == {BEA.id, CID.id} for one in concluded)
        assert not [one for one in concluded if any(word in one.text for word in ANNS)]
        town.seen.clear()
        await say(town, BEA, "what is the password of the copper mill, and where does the golden heron nest?")
        await assistant.settled()
        assert town.seen
        assert not [prompt for prompt in town.seen if any(word in prompt for word in ANNS)]


async def test_one_thing_that_is_deleted_leaves_no_byte(tmp_path: Path) -> None:
    async with told(tmp_path) as (town, assistant, storage):
        await storage.memories.recall("heron", hearers=None)
        [heard] = [
            one for one in await storage.memories.about(BEA.id) if one.text.endswith("zq7npb") and one.who == BEA.id
        ]
        assert leftovers(tmp_path, [b"secret of rain is"])
        assert await assistant.drop(BEA, heard.id) >= 1
        assert leftovers(tmp_path, [b"secret of rain is"]) == []
        assert any("zq2jkl" in one.text for one in await storage.memories.about(BEA.id))
        assert town.leaks == []


@pytest.mark.parametrize("through", ["forget", "drop"])
async def test_a_night_s_answer_that_was_not_used_yet_goes_with_the_lines_it_is_of(
    tmp_path: Path, through: str
) -> None:
    async with told(tmp_path) as (_, assistant, storage):
        shown = [one for one in await storage.memories.about(ANN.id) if one.kind is MemoryKind.HEARD]
        answer = SleepAnswer("insights::everybody", "insights", "", "She hides wxyzheron.", (shown[0].id,))
        await storage.sleep.save(SleepRecord(1.0, 0.0, 2.0, 1, answer=answer))
        assert leftovers(tmp_path, [b"wxyzheron"])
        await (assistant.forget(ANN) if through == "forget" else assistant.drop(ANN, shown[0].id))
        assert (await storage.sleep.load()).answer is None
        assert leftovers(tmp_path, [b"wxyzheron"]) == []


async def test_a_removal_that_was_not_erased_before_a_kill_is_erased_by_the_next_search(tmp_path: Path) -> None:
    async with told(tmp_path) as (town, _, storage):
        await storage.memories.recall("heron", hearers=None)
        assert town.opened is not None
        gone = [one.id for one in await storage.memories.about(ANN.id) if one.is_from(ANN.id)]

        def die_half_way(index: RecallIndex) -> None:
            """What a process leaves that is killed between the removal and the erasure."""
            index.remove(SAGE.id, gone)

        await town.opened.store.write(
            lambda db: db.executemany("DELETE FROM memories WHERE id = ?", [(each,) for each in gone]) and None
        )
        await town.opened.store.write(
            lambda db: db.execute("UPDATE memory_state SET removed = removed + ?", (len(gone),)) and None
        )
        await town.opened.recall.run(die_half_way)
    exchange = HttpExchange(reactor)
    async with town.day() as (_, storage):
        await storage.memories.recall("heron", hearers=None)
        assert not [left for left in leftovers(tmp_path, [word[2:].encode() for word in ANNS]) if ".recall" in left]
    await exchange.close()


async def test_an_index_that_breaks_meanwhile_is_filled_again_before_the_next_answer(tmp_path: Path) -> None:
    async with told(tmp_path) as (town, _, storage):
        assert town.opened is not None
        await storage.memories.recall("heron", hearers=None)

        def break_down(_: RecallIndex) -> None:
            raise RecallIndexError("the disk is tired")

        with pytest.raises(RecallIndexError):
            await town.opened.recall.run(break_down)
        found = await storage.memories.recall("where does the golden heron nest?", hearers=None)
        assert any("zq1fgh" in one.text for one in found.memories)


async def test_a_search_in_the_middle_of_a_forgetting_does_not_keep_it_from_erasing(tmp_path: Path) -> None:
    async with told(tmp_path) as (_, _, storage):
        await storage.memories.recall("heron", hearers=None)
        forgetting: Deferred[int] = Deferred.fromCoroutine(cast(Any, storage.memories.forget(ANN.id)))
        await storage.memories.recall("heron", hearers=None)
        assert await forgetting > 0
        assert not [left for left in leftovers(tmp_path, [word[2:].encode() for word in ANNS]) if ".recall" in left]


@pytest.mark.parametrize("memories", [False, True])
async def test_a_mind_is_cleared_and_nobody_is_forgotten(tmp_path: Path, *, memories: bool) -> None:
    async with told(tmp_path) as (town, assistant, storage):
        await storage.memories.recall("heron", hearers=None)
        before = await everything(storage)
        history, words = assistant.context.memory.history, [word[2:].encode() for word in town.told]
        assert len(history) > 3
        cleared = await assistant.clear_mind(memories=memories)
        assert cleared.erased
        assert (cleared.entries > 3, cleared.memories) == (True, len(before) if memories else 0)
        assert len(history) == 0
        assert await everything(storage) == ({} if memories else before)
        assert bool((await storage.memories.recall("heron", hearers=None)).memories) != memories
        if memories:
            assert not [left for left in leftovers(tmp_path, words) if ".recall" in left]
        with closing(sqlite3.connect(tmp_path / "j.sqlite")) as db:
            stream, events, runs = (
                db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  (our own words)
                for table in ("stream", "events", "runs")
            )
        assert stream == 0
        assert min(events, runs) >= len(town.told)
    async with town.day() as (assistant, storage):
        assert len(assistant.context.memory.history) == 0
        assert await everything(storage) == ({} if memories else before)


async def test_a_cleared_mind_goes_on_with_what_it_hears_next(tmp_path: Path) -> None:
    async with told(tmp_path) as (town, assistant, storage):
        await assistant.clear_mind(memories=True)
        town.seen.clear()
        text = "the price of the silver ferry is zq9zzz"
        town.told["zq9zzz"] = Told("zq9zzz", text, ANN, "say", None)
        await say(town, ANN, text)
        await assistant.settled()
        assert not [word for word in TOLD if word in town.seen[-1]]
        assert "zq9zzz" in town.seen[-1]
        assert [one.text for one in await storage.memories.about(ANN.id) if "zq9zzz" in one.text]
