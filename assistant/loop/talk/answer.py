"""Makes an answer of a small model's words: leaves out sentences that fail a check. Pure.

A sentence is said as the model wrote it, or it is left out and the model is asked once more. Nothing is put in its
place or turned. Only where nothing at all may be heard is something said by rule (`fallback`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.language.attend import ToldNotes, Turn, View, asks_what_is_here, is_order
from mud_assistant.assistant.language.check import SHORT_WORDS, Fault, Heard, copies, fault_of
from mud_assistant.assistant.language.knowing import facts_in
from mud_assistant.assistant.language.languages import SPEAKS_A_LITTLE, common_words
from mud_assistant.assistant.language.orders import claims_deed
from mud_assistant.assistant.language.persons import asks_of_self, tells_of_self
from mud_assistant.assistant.language.things import DENIES, known_words, things_said_to_be_here
from mud_assistant.assistant.language.words import (
    content_words,
    is_open_question,
    is_question,
    sentences_of,
    singular,
    words_of,
)

#: The most sentences of one answer.
MAX_SENTENCES = 5
_IGNORANT = re.compile(
    r"(?i)\b(?:do not|don't|cannot|can't) (?:know|remember|recall|tell)|\bnot sure\b|\bno idea\b|\bany information\b"
)
#: Words that answer no open question by themselves.
_NOTHING = frozenset({"yes", "okay", "ok", "sure", "indeed", "well", "oh", "still", "certainly", "course"})
_FILLING = frozenset({"am", "i'm", "too", "also"})
#: A line that wants the character to be somebody else, and a sentence that claims to be somebody.
_NEW_PART = re.compile(
    r"(?i)\b(?:from now on|pretend|act as|act like|forget (?:everything|all|your)|ignore (?:everything|all|your|the)|"
    r"you are now|you['\u2019]re now|role ?play|behave (?:as|like)|your (?:new )?name is)\b"
)
_I_AM = re.compile(r"(?i)\b(?:I am|I['\u2019]m|my name is|call me)\b([^.!?]*)")
_I_AM_NO = re.compile(r"(?i)\bI(?: am|['\u2019]m) not (?:an?|the|your) ")
_SPEAKS_OF_YOU = re.compile(r"(?i)\b(?:you|your|u|ur)\b")
_YES = re.compile(r"(?i)^\W*(?:yes|of course|certainly)\b")
_OF_ME, _OF_YOU = re.compile(r"(?:I|My)\b"), re.compile(r"(?i)\byour?s?\b")
_YOUR = re.compile(r"(?i)\byour (\w+)")
_FIRST_PERSON = re.compile(r"(?i)\b(?:I|my|me|mine)\b")
#: Thanks, and what answers them.
_THANKS = re.compile(r"(?i)\b(?:than(?:k|x)s?|thx|ty|cheers|grateful|obliged)\b")
_WELCOME = re.compile(r"(?i)you(?: a|['\u2019])re welcome\W*$")
#: How many of its own last sentences are not said again, where they are short.
_LATELY = 3
#: How many words an example needs to be recognised: shorter ones are what everybody says.
_RECOGNISED = 4
#: How a deed is told back; "You are kind" is an answer.
_RETELLS = re.compile(
    r"(?i)you (?!(?:are|too|flatter|look|seem|have|must|can|may|might|need|should|could|will|do|were)\b)"
)


class Line(Struct, frozen=True):
    """The line that is answered, with all that its answer is judged by."""

    who: str
    text: str
    view: View
    notes: ToldNotes
    earlier: Sequence[Turn]
    heard: Heard
    #: The deeds that were done for it, by the names of their tools.
    did: frozenset[str] = frozenset()


def judge(raw: str, line: Line, *, is_last: bool = False) -> tuple[str, list[str]]:
    """Return the part of `raw` that may be said, empty for none, and what was wrong with the rest.

    `is_last` is for the last try: an answer that is only dull, or says again what was said before, is better than none.
    """
    own = () if is_last else line.heard.own
    heard = replace(line.heard, facts=line.notes.facts, own=own)
    kept: list[str] = []
    faults: list[str] = []
    for sentence in _sentences(raw, line):
        fault = fault_of(sentence, heard, is_strict=line.view.is_tiny) or fault_of(" ".join([*kept, sentence]), heard)
        if not fault and copies(sentence, own):
            fault = Fault.REPEATS_SELF
        wrong = fault or _of_the_scene(sentence, line, heard) or _of_the_part(sentence, line)
        if wrong:
            faults.append(str(wrong))
        else:
            kept.append(sentence)
    said = " ".join(kept)
    words = words_of(said)
    if len(words) <= SHORT_WORDS and words in [words_of(one) for one in line.heard.own[-_LATELY:]]:
        return "", [*faults, str(Fault.REPEATS_SELF)]  # "I am sorry." once more
    if is_last or not said:
        return said, faults
    if faults and is_question(line.text):
        return "", faults  # what was left out may have been the answer
    lacking = _lacks(said, line)
    return ("", [*faults, lacking]) if lacking else (said, faults)


def fit_to_say(said: str, who: str, deed: str, examples: Sequence[str], places: frozenset[str] = frozenset()) -> str:
    """Return the first sentence of an answer to a `deed` of `who`.

    It is empty when the sentence tells the deed back, says nothing but the names of `places`, or is an example.
    """
    first = next(iter(sentences_of(said)), "")
    is_example = len(words_of(first)) >= _RECOGNISED and words_of(first) in map(words_of, examples)
    told_again = content_words(first) - known_words(who)
    is_told_again = bool(told_again) and (told_again <= known_words(deed) or told_again <= places)
    return "" if is_example or is_told_again or _RETELLS.match(first) else first


def fallback(line: Line) -> str:
    """Return what the character knows that answers a line for which the model found no words, empty for nothing."""
    if line.notes.absent:
        return f"I see no {line.notes.absent[0]} here."
    own = next(iter(line.notes.own), "")
    is_asked = not own.startswith("I am ") or "you" in words_of(line.text)  # what it is answers few other questions
    asked = content_words(line.text)
    if own and is_asked and 2 * len(asked & content_words(own)) >= len(asked):
        return own
    return SPEAKS_A_LITTLE[line.notes.language] if line.notes.language else ""


def _sentences(raw: str, line: Line) -> list[str]:
    """Return the sentences without quotation marks, label and notes, and without one that was cut off after others."""
    raw = raw.strip().strip('"\u201c\u201d').strip()
    raw = re.sub(rf"^(?:{re.escape(line.view.name)}|{re.escape(line.who)})\s*:\s*", "", raw)
    raw = re.sub(r"^\([^)]*\)\s*", "", raw)
    *before, last = sentences_of(raw) or [""]
    is_whole = not before or last.endswith((".", "!", "?", "\u2026", '"', "\u201d", "'", "\u2019", ")", "*"))
    return [*before, last][:MAX_SENTENCES] if is_whole else before[:MAX_SENTENCES]


def _of_the_scene(sentence: str, line: Line, heard: Heard) -> str:
    """Return what is false of a sentence where the character is, empty for nothing."""
    known = line.view.words() | known_words(*heard.now, *heard.earlier, *heard.facts)
    if things_said_to_be_here(sentence, known):
        return "tells of a thing that is not there"
    if words_of(sentence) == words_of(line.view.seen_told()) and not asks_what_is_here(line.text):
        return "tells unasked what is here"
    if not line.did and claims_deed(sentence, line.text):
        return "claims what it did not do"
    absent = is_order(line.text) and not DENIES.search(sentence) and known_words(sentence) & set(line.notes.absent)
    return "grants a thing that is not there" if absent else ""


def _of_the_part(sentence: str, line: Line) -> str:
    """Return how a sentence falls out of the part, empty for not. A model that is not very small hardly ever does."""
    if _takes_new_part(sentence, line):
        return "takes another part"
    is_called = content_words(sentence) & content_words(line.text) or is_question(line.text)
    if _I_AM_NO.search(sentence) and not (is_called and _SPEAKS_OF_YOU.search(line.text)):
        return "denies what nobody said of it"  # "I am sorry that he died. But I am not a dog."
    if _WELCOME.match(sentence) and not _THANKS.search(line.text):
        return "answers thanks that nobody gave"
    if _gives_back(sentence, line.text):
        return "takes its own for the speaker's"
    if asks_of_self(line.text) and _OF_ME.match(sentence) and not _OF_YOU.search(sentence):
        return "answers of itself what was asked of the speaker"
    if not line.view.is_tiny:
        return ""
    if _is_theirs(sentence, line):
        return "takes what it was told for its own"
    if _recites(sentence, line):
        return "recites its part"
    return "denies what it knows" if _contradicts(sentence, line) else ""


def _gives_back(sentence: str, text: str) -> bool:
    """Tell whether a sentence gives the speaker what the line asks of the character: "Your brother is well."."""
    asked = {one.casefold() for one in _YOUR.findall(text)} if is_question(text) else set()
    return not sentence.endswith("?") and bool(asked & {one.casefold() for one in _YOUR.findall(sentence)})


def _takes_new_part(sentence: str, line: Line) -> bool:
    """Tell whether a sentence plays the part that the line wants the character to take: "I am a robot"."""
    claimed = _I_AM.search(sentence)
    if claimed is None or DENIES.search(sentence) or not _NEW_PART.search(line.text):
        return False
    return bool(content_words(claimed[1]) & content_words(line.text) - line.view.words())


def _is_theirs(sentence: str, line: Line) -> bool:
    """Tell whether a sentence says of the character what the line tells of its speaker: "I am a mason from Wells"."""
    told = [one for one in (line.text, *(turn.heard for turn in line.earlier[-2:])) if tells_of_self(one)]
    words = content_words(sentence) - {singular(word) for word in words_of(line.who)} - _FILLING
    if not told or not words or not _FIRST_PERSON.search(sentence) or sentence.endswith("?"):
        return False
    theirs = set().union(*map(content_words, told)) - line.view.words()
    return len(words & theirs) * 2 > len(words)


def _recites(sentence: str, line: Line) -> bool:
    """Tell whether a sentence strings facts of its part together, or tells one that nobody spoke of."""
    words = content_words(sentence) - _FILLING
    told = [fact for fact in facts_in(line.view.persona, line.view.name) if content_words(fact) - _FILLING <= words]
    if len(told) > 1:
        return True
    is_of_itself = not is_question(line.text) and not line.notes.own and _FIRST_PERSON.search(sentence) is not None
    return is_of_itself and len(words) > 1 and words <= content_words(line.view.persona) - content_words(line.text)


def _contradicts(sentence: str, line: Line) -> bool:
    """Tell whether a sentence denies what the character's own fact grants, or grants what that denies."""
    is_yes_or_no = is_question(line.text) and not is_open_question(line.text)
    if not (line.notes.own and is_yes_or_no):
        return False
    return (_YES if DENIES.search(line.notes.own[0]) else DENIES).search(sentence) is not None


def _lacks(said: str, line: Line) -> str:
    """Return what a whole answer should have and lacks, empty for nothing."""
    notes = line.notes
    if notes.language:
        return "is in another language" if common_words(said, notes.language) == 0 else ""
    news = content_words(" ".join(notes.facts)) - content_words(line.text)
    is_ignored = bool(news) and is_question(line.text) and not news & content_words(said)
    if is_ignored and _IGNORANT.search(said):
        return "ignores what it was told"
    if not line.view.is_tiny:
        return ""
    asked = (content_words(line.text) - set(words_of(line.view.name))) | _NOTHING
    is_open, is_choice = is_open_question(line.text), " or " in line.text
    if is_open and not is_choice and not content_words(said) - asked and not DENIES.search(said):
        return "tells nothing"  # "Yes.", "It is in a place."
    return "ignores what it was told" if is_ignored and is_open else ""
