"""What one character knows and says: its lore, its topics, what it told of them to whom, and what is its secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from mud_assistant.assistant.characters import Character, LoreIndex, LoreScanner
from mud_assistant.assistant.characters.character import Topic
from mud_assistant.assistant.characters.day_entries import NO_DAYS, Days
from mud_assistant.assistant.characters.reading import OTHERWISE, everyday_topics
from mud_assistant.assistant.journal.tables.told_topics import StoredTold
from mud_assistant.assistant.language.words import runs, words_of
from mud_assistant.assistant.memory.recall_file import IndexWorker
from mud_assistant.assistant.memory.topics.next_saying import AGAIN_SECONDS
from mud_assistant.assistant.memory.topics.topic_finder import TopicFinder
from mud_assistant.assistant.memory.topics.topic_index import TopicIndex

#: So many words in a row of private lore give it away.
GIVEN_AWAY = 5
#: How many things said aloud are kept, by room and topic.
MAX_ALOUD = 200
_MACRO = re.compile(r"\{\{\w+\}\}")


class CharacterIndex(Struct, frozen=True):
    """The lore and topics of a character, made ready for searching. `secret` are the runs of words of private lore.

    `days` are as they are written. `everyday` finds what is answered where the character has no words of its own.
    """

    lore: LoreIndex
    topics: TopicFinder
    everyday: TopicFinder
    secret: frozenset[tuple[str, ...]] = frozenset()
    days: Days = NO_DAYS


def index_character(
    character: Character, worker: IndexWorker | None = None, everyday: TopicFinder | None = None
) -> CharacterIndex:
    """Return the index of a character. Not for the reactor thread: a large book takes a second.

    `worker` has what makes sentence vectors, if anything does; `everyday` is shared. What stands in other lore, in
    topics or in the persona is no secret, wherever else it stands.
    """
    entries = character.lore.entries
    hidden = _runs(entry.text for entry in entries if entry.private)
    told = [entry.text for entry in entries if not entry.private] if hidden else []
    told += [text for topic in character.topics for text in (*topic.says, topic.solved, topic.reveal)] if hidden else []
    open_to_all = _runs([*told, character.front]) if hidden else frozenset[tuple[str, ...]]()
    topics = TopicFinder(TopicIndex(character.topics), worker)
    everyday = everyday or TopicFinder(TopicIndex(()))
    return CharacterIndex(LoreIndex(character.lore), topics, everyday, hidden - open_to_all, character.days)


def everyday_finder(worker: IndexWorker | None = None) -> TopicFinder:
    """Return what finds everyday topics, one for all characters. Blocks."""
    topics = [topic for title, topic in everyday_topics().items() if not title.startswith(OTHERWISE)]
    return TopicFinder(TopicIndex(topics), worker)


class Knowledge:
    """What one assistant knows and says. `lore` finds lore, `topics` find topics.

    `told` keeps what was said of topics; None only where there are none. `secret` is empty where nothing is.
    """

    __slots__ = ("_aloud", "everyday", "has_topics", "lore", "secret", "told", "topics")

    def __init__(self, index: CharacterIndex, lore: LoreScanner, told: StoredTold | None) -> None:
        self.lore = lore
        self.topics = index.topics
        self.everyday = index.everyday
        self.has_topics = bool(index.topics.topics)
        self.told = told
        self.secret = index.secret
        #: By place and topic: which thing was said aloud last, and when.
        self._aloud: dict[tuple[str, str], tuple[int, float]] = {}

    @property
    def all_topics(self) -> Sequence[Topic]:
        """Return the everyday topics and the character's own, which stand for those of the same title."""
        own = {topic.title for topic in self.topics.topics}
        return [*(topic for topic in self.everyday.topics if topic.title not in own), *self.topics.topics]

    def says_on(self, title: str) -> Sequence[str]:
        """Return what is said on an everyday topic: what the character's own of that title says, if it has one."""
        own = next((topic for topic in self.topics.topics if topic.title == title), None)
        return (own or everyday_topics()[title]).says

    def gives_away(self, text: str, heard: Sequence[str] = ()) -> bool:
        """Tell whether a text reads out private lore, beyond what was just heard of it."""
        return bool((self.secret & _runs([text])) - _runs(heard))

    def heard_aloud(self, place: str, topic: str, now: float) -> int | None:
        """Return which thing of a topic was said last in a place, if that was lately."""
        at = self._aloud.get((place, topic))
        return at[0] if at is not None and now - at[1] < AGAIN_SECONDS else None

    def said_aloud(self, place: str, topic: str, which: int, now: float) -> None:
        """Note what everybody in a place has just heard of a topic."""
        self._aloud.pop((place, topic), None)
        self._aloud[place, topic] = which, now
        while len(self._aloud) > MAX_ALOUD:
            del self._aloud[next(iter(self._aloud))]


def _runs(texts: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """Return all runs of words of texts. A name to be filled in ends a run."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        for piece in _MACRO.split(text):
            found |= runs(words_of(piece), GIVEN_AWAY)
    return frozenset(found)
