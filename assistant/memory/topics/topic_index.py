"""Finds the topics that a line may ask for, by its words and by its vector. Pure.

A key is the owner's word and counts most. The words of the sample questions count by how few topics have them, and only
all of a line's words together decide. The vector of a line is compared with those of the samples; the nearest counts.

A topic most of whose samples tell or state, such as "I have lost my hat.", answers what is told. A question finds it
only by a sample that asks. A line that tells needs one of its keys, since a vector holds lost and found for alike.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from mud_assistant.assistant.characters import Lorebook, LoreEntry, LoreIndex
from mud_assistant.assistant.characters.character import Topic
from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.memory.recall.vectors import Vector, compare_vectors
from mud_assistant.assistant.memory.topics.line_kinds import LineKind, about, kind_of, names_of_others, slant_of

#: From this share of words in common on, a line is the same as a sample.
SAME = 0.85
#: What all the words of a line, and a key, add to its nearness (a cosine).
WORDS, KEY = 0.1, 0.25
#: The nearness from which a topic is meant, how much more it needs than the next, and what a line needs that asks
#: for nothing.
NEAR, AHEAD, STATED = 0.43, 0.1, 0.65
#: What a topic without a key in the line needs, and how much more than the topic with it, to be meant in its place.
FAR_NEARER_FROM, FAR_NEARER = 0.6, 0.3
#: The share of a line's words that must be a topic's where no meaning is judged, and twice as much as any other's.
SHARED = 0.5
#: The least nearness of a line all of whose words are a topic's own.
OWN_NEAR = 0.35
#: The nearness that a line without a word of its own needs, such as "Who are you?".
WORDLESS = 0.48
#: How many samples are compared by their numbers, those nearest by sign.
COMPARED = 120
#: Topics of so nearly the same nearness are asked for by the same words: "Tell me a joke", and there are two.
TIED = 0.005
#: What a line that tells needs with a key of a topic, and how much more than the next topic with a key.
TOLD_NEAR, TOLD_AHEAD = 0.35, 0.05
#: In a sample this word stands for whoever is named in a line.
ANYBODY = "somebody"


class Sample(NamedTuple):
    """The vector of a sample with its signs, by which the nearest are found quickly."""

    vector: Vector
    signs: int


class Likely(Struct, frozen=True):
    """How much speaks for one topic. `by` is the key, the words or the sample that speaks for it most."""

    number: int
    score: float
    near: float
    words: float
    same: float
    key: str
    by: str

    @property
    def is_same(self) -> bool:
        """Tell whether the line has the words of a sample."""
        return self.same >= SAME


class TopicIndex:
    """The topics of one character, made ready for finding. Not for the reactor thread: it looks at every sample."""

    def __init__(self, topics: Sequence[Topic]) -> None:
        self.topics = tuple(topics)
        #: Each sample question with the number of its topic. A topic without any has its title as one.
        self.samples = [(text, number) for number, topic in enumerate(topics) for text in topic.asks or (topic.title,)]
        self._kinds = [kind_of(text) for text, _ in self.samples]
        self._words = [frozenset(words_of(text)) for text, _ in self.samples]
        self._slants = [slant_of(text) for text, _ in self.samples]
        self._reacts = [_reacts(topic) for topic in topics]
        own = [about(" ".join((topic.title, *topic.asks, *topic.keys))) for topic in topics]
        self._is_of_anybody = [ANYBODY in words_of(" ".join(topic.asks)) for topic in topics]
        self._stems = own
        self._asked = [
            about(" ".join(ask for ask in topic.asks if kind_of(ask) is LineKind.ASKS)) if reacts else stems
            for topic, stems, reacts in zip(topics, own, self._reacts, strict=True)
        ]
        self._spread = Counter(stem for stems in own for stem in stems)
        self._names = [frozenset(words_of(" ".join(_texts(topic)))) for topic in topics]
        entries = (LoreEntry(str(number), "", keys=topic.keys) for number, topic in enumerate(topics))
        self._keys = LoreIndex(Lorebook(tuple(entries)))
        #: The samples of a topic that a key of its is in.
        self._with_key: dict[tuple[int, str], list[int]] = {}
        for at, (text, number) in enumerate(self.samples):
            for key in topics[number].keys if self._reacts[number] else ():
                if f" {key.casefold()} " in f" {' '.join(words_of(text))} ":
                    self._with_key.setdefault((number, key), []).append(at)

    def likely(
        self,
        line: str,
        *,
        names: Collection[str] = (),
        mine: Collection[str] = (),
        vector: Vector | None = None,
        of: Sequence[Sample | None] = (),
    ) -> list[Likely]:
        """Return the topics that something speaks for, the likeliest first.

        `names` are words of the names of people present, `mine` those of the character's own. A topic that does not
        know a name in the line is not meant. `vector` is the line's, `of` are those of the samples.
        """
        kind, words, stems = kind_of(line), frozenset(words_of(line)), about(line)
        named = (names_of_others(line) | (words & frozenset(names))) - frozenset(mine)
        slant = slant_of(line)
        counted = [self._counts(at, kind, slant) for at in range(len(self.samples))]
        keys = self._keys_in(line, kind, counted)
        near: dict[int, tuple[float, int]] = {}
        of = [one if counts else None for one, counts in zip(of, counted, strict=False)]
        for at, nearness in _nearest(vector, of):
            near[self.samples[at][1]] = max(near.get(self.samples[at][1], (-1.0, 0)), (nearness, at))
        fit: dict[int, tuple[float, int]] = {}
        for at, (_, number) in enumerate(self.samples):
            if counted[at]:
                fit[number] = max(fit.get(number, (-1.0, 0)), (_alike(words, self._words[at]), at))
        found = []
        for number, (same, at) in fit.items():
            if not self._may_mean(number, kind, named, has_key=number in keys or same >= SAME):
                continue
            nearness, by = near.get(number, (0.0, at))
            share = self._share(stems, (self._asked if kind is LineKind.ASKS else self._stems)[number])
            score = nearness + WORDS * share + (KEY if number in keys else 0.0)
            text = self.samples[at if same >= SAME or not near else by][0]
            found.append(Likely(number, score, nearness, share, same, keys.get(number, ""), text))
        return sorted(found, key=lambda one: (not one.is_same, -one.score))

    def meant(self, line: str, found: Sequence[Likely], *, by_meaning: bool) -> list[Likely]:
        """Return the topics that the line asks for, several when the same words ask for each; none when in doubt."""
        if not found:
            return []
        first, kind = found[0], kind_of(line)
        if first.is_same:
            return [one for one in found if one.is_same]
        if kind is not LineKind.ASKS and (told := [one for one in found if one.key and self._reacts[one.number]]):
            return _told(told, by_meaning=by_meaning)
        if not by_meaning:
            return self._by_words(found, kind)
        if kind is LineKind.ASKS and (keyed := _longest_key(found)) and not _is_nearer(first, keyed):
            return keyed
        tied = [one for one in found if first.score - one.score < TIED and bool(one.key) == bool(first.key)]
        behind = next((one.score for one in found if one not in tied), 0.0)
        if not (about(line) or first.key) and first.near < WORDLESS:
            return []
        if kind in {LineKind.STATES, LineKind.TELLS} and first.near < STATED:
            return []
        is_own = first.words == 1 and first.near >= OWN_NEAR
        return tied if (first.score >= NEAR or is_own) and first.score - behind >= AHEAD else []

    def _by_words(self, found: Sequence[Likely], kind: LineKind) -> list[Likely]:
        """Return the topics with the longest key, else the one that has most of the line's words."""
        if kind is not LineKind.ASKS:
            return []
        if keyed := _longest_key(found):
            return keyed
        by_share = sorted(found, key=lambda one: -one.words)
        behind = by_share[1].words if len(by_share) > 1 else 0.0
        return by_share[:1] if by_share[0].words >= SHARED and behind <= by_share[0].words / 2 else []

    def _keys_in(self, line: str, kind: LineKind, counted: Sequence[bool]) -> dict[int, str]:
        """Return the longest key in the line of each topic that has one there, as far as it counts in such a line.

        "I am afraid" is no key of "I am not afraid", nor "kill you" of "The wolf will kill you".
        """
        keys: dict[int, str] = {}
        for key in self._keys.keys_in(line):
            for number, text in self._keys.brings[key]:
                with_key = self._with_key.get((number, text), ())
                is_meant = kind is not LineKind.ASKS and (not with_key or any(counted[at] for at in with_key))
                if is_meant or not self._reacts[number]:
                    keys[number] = max(keys.get(number, ""), text, key=len)
        return keys

    def _counts(self, sample: int, kind: LineKind, slant: tuple[bool, bool]) -> bool:
        """Tell whether a sample speaks for its topic in a line of such a kind and slant."""
        own = self._kinds[sample]
        if not self._reacts[self.samples[sample][1]]:
            return kind in {LineKind.ASKS, LineKind.STATES} or own is kind
        return own is kind and (kind is LineKind.ASKS or slant == self._slants[sample])

    def _may_mean(self, number: int, kind: LineKind, named: Collection[str], *, has_key: bool) -> bool:
        """Tell whether a line that names these can be about a topic."""
        is_told = kind is LineKind.TELLS and has_key and self._reacts[number]  # of whomever: "My dog Rex has died."
        if named and not (is_told or self._is_of_anybody[number] or self._names[number].issuperset(named)):
            return False
        return has_key or kind is LineKind.ASKS or not (self._reacts[number] and self.topics[number].keys)

    def _share(self, stems: Collection[str], own: Collection[str]) -> float:
        """Return how much of what a line is about is in a topic, from 0 to 1: rare words count more."""
        weights = {stem: math.log((len(self.topics) + 1) / (self._spread[stem] or 1)) + 0.1 for stem in stems}
        mine = sum(weight for stem, weight in weights.items() if stem in own)
        return mine / whole if (whole := sum(weights.values())) else 0.0


