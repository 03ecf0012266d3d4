"""Tells what a line does: it asks, tells of its speaker, states, orders, or reacts. Pure, and of English only.

Most topics answer what asks. A line of another kind finds a topic only by a sample of its own kind: "I lost my scarf"
is no question for the lost scarf, whatever the words have in common.
"""

from __future__ import annotations

import re
from enum import StrEnum

from mud_assistant.assistant.language.words import content_words, sentences_of, words_of

#: Words that say nothing of what a line wants, at its beginning.
_LEAD = re.compile(
    r"^(?:(?:well|oh|ah|and|but|so|then|hey|hello|hi|say|please|now|yes|no|ok|okay)\b[\s,.!-]*)+",
    re.IGNORECASE,
)
#: A greeting, to anybody, before what a line says.
_GREETS = re.compile(
    r"^\W*(?:hello|hi|hiya|hey|hail|greetings|well met|good (?:morning|day|afternoon|evening))\b"
    r"(?:,?\s+[\w'\u2019-]+){0,2}\s*[.!]+\s+(?=\S)",
    re.IGNORECASE,
)
#: What is polite before a question, and an answer to nothing then.
_POLITE = re.compile(
    r"^(?:(?:sorry|excuse me)\b[\s,.!-]*|"
    r"(?:thanks|thank you|cheers|ha(?:ha)+|I am sorry|I['\u2019]m sorry|(?:good)?bye)\b[^,;.!?]*[,;.!-]+\s*)+",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^(?:take|bring|put|go|come|follow|drop|fetch|hold|open|close|shut|wait|stay|leave|look|pick|stop|sit|stand|"
    r"(?:give|hand|show|pass) (?:(?:me|us|him|her|it|them|\w+) )?(?:all (?:of )?)?"
    r"(?:the|that|this|those|these|your|my|it|back)|"
    r"(?:can|could|would|will) you (?:please )?"
    r"(?:hold|take|bring|carry|fetch|open|close|follow|come|go|give me the))\b",
    re.IGNORECASE,
)
_OF_SPEAKER = re.compile(
    r"^(?:I|I['\u2019]?m|I['\u2019](?:ve|ll|d)|ive|my|we|we['\u2019](?:re|ve|ll|d)|our)\b", re.IGNORECASE
)
#: With these a speaker asks for something, though it looks as if they told something.
_WANTS = re.compile(
    r"\b(?:need|want|looking for|look for|searching for|would like|['\u2019]d like|wish to|wonder|wondering|could use|"
    r"hear|heard|hungry|starving|thirsty|have to get|must get|curious)\b",
    re.IGNORECASE,
)
_OF_SELF = re.compile(
    r"\b(?:do|did|am|was|were|have|had) (?:I|we)\b"
    r"(?! (?:talking|speaking|dealing|get|find|reach|go|buy|need|have to|become|pay|owe you))"
    r"|\b(?:what|where|who|which|how|when)\b[^?]*\bmy\b|\bremember me\b|\bknow (?:about )?me\b|\bmy name\b",
    re.IGNORECASE,
)
_MODAL = re.compile(r"\b(?:can|could|should|may|might|must|shall|would|will)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\?\s*$|^(?:what(?! an? )|which|who|whose|whom|where|when|why|how|is|are|was|were|do|does|did|has|have|had|"
    r"can|could|would|will|should|shall|may|any|anything|anybody|anyone|got|know|heard|seen|ever|been|tell|teach|explain|"
    r"give|sing|recite|describe|ask|make|cheer|read|let|show|name|what['\u2019]s|who['\u2019]s|where['\u2019]s|isn['\u2019]t|"
    r"aren['\u2019]t|don['\u2019]t you)\b",
    re.IGNORECASE,
)
#: What only announces the rest of a line.
_LEADS_IN = re.compile(r"^\W*(?:can|may|could) I (?:tell|ask|say) (?:you )?something\s*[?.:]\s+(?=\S)", re.IGNORECASE)
#: What only asks whether the other follows, at the end of a line.
_TAIL = re.compile(
    r",?\s+(?:you know|you see|mind you|I tell you|honestly|I suppose|I guess)\s*(?=[.?!]*$)", re.IGNORECASE
)
#: Somebody called at the end of a line, by one word or by two such as "old man".
_CALLED = re.compile(r",\s*(?:(?:my|old|good|dear|young) )?[\w'\u2019-]+\s*(?=[.?!]*$)", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
#: Who a speaker says that they are, and where they say they come from.
_OWN_NAME = re.compile(
    r"((?i:\bmy name(?:['\u2019]s| is)|\b(?:call|calls) me|\bI am called|\bI(?: am|['\u2019]m)(?: \w+)? from|"
    r"\b(?:come|hail) from|\bI(?: am|['\u2019]m)) )([A-Z][\w'\u2019-]+(?: [A-Z][\w'\u2019-]+)*)"
)
#: Words for what was said before.
_BACK = re.compile(
    r"\b(?:it|its|that|this|these|those|they|them|their|he|him|his|she|her|one|so|there)\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"\b(?:if|because|unless|that|when|for|but)\b", re.IGNORECASE)
_TO_YOU = re.compile(r"\b(?:you|u)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|never|no|cannot|dont|cant|isnt|arent|didnt|wont)\b|n['\u2019]t\b", re.IGNORECASE)
_NO_NAMES_TEXT = """
    mrs miss mister master mistress lord lady sir madam
    monday tuesday wednesday thursday friday saturday sunday
"""
_NO_NAMES = frozenset(_NO_NAMES_TEXT.split())

#: Words of a line that are about no topic, beside those of `PLAIN_WORDS`.
_EMPTY_TEXT = """
    really ever thing things something anything someone somebody anybody lot little bit just right well also only even
    got getting give given make made let us want need hear heard any kind sort way old new nice other another happen
    happened show teach explain describe read mind don't doesn't isn't aren't what's who's where's there's that's it's
    i'm you're want wants ask asked use used call called take takes bring put much many
"""
_EMPTY = frozenset(_EMPTY_TEXT.split())
_STEM = 5


#: What only answers to what was said a moment ago.
_REACTS = re.compile(
    r"^(?:why(?: not| so| is that| that)?|how (?:come|so)|really|truly|is (?:that|it) (?:so|true|right|a fact)|"
    r"(?:are )?you(?:'re)? (?:sure|certain|serious|joking|kidding)|what do you mean(?: by that)?|what|huh|"
    r"who says(?: so| that)?|says who|since when|such as(?: what)?|like what|meaning(?: what)?|no kidding)[\s.!?]*$",
    re.IGNORECASE,
)


class LineKind(StrEnum):
    """What a line does."""

    ASKS = "asks"
    STATES = "states"
    TELLS = "tells of its speaker"
    OF_SELF = "asks of its speaker"
    ORDERS = "orders"
    REACTS = "reacts"


def kind_of(line: str) -> LineKind:
    """Return what a line of one sentence does."""
    bare = _without_lead(line)
    if _ORDER.search(bare):
        return LineKind.ORDERS
    if _REACTS.search(bare.replace("\u2019", "'")):
        return LineKind.REACTS
    is_question = bare.endswith("?")
    if not is_question and _OF_SPEAKER.search(bare) and not _WANTS.search(bare):
        return LineKind.TELLS
    if _OF_SELF.search(bare) and not _MODAL.search(bare):
        return LineKind.OF_SELF
    return LineKind.ASKS if _ASKS.search(bare) or _WANTS.search(bare) else LineKind.STATES


def asking_part(line: str) -> str:
    """Return what of a line asks for something, without who is called; all of it when nothing does.

    "I am a carpenter. Is there any work?" asks for work, "I am bored, tell me something" to be told something.
    """
    line = _TAIL.sub("", _LEADS_IN.sub("", _GREETS.sub("", line)))
    sentences = sentences_of(line)
    asking = [one for one in sentences if kind_of(one) is LineKind.ASKS]
    if not asking and len(sentences) == 1:
        *_, last = re.split(r"[,;]\s*", line)
        asking = [last] if last != line and _ASKS.search(last) and kind_of(last) is LineKind.ASKS else []
    part = _without_lead(asking[-1]) if asking else _LEAD.sub("", line.strip())
    # "That is a fine boat, who made it" says before what it asks of.
    if asking and not about(part) and _BACK.search(part):
        part = _LEAD.sub("", line.strip())
    without = _CALLED.sub("", part)
    return without if len(words_of(without)) > 1 else part or line


def without_own_name(line: str) -> str:
    """Return a line in which who the speaker is, and where from, is "somebody": no topic has to know that name."""
    return _OWN_NAME.sub(r"\1somebody", line)


def slant_of(line: str) -> tuple[bool, bool]:
    """Return whether a line says that something is not so, and whether it is of who is spoken to."""
    first, *_ = _CLAUSE.split(line, maxsplit=1)
    return _NEGATED.search(first) is not None, _TO_YOU.search(line) is not None


def about(line: str) -> frozenset[str]:
    """Return the beginnings of the words that a line is about: "story" and "stories" begin alike."""
    words = content_words(line) - _EMPTY
    return frozenset(f"{stem[:-1]}i" if (stem := word[:_STEM]).endswith("y") else stem for word in words)


def names_of_others(line: str) -> frozenset[str]:
    """Return the proper names in a line, in lower case: capitals within a sentence. None where all is in capitals."""
    found = set()
    for match in _NAME.finditer(line):
        before = line[: match.start()].rstrip(" \"'\u201c(")
        if before and before[-1] not in ".?!:" and match[0].casefold() not in _NO_NAMES:
            found.add(match[0].casefold())
    return frozenset(found) if 2 * len(found) <= len(words_of(line)) else frozenset()


def _without_lead(line: str) -> str:
    bare = _LEAD.sub("", line.strip())
    return _LEAD.sub("", _POLITE.sub("", bare)) or bare
