"""Tells whose words are in the stream: those that a text repeats, and those that lower what an assistant may do.

A note that is made in one player's run may hold another player's words. The words themselves tell: each word that the
player did not use is looked for in what the others said, in the run or earlier in the stream. When most words of a text
are found nowhere, it was rephrased, and may come from anyone in view.

Names are told to a player who is refused and to one who decides. The stream keeps the level of each entry and the ids
of those who caused it. The names of people are learned as they are heard and seen; of a person heard before the last
restart only the id is known.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from mud_assistant.assistant.memory.stream.entries import Entry
from mud_assistant.assistant.memory.stream.history import History
from mud_assistant.llm.messages import Message, Role
from mud_assistant.tools import Scene, label_of
from mud_assistant.tools.policy.decide import GAME_TEXTS, name_source
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.trust import Principal, rank

#: Words that say nothing about where a text is from.
_COMMON = frozenset(
    [
        "a",
        "about",
        "after",
        "all",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "like",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "out",
        "said",
        "say",
        "says",
        "she",
        "should",
        "so",
        "some",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "they",
        "this",
        "to",
        "told",
        "up",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "will",
        "with",
        "would",
        "you",
        "your",
        "remember",
        "remembers",
        "wants",
        "want",
    ]
)
_ENDINGS = ("'s", "ing", "ies", "ed", "es", "s", "e", "y")
#: The fewest letters that remain of a word when its ending is removed.
_LEAST = 3
#: How many of the newest tokens of the stream are read. When some are left unread, a word that is found nowhere may be
#: anyone's.
_MOST_TOKENS = 32_000


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text without endings, except the common ones."""
    return frozenset(map(_stem, re.findall(r"[\w']+", text.casefold()))) - _STEMMED_COMMON


def sources_of(
    text: str, requester: Principal | None, heard: Sequence[tuple[str, str]], entries: Sequence[Entry]
) -> frozenset[str]:
    """Return the ids of those whose words the text repeats; the requester's is always among them.

    `heard` holds the lines of the run, each with the id of its speaker. `entries` holds what else is in view.
    """
    mine = {requester.id} if requester else set()
    wanted = words_of(text) - (words_of(requester.name) if requester else frozenset())
    own = [words_of(line) for who, line in heard if who in mine]
    others = [(frozenset({who}), words_of(line)) for who, line in heard if who not in mine]
    left_unread = False
    tokens = 0
    for entry in reversed(entries):
        tokens += entry.tokens
        if left_unread := tokens > _MOST_TOKENS:
            break
        words = words_of("\n".join(texts_of(entry.messages)))
        if set(entry.sources) <= mine:
            own.append(words)
        else:
            others.append((frozenset(entry.sources), words))
    left = wanted.difference(*own)
    found = frozenset(mine).union(*(who for who, words in others if left & words))
    unknown = left.difference(*(words for _, words in others))
    if unknown and (left_unread or 2 * len(unknown) > len(wanted)):
        return found.union(*(entry.sources for entry in entries), (who for who, _ in heard))
    return found


def texts_of(messages: Iterable[Message]) -> Iterable[str]:
    """Yield all text of the messages."""
    for message in messages:
        yield message.text
        for call in message.tool_calls:
            yield from map(str, call.arguments.values())
        for result in message.tool_results:
            yield result.text


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word[: -len(ending)]
    return word.strip("'")


_STEMMED_COMMON = frozenset(map(_stem, _COMMON)) | {""}
#: How many people are remembered by name, and how many causes are named.
MAX_KNOWN, MAX_NAMED = 500, 4
_MAX_NAME = 60
#: What a thing lowers it by.
_TEXT_OF = "the name or the description of"


class Voices:
    """The people whose words or names were met lately: what they are called and how far they are trusted."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[str, int]] = OrderedDict()

    def heard(self, who: Principal, world_text: int) -> None:
        """Learn the name of a person who was heard."""
        self._learn(who.id, who.name, label_of(who, world_text).authority)

    def seen(self, scene: Scene) -> None:
        """Learn the names of all in the scene that are not the game's own."""
        for person in scene.people:
            if person.authority is not None:
                self._learn(person.id, person.name, person.authority)
        for thing in (*scene.things, *scene.carried):
            if thing.authority is not None:
                self._learn(thing.id, f"{_TEXT_OF} {thing.name}", thing.authority)

    def name_causes(self, history: History, level: int, asker: str) -> str:
        """Name the people, or other causes, in the stream whose level is no higher than this, the latest first.

        What a tool was asked in a run for somebody other than `asker` (a principal's id) is not told.
        """
        low = [entry for entry in history.entries() if entry.authority <= level]
        told = [entry for entry in low if entry.others_level <= level]
        causes = dict.fromkeys(cause for entry in reversed(told or low) for cause in self._causes(entry, level, asker))
        return ", ".join(list(causes)[:MAX_NAMED])

    def _learn(self, who: str, name: str, level: int) -> None:
        if who:
            self._known[who] = (name[: _MAX_NAME + len(_TEXT_OF)], level)
            self._known.move_to_end(who)
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)

    def _causes(self, entry: Entry, level: int, asker: str) -> Iterator[str]:
        calls = [call for message in entry.messages for call in message.tool_calls]
        if entry.others_level > level:
            names = list(self._names(entry.sources, level)) or ["others"]
            yield f"what it said itself when words of {' and '.join(names)} were in its view"
        elif calls or entry.messages[0].role is not Role.USER:
            own = set(entry.sources) <= {asker}
            yield from (name_source(call if own else replace(call, arguments={})) for call in calls)
        else:
            names = list(self._names(entry.sources, level))
            yield from (name if name.startswith(_TEXT_OF) else f"what {name} wrote or said" for name in names)
            if not names:
                yield GAME_TEXTS

    def _names(self, sources: Sequence[str], level: int) -> Iterator[str]:
        """Yield the names of those sources that are trusted no more than `level`, or whose trust is not known."""
        for who in sources:
            name, theirs = self._known.get(who, ("", level))
            name = one_line(name)
            if theirs <= level and who != "world":
                rest = "" if name.startswith(_TEXT_OF) else f" ({rank(theirs)})"
                yield f"{name}{rest}" if name else f"somebody heard earlier ({who})"
