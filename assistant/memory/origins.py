"""Finds whose words a text repeats, among those heard in the run or earlier in the stream. Pure.

A note that is made in one player's run may hold another player's words. The words themselves tell: each word that the
player did not use is looked for in what the others said. When most words of a text are found nowhere, it was
rephrased, and may come from anyone in view.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from assistant.memory.entries import Entry
from llm.messages import Message
from tools.trust import Principal

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
        words = words_of("\n".join(_texts(entry.messages)))
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


def _texts(messages: Iterable[Message]) -> Iterable[str]:
    """Yield all text of the messages."""
    for message in messages:
        yield message.text
        for call in message.tool_calls:
            yield from map(str, call.arguments.values())
        for result in message.tool_results:
            yield result.text


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST:
            return word[: -len(ending)]
    return word.strip("'")


_STEMMED_COMMON = frozenset(map(_stem, _COMMON)) | {""}
