"""Cuts what a character knows into single facts, and finds those that a line asks for. English. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from mud_assistant.assistant.language.persons import capital, to_first
from mud_assistant.assistant.language.words import content_words, is_question, sentences_of, words_of

#: The most facts that are found for a line.
MAX_FOUND = 2
#: This many first letters of a word tell what it is about: "studies" and "studied".
_STEM = 5
#: Where a sentence of a persona goes on with another fact: ", and you fear geese".
_NEXT_FACT = re.compile(r"(?i)\s*[,;]\s*(?:and |but )?(?=you(?:r|['\u2019]\w+)?\b)|\s*;\s*|\s+and (?=you(?:r)?\b)")
_LEAST_WORDS = 3
#: Words that say nothing of what a fact is about.
_EMPTY_TEXT = "am i'm he she him her his they them their us our well good"
_EMPTY = frozenset(_EMPTY_TEXT.split())
#: Words that ask for the same side of a life; each row is one matter.
_MATTERS_TEXT = """
    afraid fear scared scare frightened frighten dread worry
    like love enjoy happy fond favourite favorite glad
    hate dislike loathe despise angry
    trust distrust believe
    child children son daughter kid family
    family brother sister mother father parent sibling uncle aunt cousin
    married marry husband wife spouse wedding widow widower
    war battle fight fought soldier army
    work trade job craft living occupation profession
    cost price pay sell buy worth charge money
    die died dead death drown drowned kill killed took lose lost grave
    live home house born grew grow raised come
    miss longing lonely
    hope wish dream want plan
    drink beer ale wine
    time hour clock watch bell
    eat food hungry meal
"""
_MATTERS = tuple(frozenset(word[:_STEM] for word in row.split()) for row in _MATTERS_TEXT.strip().split("\n"))
#: What a question asks for, and what a fact that answers it has in it.
_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|half|penn(?:y|ies)|coins?|silver|gold|coppers?)\b"
)
_TIME = r"\b(?:\w+days?|morning|noon|evening|night|years?|month|week|spring|summer|winter|ago)\b"
_KINDS = tuple(
    (re.compile(asked), re.compile(has))
    for asked, has in (
        (r"(?i)\bhow (?:much|many|old|long|far|often)\b|\bprice\b|\bcosts?\b", f"(?i){_NUMBER}"),
        (r"(?i)\bwho(?:se|m)?\b|\bcalled\b|\bnamed?\b", r"(?<=[a-z,] )[A-Z][a-z]+"),
        (r"(?i)\bwhen\b|\bwhat (?:day|time|year)\b|\bhow (?:long|old)\b", f"(?i){_TIME}|{_NUMBER}"),
        (r"(?i)\bwhere\b", r"\b(?:in|at|near|from|to|on|under|behind|beside) (?:the )?[A-Za-z]"),
    )
)
_OF_YOU = re.compile(r"(?i)\byour?\b")
#: A question for who or what the character is: its first fact tells.
_OF_ITSELF = re.compile(
    r"(?i)\bwho are you\b|\bwhat (?:are|do) you(?: do| doing)?(?: here| for a living)?\s*\?"
    r"|\b(?:about|introduce) yourself|\bwhat(?:'s| is) your (?:trade|job|work)\b"
)


@lru_cache(maxsize=512)
def facts_in(text: str, name: str = "") -> tuple[str, ...]:
    """Return the single facts of a persona or a piece of lore, as the character with this name would tell them."""
    facts: list[str] = []
    for sentence in sentences_of(" ".join(text.split())):
        for part in filter(None, (part.strip(" .") for part in _NEXT_FACT.split(sentence))):
            if len(words_of(part)) < _LEAST_WORDS and facts:
                facts[-1] = f"{facts[-1].rstrip('.')}, {part}."
            else:
                facts.append(capital(to_first(f"{part}{'' if part.endswith(('!', '?')) else '.'}", name)))
    return tuple(facts)


def find_facts(line: str, facts: Sequence[str], *, most: int = MAX_FOUND) -> list[str]:
    """Return the facts that a line asks for, the best first, at most `most`; of a statement to the character one."""
    if _OF_ITSELF.search(line):
        return list(facts[:1])
    if not (asks := is_question(line)) and not _OF_YOU.search(line):
        return []
    asked = stems(content_words(line) - _EMPTY)
    matters = [one for one in _MATTERS if one & asked] if asks else []
    kinds = [has for wanted, has in _KINDS if wanted.search(line)]
    told = [stems(content_words(fact) - _EMPTY) for fact in facts]
    scored: list[tuple[float, int]] = []
    for at, words in enumerate(told):
        shared = sum(1 / sum(stem in other for other in told) for stem in asked & words)
        alike = sum(0.6 for one in matters if one & words and not one & asked & words)
        if shared + alike > 0:
            kind = 0.5 * any(has.search(facts[at]) for has in kinds)
            scored.append((-(shared + alike + kind), at))
    best = sorted(scored)[: most if asks else 1]
    return [facts[at] for score, at in best if score <= best[0][0] / 2]


def stems_of(text: str) -> set[str]:
    """Return the first letters of each word that says what a text is about."""
    return stems(content_words(text))


def stems(words: Iterable[str]) -> set[str]:
    """Return the first letters of each word, which tell what it is about."""
    return {word[:_STEM] for word in words}
