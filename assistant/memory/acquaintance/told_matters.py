"""Reads by rule what lies before a speaker, what they lost, and how what they were asked about went. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mud_assistant.assistant.language.words import words_of
from mud_assistant.assistant.memory.recall.words import drop_stop_words, split_words, stem_word
from mud_assistant.assistant.memory.time_words import find_future
from mud_assistant.tools.memories import Fact, FactPart

#: A plan without a time is asked about after so many seconds.
_PLAN_SECONDS = 20 * 3600.0
_LOSS = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:(?:just|also|only|must have|seem to have|think i(?:'ve)?|\w+ly) )*"
    r"(?:lost|mislaid|misplaced|dropped|am missing|'m missing|miss|cannot find|can't find|"
    r"(?:left|forgot) (?=.* (?:behind|somewhere|at|in|on)\b)) (?P<what>(?:my|our|the|a|an) .*)"
    r"|\b(?:stole|robbed me of|took|ran off with|made off with) (?P<stolen>(?:my|our) .*)"
    r"|(?P<gone>\b(?:my|our) (?:[\w'-]+ ){0,5}?[\w'-]+) (?:is|are|was|were|has|have|went)(?: been)? (?:\w+ )?"
    r"(?:lost|missing|stolen|gone|ran away|run away)\b",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\b(?:i|we|he|she|they|somebody|someone|\w+)(?:'ve| have| has)? (?:\w+ ){0,2}?(?:found|recovered|got back|"
    r"brought back|returned) (?P<what>(?:my|our|the) .*)"
    r"|(?P<back>\b(?:my|our) (?:[\w'-]+ ){0,2}?[\w'-]+) (?:is|are|was|were|has been|have been|turned|came) "
    r"(?:found|back|up|returned)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:i|we)(?:'m| am|'re| are) (?:\w+ )?(?:going|off|leaving|travelling|traveling|riding|sailing|moving|getting|"
    r"meeting|visiting|planning|hoping|expecting|starting|due|marrying|supposed|taking|selling|buying)\b"
    r"|\b(?:i|we)(?:'m| am|'re| are) about to\b"
    r"|\b(?:i|we)(?:'ll| will| shall) (?!(?:have|take|think|see|say|tell|be (?:going|off|back|here|right)|go now|not|"
    r"never|remember|wait|leave you|bet|admit|let)\b)"
    r"|\b(?:i|we) (?:plan|intend|hope|mean|must|have|need|want|ought|wish)(?: to)? (?!to (?:know|ask|see|hear|say)\b)"
    r"(?:go|travel|ride|sail|meet|visit|sell|buy|marry|build|finish|find|fetch|bring|learn|sing|play|fight|race|take|"
    r"speak|talk|ask|try|start|open|repair|mend|pay|leave|move|make|bake|write|win|climb|hunt|fish|plant|see)\b",
    re.IGNORECASE,
)
GOING = re.compile(r"\b(?:am|'m|are|'re) (?:off|leaving)(?: now)?\W*$|\bgoing (?:home|now|to bed)?\W*$", re.IGNORECASE)
_EVENT = re.compile(
    r"\b(?:my|our) (?P<event>(?:[\w'-]+ ){0,2}?[\w'-]+) (?:is|are|will be|takes place|begins|starts|comes up|falls|"
    r"is set|is due)\b",
    re.IGNORECASE,
)
_KEPT = re.compile(
    r"\b(?:not yet|still|haven't|have not|hasn't|has not|didn't|not so far|not found|no luck|nowhere|postponed|"
    r"put off|moved to|will be|is going to|tomorrow|next (?:week|month|\w+day)|later|soon|waiting)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"^\W*(?:no|nope|nay|alas)\b", re.IGNORECASE)
_END_OF_OBJECT = re.compile(
    r"[,.;:!?]|\b(?:and|but|because|since|when|while|who|which|that|near|at|in|on|to|from|with|yesterday|today|"
    r"tomorrow|somewhere|last|again|yet|for|by|as|so|this|tonight|of)\b",
    re.IGNORECASE,
)
_COMMON_TEXT = "my our the a an your his her their this that some any own very really so much"
COMMON = frozenset(_COMMON_TEXT.split())
_OF_PLANS_TEXT = "going go gonna want plan planning hope hoping intend mean need must ought supposed"
_OF_PLANS = frozenset(_OF_PLANS_TEXT.split())


def read_answer(text: str, at: float, offset: float = 0.0) -> Fact:
    """Return what the words after "How did it go?" say of the matter: that it is over, or is kept, until when."""
    after = find_future(text, at, offset)
    is_kept = _KEPT.search(text) is not None or _NO.search(text) is not None or after is not None
    return Fact(FactPart.ANSWER, "", "", due=after.until if after else 0.0, is_over=not is_kept)


def read_losses(sentence: str) -> Iterator[Fact]:
    """Yield what the speaker misses, or has found again."""
    if (found := _FOUND.search(sentence)) is not None:
        if key := noun_of(found["what"] or found["back"] or ""):
            yield Fact(FactPart.LOST, key, sentence, is_over=True)
    elif (lost := _LOSS.search(sentence)) is not None:
        key = noun_of(next(filter(None, (lost["what"], lost["stolen"], lost["gone"]))))
        if key and key not in {"way", "time", "patience", "mind", "temper", "count", "train", "you"}:
            yield Fact(FactPart.LOST, key, sentence)


def read_matters(sentence: str, at: float, offset: float) -> Iterator[Fact]:
    """Yield what lies before the speaker: what they mean to do, or what is set for a time."""
    after = find_future(sentence, at, offset)
    is_plan = _PLAN.search(sentence) is not None and not GOING.search(sentence)
    event = _EVENT.search(sentence) if after is not None else None
    if not is_plan and event is None and (after is None or re.search(r"\b(?:was|were|had|did)\b", sentence)):
        return
    without = re.sub(re.escape(after.words), " ", sentence, flags=re.IGNORECASE) if after else sentence
    key = words_of(event["event"])[-1] if event is not None else key_of(without, 2)
    if key:
        yield Fact(FactPart.OPEN, key, sentence, due=after.until if after else at + _PLAN_SECONDS)


def object_of(words: str) -> str:
    """Return the words up to where the object ends."""
    end = _END_OF_OBJECT.search(words.lstrip())
    return words.lstrip()[: end.start()].strip() if end else words.strip()


def noun_of(words: str) -> str:
    """Return the last word of an object, in the singular: "my red scarf near the well" is a scarf."""
    kept = [word for word in words_of(object_of(words)) if word not in COMMON]
    return stem_word(kept[-1]) if kept else ""


def key_of(words: str, most: int) -> str:
    """Return the first words with content, without their endings."""
    kept = [word for word in drop_stop_words(split_words(words)) if word not in _OF_PLANS]
    return " ".join(stem_word(word) for word in kept[:most])
