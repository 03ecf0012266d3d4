"""Writes out what people type in a hurry: "whats in ur sack" becomes "What's in your sack?". English. Pure.

Rules and small models know the written forms. A line in another language is left as it is.
"""

from __future__ import annotations

import re

from assistant.language.languages import language_of

_SHORT_TEXT = """
    u=you ya=you ur=your yer=your r=are im=I'm ive=I've i=I i'm=I'm i've=I've i'll=I'll i'd=I'd youre=you're
    youve=you've theyre=they're weve=we've dont=don't cant=can't wont=won't isnt=isn't arent=aren't wasnt=wasn't
    werent=weren't doesnt=doesn't didnt=didn't havent=haven't hasnt=hasn't wouldnt=wouldn't couldnt=couldn't
    shouldnt=shouldn't aint=isn't whats=what's wheres=where's whos=who's hows=how's thats=that's theres=there's
    heres=here's lets=let's gimme=give_me lemme=let_me gonna=going_to wanna=want_to gotta=have_to cmon=come_on
    c'mon=come_on pls=please plz=please thx=thanks ty=thanks bc=because cuz=because coz=because tho=though b4=before
    sth=something smth=something wat=what wut=what wot=what k=okay tmrw=tomorrow tomorrows=tomorrow's
    yesterdays=yesterday's todays=today's cya=see_you wassup=what's_up sup=what's_up dunno=don't_know kinda=kind_of
    sorta=sort_of idk=I_don't_know
"""
_SHORT = {short: long.replace("_", " ") for short, long in (pair.split("=") for pair in _SHORT_TEXT.split())}
#: Sounds that stand for no word.
_NOISES = frozenset({"lol", "lmao", "rofl", "haha", "hehe", "btw", "xd"})
_WORD = re.compile(r"(?<![\w'\u2019@.-])[A-Za-z0-9]+(?:['\u2019][A-Za-z]+)?(?![\w-])")
_WH = r"(?:what|where|who|how|when)(?:['\u2019]s)?|whose|which|whom|why|any(?:thing|one|body)?"
_PRONOUN = r"(?:you|I|he|she|it|they|we)"
_AUXILIARY = (
    rf"(?:(?:is|are|am|was|were|isn't|aren't)\s+(?:{_PRONOUN}|the|that|this|there|your|my|any(?:one|body|thing)?)"
    rf"|(?:do|does|did|can|could|will|would|shall|should|may|have|has|had|don't|didn't|doesn't|haven't|can't|won't)"
    rf"\s+(?:{_PRONOUN}|any(?:one|body)))"
)
#: What may stand before a question: a call, a sigh, a link. One more word may be the name of the person who is asked.
_BEFORE = (
    r"(?:(?:hey|hi|hello|ok|okay|so|and|but|well|oh|ah|um|er|please|tell me|say|now|then|sir|madam|friend|also)\W+)*"
)
_NO_CALL = r"(?!(?:I|you|he|she|it|they|we|that|this|know|see|guess|tell|show|ask|not|me|us|is|are|was|and)\b)"
_CALLED = rf"{_NO_CALL}[\w'-]+\W+(?:(?:{_WH})\b|(?!is\b|was\b|has\b){_AUXILIARY}\b)"
_QUESTION = re.compile(rf"^\W*{_BEFORE}(?:(?:{_WH})\b|{_AUXILIARY}\b|{_CALLED})", re.IGNORECASE)
_LAST_SENTENCE = re.compile(r"(?:^|(?<=[.!?\u2026])\s+)([^.!?\u2026]+)$")


def write_out(line: str) -> str:
    """Return `line` with short forms written out, a capital at its beginning, and a mark at its end."""
    line = " ".join(line.split())
    if not line or language_of(line):
        return line
    out = _WORD.sub(_long, line)
    out = re.sub(r"\s+(?=[,.!?])", "", " ".join(out.split())).lstrip(" ,")
    if not out:
        return line
    last = _LAST_SENTENCE.search(out)
    if last is not None and out[-1].isalnum():
        out += "?" if _QUESTION.search(last[1]) else "."
    return out[:1].upper() + out[1:]


def _long(match: re.Match[str]) -> str:
    word = match[0].replace("\u2019", "'")
    if word.casefold() in _NOISES:
        return ""
    if word.isupper() and len(word) > 1:  # "UR" may be a name, and "I" is right as it is
        return match[0]
    return _SHORT.get(word.casefold(), match[0])
