"""Reads by rule what a line asks of a person: of whom, and which part of what is known of them. Pure, in English."""

from __future__ import annotations

import re

from mud_assistant.assistant.language.words import is_question
from mud_assistant.assistant.memory.acquaintance.kin_words import ANIMALS, RELATIONS
from mud_assistant.assistant.memory.recall.words import DATE_WORDS, find_capitalised, join_neighbours, split_words
from mud_assistant.tools.memories import FactPart

#: The most words of a name.
MOST_NAME_WORDS = 3
_KIN = "|".join(sorted(RELATIONS | ANIMALS, key=len, reverse=True))
_PARTS: tuple[tuple[FactPart, re.Pattern[str]], ...] = tuple(
    (part, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
    for part, words in (
        (
            FactPart.HOME,
            (
                r"where (?:\w+ ){0,4}?(?:from|live|lives|lived|born|home|grew|grow|raised|dwell|stay|settle|sleep)"
                r"|(?:come|comes|came|hail|hails) from|home ?town|homeland|birthplace|home|village|origins?"
            ),
        ),
        (
            FactPart.WORK,
            (
                r"(?:do|does|did) (?:\w+ )?for a living|trade|profession|occupation|craft|job|work|works|living|earns?"
                r"|what (?:do|does) (?:i|she|he|they|[A-Z]\w+) do|what (?:am|is|was) (?:i|s?he|[A-Z]\w+)(?= ?(?:\?|$))"
            ),
        ),
        (
            FactPart.KIN,
            (
                rf"(?:{_KIN})(?:e?s)?|family|kin|relatives|siblings|parents|animals?|pets?"
                r"|called|named|married|wed"
            ),
        ),
        (
            FactPart.OPEN,
            (
                r"(?:going|planning|planned|meaning|meant|intend|intended|want|wanted|about|have|had|due|hoping) to"
                r"|plans?|tomorrow|next week|ahead|coming up|up to|looking forward|will i|(?:exam|wedding|trial|race|"
                r"journey|trip|meeting|appointment|festival|birthday|contest|match)"
            ),
        ),
        (FactPart.LOST, r"lose|lost|missing|mislaid|misplaced|looking for|stolen|stole|find|searching|robbed"),
        (FactPart.PROMISE, r"promised?|owed?|owes|your word|said you would"),
        (
            FactPart.FEAR,
            r"afraid|fears?|scares?|scared|frightens?|frightened|terrif\w+|dread|nightmares?|phobia|worry|worries",
        ),
        (
            FactPart.LIKING,
            (
                r"likes?|loves?|enjoys?|fond|favou?rites?|prefers?|hates?|dislikes?|stand|bear|taste|pleases?|please|hobby"
                r"|hobbies|pastime"
            ),
        ),
        (FactPart.OWN, r"own|owns|have|has|possess|belongings|bought|sold|buy|sell|instrument|carry"),
    )
)
_OF_ME = re.compile(r"\b(?:i|me|my|mine|we|us|our|myself)\b", re.IGNORECASE)
_ALL = re.compile(
    r"(?i:\b(?:know|remember|recall|tell|told|hear|heard|say|think|learnt|learned|forgotten|forgot)\b[^.?!]{0,24}?"
    r"\b(?:about|of|on)\b|\bwho (?:am i|i am)\b|\b(?:everything|anything|what) (?:\w+ )?(?:you )?know\b)"
    r"|(?i:\bwho(?:'s| is| was| are))\s+[A-Z]?[\w'-]+\s*\?"
    r"|(?i:\b(?:know|met|meet|remember|recall|recognise|recognize|seen|forgotten|forgot)(?: \w+){0,2}?) (?:me\b|[A-Z])"
)
_KNOWN = re.compile(
    r"\b(?:do|did|have|has|had|don't|haven't)\s+(?:you|ya)\s+(?:\w+\s+){0,2}?(?:know|met|meet|seen|see|"
    r"talk(?:ed)? (?:to|with)|spoken (?:to|with)|heard of|remember)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:when|how long ago|how long since|what day|which day|last time|first time|how often)\b", re.IGNORECASE
)
_OWN_WORDS = re.compile(
    r"\b(?:what|which|anything|something)\b.*"
    r"\b(?:did|have|had) I (?:\w+ )?(?:tell|told|say|said|mention|mentioned)\b"
    r"|\b(?:did|have|had) I (?:\w+ )?(?:tell|told|mention|mentioned) (?:to )?you\b.*\b(?:about|of)\b",
    re.IGNORECASE,
)
#: Words that begin with a capital in a question and are no name.
_NO_NAME_TEXT = """
    i i'm i've what who when where why how do does did have has had is are was were can could would will shall tell
    please hello hi hey good yes no mr mrs miss sir lady lord master the a an
"""
_NO_NAME = frozenset(_NO_NAME_TEXT.split()) | DATE_WORDS


def asks_of_people(line: str) -> bool:
    """Tell whether a line wants to be told something."""
    return is_question(line) or _ALL.search(line) is not None


def asks_of_me(line: str) -> bool:
    """Tell whether a line speaks of the one who speaks it."""
    return _OF_ME.search(line) is not None


def asks_all(line: str) -> bool:
    """Tell whether a line asks for all that is known of somebody."""
    return _ALL.search(line) is not None


def asks_whether_known(line: str) -> bool:
    """Tell whether a line asks if the character knows or has met somebody."""
    return _KNOWN.search(line) is not None


def asks_own_words(line: str) -> bool:
    """Tell whether a line asks what its speaker said before."""
    return _OWN_WORDS.search(line) is not None


def asks_when(line: str) -> bool:
    """Tell whether a line asks for the time of something."""
    return _WHEN.search(line) is not None


def parts_asked(line: str) -> frozenset[FactPart]:
    """Return which parts of what is known of somebody a line asks for, none when it says nothing of that."""
    return frozenset(part for part, words in _PARTS if words.search(line))


def names_asked(line: str, own: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return what may be a whole name in a line, and what may be a part of one, in lower case.

    `own` are the words of the character's own names, which every line may hold.
    """
    whole = [run for run in join_neighbours(line, MOST_NAME_WORDS) if not own.issuperset(split_words(run))]
    looks = [word for word in find_capitalised(line) if word not in own and word not in _NO_NAME]
    return [run for run in dict.fromkeys(whole) if run not in _NO_NAME], looks