def _reacts(topic: Topic) -> bool:
    """Tell whether most of a topic's samples tell, state or order."""
    telling = sum(kind_of(ask) in {LineKind.TELLS, LineKind.STATES, LineKind.ORDERS} for ask in topic.asks)
    return 2 * telling > len(topic.asks)


def _told(found: Sequence[Likely], *, by_meaning: bool) -> list[Likely]:
    """Return what answers a line that tells something: one of these, which have a key in it."""
    if not by_meaning:
        return [one for one in _longest_key(found) if one.words >= SHARED][:1]
    first, *others = found
    is_ahead = all(first.score - one.score >= TOLD_AHEAD for one in others)
    return [first] if first.near >= TOLD_NEAR and is_ahead else []


def _longest_key(found: Iterable[Likely]) -> list[Likely]:
    """Return the topics whose key in the line is the longest; several may have the same."""
    longest = max((len(one.key) for one in found), default=0)
    return [one for one in found if one.key and len(one.key) == longest]


def _is_nearer(other: Likely, keyed: Sequence[Likely]) -> bool:
    """Tell whether a line means another topic, though it has a key of these in it."""
    near = max(one.near for one in keyed)
    return other not in keyed and other.near >= FAR_NEARER_FROM and other.near - near >= FAR_NEARER


def _nearest(vector: Vector | None, of: Sequence[Sample | None]) -> Iterable[tuple[int, float]]:
    """Yield the places of the nearest vectors with how near they are; by sign first, where there are many."""
    if vector is None:
        return
    known = [(at, sample) for at, sample in enumerate(of) if sample is not None]
    if len(known) > COMPARED:
        signs = vector.signs
        known = heapq.nsmallest(COMPARED, known, key=lambda one: (signs ^ one[1].signs).bit_count())
    for at, sample in known:
        yield at, compare_vectors(vector, sample.vector)


def _texts(topic: Topic) -> Iterable[str]:
    return (topic.title, *topic.asks, *topic.keys, *topic.says)


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0
