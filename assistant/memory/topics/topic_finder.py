"""Finds the topics that a line asks for, by its words and, where sentence vectors are made, by its meaning.

The vectors of the sample questions are made once, in the background, a few at a time. Until they are there, and when
the vector of a line cannot be had soon, words alone find topics.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from mud_assistant.assistant.characters.character import Topic
from mud_assistant.assistant.memory.recall.vectors import Vector
from mud_assistant.assistant.memory.recall_file import IndexWorker, QueryMeaning
from mud_assistant.assistant.memory.topics.line_kinds import asking_part, without_own_name
from mud_assistant.assistant.memory.topics.topic_index import Likely, Sample, TopicIndex

#: How many vectors are asked for at once: a player's line waits for no more than these.
BATCH = 8
#: The nearness, and the score, from which a topic is worth showing to a model that tells it in words of its own.
WORTH_SHOWING = 0.4
_LONGEST = 300


class FoundTopics(Struct, frozen=True):
    """What a line finds. `meant` is what it asks for, several when its words ask for each; `likely` what it may."""

    meant: tuple[Topic, ...] = ()
    likely: tuple[Topic, ...] = ()
    #: The best of them all, and whether meaning was judged as well as words.
    best: Likely | None = None
    by_meaning: bool = False


class TopicFinder:
    """The topics of one character, and the vectors of their samples. `worker` has what makes vectors, if anything."""

    def __init__(self, index: TopicIndex, worker: IndexWorker | None = None) -> None:
        self.index = index
        self._worker = worker
        self._vectors: list[Sample | None] = []
        self._model = ""
        self._is_filling = False

    @property
    def topics(self) -> Sequence[Topic]:
        """Return the topics, as they were written."""
        return self.index.topics

    @property
    def is_ready(self) -> bool:
        """Tell whether the vectors of all samples are there."""
        meaning, count = self._meaning, len(self.index.samples)
        return meaning is not None and len(self._vectors) == count and (self._model == meaning.model or not count)

    def prepare(self) -> None:
        """Begin to make the vectors of the samples, unless they are there. Returns at once."""
        meaning = self._meaning
        if meaning is not None and self._worker is not None and not self._is_filling and not self.is_ready:
            self._is_filling = True
            self._worker.later(self.fill(meaning), "making the vectors of topics")

    async def fill(self, meaning: QueryMeaning) -> None:
        """Make the vectors of the samples that have none yet; ends early when none can be made now."""
        self._is_filling = True
        try:
            if self._model != meaning.model:
                self._model, self._vectors = meaning.model, []
            while (at := len(self._vectors)) < len(self.index.samples):
                made = await meaning.of_texts([text for text, _ in self.index.samples[at : at + BATCH]])
                if not made:
                    return
                self._vectors += [Sample(vector, vector.signs) if vector else None for vector in made]
        finally:
            self._is_filling = False

    async def find(self, line: str, *, names: Collection[str] = (), mine: Collection[str] = ()) -> FoundTopics:
        """Return the topics that a line asks for. `names` are the words of others' names, `mine` those of the own."""
        found = self.find_by_words(line, names=names, mine=mine)
        part = _part_of(line)
        if not self.topics or (found.best is not None and found.best.is_same and found.meant):
            return found
        vector = await self._vector_of(part)
        return found if vector is None else self._judged(part, names, mine, vector)

    def find_by_words(self, line: str, *, names: Collection[str] = (), mine: Collection[str] = ()) -> FoundTopics:
        """Return the topics that a line asks for, as far as words tell."""
        return self._judged(_part_of(line), names, mine) if self.topics else FoundTopics()

    def _judged(
        self, part: str, names: Collection[str], mine: Collection[str], vector: Vector | None = None
    ) -> FoundTopics:
        others = frozenset(names) - frozenset(mine)
        found = self.index.likely(part, names=others, mine=mine, vector=vector, of=self._vectors)
        meant = self.index.meant(part, found, by_meaning=vector is not None)
        likely = [one for one in found if one.key or one.score >= WORTH_SHOWING] or meant
        return FoundTopics(
            tuple(self.topics[one.number] for one in meant),
            tuple(self.topics[one.number] for one in likely),
            next(iter(meant or found), None),
            vector is not None,
        )

    @property
    def _meaning(self) -> QueryMeaning | None:
        return None if self._worker is None else self._worker.meaning

    async def _vector_of(self, line: str) -> Vector | None:
        """Return the vector of a line; None when it cannot be had soon, or those of the samples are not all there."""
        self.prepare()
        return await self._meaning.of_query(line) if self._meaning is not None and self.is_ready else None


def _part_of(line: str) -> str:
    return without_own_name(asking_part(line))[:_LONGEST]
