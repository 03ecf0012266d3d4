"""A generated world of many people who say little each: what a search costs in it, and whether one is pushed out."""

from __future__ import annotations

from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from benchmarks.recall_scoring import Watch, open_index
from mud_assistant.assistant.memory.recall import RecallQuery, Vector, make_vector
from mud_assistant.tools.memories import Memory, MemoryKind

PEOPLE, LINES, QUESTIONS = 5_000, 4, 300
ASSISTANT = "village"
_NOUNS = (
    "lantern anchor kettle saddle mirror chisel barrel ladder candle blanket compass hammer basket needle anvil ribbon "
    "whistle trumpet shovel pillow goblet dagger feather bucket"
)
NOUNS = _NOUNS.split()
_PLACES = "harbour mill chapel market bridge orchard tower cellar quarry meadow stable bakery"
PLACES = _PLACES.split()
_DEEDS = "lost sold found mended borrowed hidden broken bought promised stolen painted buried"
DEEDS = _DEEDS.split()
_SYLLABLES = "ba ro mi ke lu ta so ne vi da gor fen wyn hal sil mor"
SYLLABLES = _SYLLABLES.split()
#: Vectors of chance take as long to compare as those of a model, of which this is the usual size.
MODEL, NUMBERS = "chance", 384
#: The first searches read or copy vectors; they are not measured.
_FIRST = 25


def score_village(path: Path, watch: Watch, url: str = "", *, vectors: bool = False) -> tuple[dict[str, Any], bool]:
    """Remember everybody, ask about some, and look for the lines of all. Return figures, and whether one is lost.

    With `vectors` each memory and each of the first questions has one.
    """
    chance = Random(18)  # noqa: S311 - the same world each time
    names = sorted({"".join(chance.choices(SYLLABLES, k=4)) for _ in range(2 * PEOPLE)})
    people = chance.sample(names, PEOPLE)
    memories = []
    for number in range(PEOPLE * LINES):
        who = people[number % PEOPLE]
        text = (
            f"I have {chance.choice(DEEDS)} the {chance.choice(NOUNS)} number {number} "
            f"near the {chance.choice(PLACES)}, and I told {chance.choice(people)} about the {chance.choice(NOUNS)}."
        )
        audience = frozenset({who}) if number % 10 == 0 else None
        memories.append(
            Memory(
                f"v{number}", text, MemoryKind.HEARD, 1e9 + 20 * number, who, who.title(), "", "inn", audience=audience
            )
        )
    index = open_index(path, "english", url)
    index.clear(ASSISTANT)
    with watch.time("fill"):
        index.add(ASSISTANT, list(enumerate(memories[:-QUESTIONS], 1)))
    for number, memory in enumerate(memories[-QUESTIONS:], len(memories)):
        with watch.time("keep"):
            index.add(ASSISTANT, [(number, memory)])
    if vectors:
        index.put_vectors(ASSISTANT, MODEL, [(memory.id, _vector(memory.id)) for memory in memories])
        for _ in range(_FIRST):
            index.search(ASSISTANT, RecallQuery("anchor", frozenset(), vector=_vector("anchor")))
    worked = process_time()
    for memory in chance.sample(memories, QUESTIONS):
        other = chance.choice(people)
        words = memory.text.split(", ")[0].removeprefix("I have ")
        vector = _vector(words) if vectors else None
        query = RecallQuery(
            f"Who has {words}, and what does {memory.name} say?", frozenset({other}), other, now=2e9, vector=vector
        )
        with watch.time("search"):
            index.search(ASSISTANT, query)
    worked = (process_time() - worked) * 1000 / QUESTIONS
    lost = 0
    for person in people:
        with watch.time("person"):
            found = index.search(
                ASSISTANT, RecallQuery(f"What do you know about {person}?", frozenset({person}), limit=50)
            )
        own = {memory.id for memory in memories[people.index(person) :: PEOPLE]}
        lost += not own <= set(found.ids)
    size = path.stat().st_size if path.exists() else None
    index.clear(ASSISTANT)
    index.close()
    result = {"memories": len(memories), "people": PEOPLE, "people_lost": lost, "bytes": size, **watch.as_json()}
    return result | {"search_cpu_ms": round(worked, 3), "vectors": vectors}, bool(lost)


def _vector(text: str) -> Vector:
    """Return a vector of chance, the same each time for a text."""
    chance = Random(text)  # noqa: S311 - not a secret
    made = make_vector(MODEL, [chance.gauss(0, 1) for _ in range(NUMBERS)])
    assert made is not None
    return made
