"""Compares the words of two lines: likeness, runs in common, names that occur. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002])[\"'\u201d\u2019)]*\s+")
#: The fewest letters of a word whose plural ending is removed: this many for -s, more for -es.
_SHORT = 4
#: Words that a thing's name may begin with in a line, and that say nothing about which thing is meant.
_ARTICLES = frozenset({"the", "a", "an", "your", "my", "this", "that", "his", "her", "their", "our"})


_QUESTION_WORDS = r"(?:what|which|who|whose|whom|where|when|why|how)"
_OPEN_QUESTION = re.compile(rf"(?i)\b{_QUESTION_WORDS}(?:'s|'re)?\b[^?.!]*\?")
_TO_TELL = re.compile(
    rf"(?i)\b(?:tell|say|explain|describe|show|let)\b[^?.!]*\b{_QUESTION_WORDS}\b|\btell (?:me|us) (?:about|of)\b"
)
#: Words that say nothing of what a line is about.
_PLAIN_WORDS_TEXT = """
    the a an is are was were do does did can could will would what which who where why how when your you my me i
    we it its this that there here of in on at to from with and or not no any some one have has had be been many
    much tell know think like see look go come please about into hello lead leads stand good name say said for
    by as so very more than then now yes
"""
PLAIN_WORDS = frozenset(_PLAIN_WORDS_TEXT.split())


def one_of(patterns: str) -> str:
    """Return a pattern that matches one of several, which stand one or more a line."""
    return "|".join(line.strip() for line in patterns.strip().split("\n"))


def is_question(line: str) -> bool:
    """Tell whether a line wants to be told something: a question, or "tell me what ..."."""
    return "?" in line or _TO_TELL.search(line) is not None


def is_open_question(line: str) -> bool:
    """Tell whether yes or no would not answer the line."""
    straight = line.replace("\u2019", "'")
    return _OPEN_QUESTION.search(straight) is not None or _TO_TELL.search(straight) is not None


def words_of(text: str) -> list[str]:
    """Return the words of `text`, casefolded, with curly apostrophes made straight."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]


def sentences_of(text: str) -> list[str]:
    """Return the sentences of `text`, stripped; none of them is empty."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def is_like(one: Sequence[str], other: Sequence[str], least: float) -> bool:
    """Tell whether two lists of words are more alike than `least`, from 0 to 1.

    Quick where their lengths or their words decide it.
    """
    if not one or not other or 2 * min(len(one), len(other)) <= least * (len(one) + len(other)):
        return False
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() > least and matcher.ratio() > least


def runs(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    """Return every run of `size` words."""
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """Return those of `names` that `text` mentions, in its order.

    The whole name or its last word counts, plural or not.
    """
    words = [singular(word) for word in words_of(text)]
    found: list[tuple[int, int, str]] = []
    for name in names:
        wanted = [singular(word) for word in words_of(name) if word not in _ARTICLES]
        if not wanted:
            continue
        at, whole = _place(words, wanted), True
        if at < 0 and len(wanted) > 1:
            at, whole = _place(words, wanted[-1:]), False
        if at < 0 and " of " in f" {name.casefold()} ":  # "book of herbs" is a book
            at, whole = _place(words, wanted[:1]), False
        if at >= 0:
            found.append((at, -len(wanted) if whole else 0, name))
    return [name for _, _, name in sorted(found)]


def _place(words: Sequence[str], wanted: Sequence[str]) -> int:
    size = len(wanted)
    return next((at for at in range(len(words) - size + 1) if list(words[at : at + size]) == list(wanted)), -1)


def singular(word: str) -> str:
    """Return a word without its genitive and its plural ending."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) > _SHORT and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) >= _SHORT and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def listed(names: Sequence[str], word: str = "and") -> str:
    """Return the names as one reads them out: "the map, the hearth and the book"; empty for none."""
    *first, last = names or [""]
    return f"{', '.join(first)} {word} {last}" if first else last


def with_article(thing: str) -> str:
    """Return the name of a thing as one points at it: "the old map"."""
    first, _, rest = thing.partition(" ")
    return f"the {rest}" if rest and first.casefold() in _ARTICLES else f"the {thing}"


def content_words(text: str) -> set[str]:
    """Return the words of `text`, in the singular, that say what it is about."""
    return {singular(word) for word in words_of(text)} - PLAIN_WORDS
