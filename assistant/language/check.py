"""Finds what is wrong with an answer before anybody hears it: repeats, other voices, things not there. Pure.

Decision 15 (docs/decisions/0015-plain-turns-for-small-models.md) says why each rule is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from mud_assistant.assistant.language.persons import asks_of_self
from mud_assistant.assistant.language.words import is_like, runs, sentences_of, words_of

#: An answer repeats a line from this likeness on, or with this many of its words in a row.
MAX_LIKENESS, COPIED_WORDS = 0.75, 6
#: Words in a row that an answer may not share with an example.
EXAMPLE_WORDS = 5
#: Words in a row of its persona that are read out.
PART_WORDS = 4
#: An example with at least this many words must not be said as a whole.
WHOLE_EXAMPLE = 4
#: A line of fewer words than the first may be returned ("Good morning"); one of fewer than the second is too short to
#: be recognised.
GREETING_WORDS, SHORT_WORDS = 5, 3
#: Words in a row that an answer may not share with an earlier one.
OWN_WORDS = 8
#: From this likeness on, an answer is the same as an earlier one.
_SAME = 0.9

_YES_OR_NO = re.compile(
    r"(?i)(?:^|[,.;:!] *)(?:is|are|am|was|were|do|does|did|can|could|will|would|shall|should|may|have|has|had)\b"
    r"[^.!?]*\?\s*$"
)
_MODEL_VOICE = re.compile(
    r"(?i)(?:can['\u2019]t|cannot|can not|(?:not |un)able to) (?:(?:assist|help) (?:you )?with (?:that|this)|provide)\b"
    r"|how (?:can|may) I (?:assist|help you today)|assist you (?:with|today|in)\b|\b(?:able|here) to assist\b"
    r"|(?:let me know|feel free).{0,40}\b(?:questions?|need (?:any )?(?:help|assistance|more|anything)|ask)\b"
    r"|\bpersonal (?:opinions?|feelings?|desires?|preferences?|experiences?)\b"
    r"|I apologi[sz]e for (?:any|the) (?:confusion|inconvenience|misunderstanding)"
    r"|\b(?:do not|don['\u2019]t) have the capabilit\w+|\bcannot answer (?:this|that)\b|\bsay what you feel\b"
    r"|\ba life of (?:my|your) own\b|\btalk with a visitor\b"
    r"|\bnot (?:just |only )?an? helper\b|\byour (?:question|statement) or (?:question|statement)\b"
    r"|language model|\b(?:as )?an ai\b|clarify your|provide more (?:information|details|context)"
    r"|information you (?:provide|gave|have provided)"
    r"|code snippet|ability to access|\bopenai\b|\balibaba\b|\bqwen\b|\bchatgpt\b"
    r"|\bglad I could (?:help|be of)\b|\b(?:here|happy|glad|try) to help\b|^what is your problem\b"
    r"|^what (?:is it that|(?:do|would) you (?:like|want)) (?:you want )?to know\b|^thank you for sharing\b"
    r"|\bI (?:do not|don['\u2019]t) have feelings\b|\bimportant to (?:remember|note)\b"
    r"|system prompt|my instructions|text.based game|text game|the prompt\b"
    r"|I am (?:just )?an? (?:ai|program|bot|computer|(?:virtual|helpful) assistant)\b"
)


class Fault(StrEnum):
    """What an answer does wrong. The value is what the trace shows."""

    EMPTY = "empty"
    REPEATS_HEARD = "repeats what was heard"
    REPEATS_SELF = "repeats itself"
    EXAMPLE = "repeats an example"
    LOOP = "loops"
    VOICE = "speaks as a model"
    OBEYED = "obeyed an order about its words"
    WRONG_PERSON = "takes itself for somebody else"
    PERSONA = "reads out its persona"
    SECOND_PERSON = "speaks to itself"


class Heard(Struct, frozen=True):
    """What an answer is compared with. Lines are oldest first, words only, without who said them."""

    now: Sequence[str] = ()
    earlier: Sequence[str] = ()
    own: Sequence[str] = ()
    examples: Sequence[str] = ()
    persona: str = ""
    #: What the model was told for this turn: an answer taken from it may be given twice.
    facts: Sequence[str] = ()
    #: The character's own name, and those of the people there.
    name: str = ""
    people: Sequence[str] = ()


def fault_of(answer: str, heard: Heard, *, is_strict: bool = False) -> Fault | None:
    """Return the first thing wrong with `answer`, None for nothing.

    `is_strict` is for a very small model, which loses track of who speaks.
    """
    words = words_of(answer)
    if not words:
        return Fault.EMPTY
    if _repeats_heard(answer, words, heard):
        return Fault.REPEATS_HEARD
    if _orders_obeyed(words, heard.now):
        return Fault.OBEYED
    is_known = len(words) > SHORT_WORDS and any(is_like(words, words_of(line), _SAME) for line in heard.own)
    if is_known and not _is_grounded(words, heard):
        return Fault.REPEATS_SELF
    if _says_example(words, heard):
        return Fault.EXAMPLE
    return Fault.LOOP if _loops(answer) else _fault_of_speaker(answer, heard, is_strict=is_strict)


def _fault_of_speaker(answer: str, heard: Heard, *, is_strict: bool) -> Fault | None:
    """Return what is wrong with who seems to speak, None for nothing."""
    voice = _MODEL_VOICE.search(answer)
    if voice is not None and not set(words_of(voice[0])) <= set(words_of(f"I am {heard.persona}")):
        return Fault.VOICE
    if _takes_itself_for(answer, heard.people):
        return Fault.WRONG_PERSON
    if _reads_its_part(answer, heard.persona):
        return Fault.PERSONA
    return Fault.SECOND_PERSON if is_strict and _speaks_to_itself(answer, heard) else None


def _says_example(words: list[str], heard: Heard) -> bool:
    """Tell whether an answer has an example in it, or a run of its words, that nobody said."""
    said = (*heard.now, *heard.earlier)
    lines = "\n".join(" ".join(words_of(line)) for line in said)
    allowed = runs(words_of(" . ".join(said)), EXAMPLE_WORDS)
    for example in map(words_of, heard.examples):
        whole = " ".join(example)
        if len(example) >= WHOLE_EXAMPLE and whole not in lines and f" {whole} " in f" {' '.join(words)} ":
            return True
        if runs(words, EXAMPLE_WORDS) & runs(example, EXAMPLE_WORDS) - allowed:
            return True
    return False


def copies(answer: str, own: Sequence[str]) -> bool:
    """Tell whether an answer has a long run of words from one of the `own` lines."""
    said = runs(words_of(answer), OWN_WORDS)
    return bool(said) and any(said & runs(words_of(line), OWN_WORDS) for line in own)


def is_yes_or_no(line: str) -> bool:
    """Tell whether a line ends with a question that may be answered in its own words: "Is the sea safe?"."""
    return _YES_OR_NO.search(line) is not None


def _repeats_heard(answer: str, words: list[str], heard: Heard) -> bool:
    joined = f" {' '.join(words)} "
    earlier = () if any(map(asks_of_self, heard.now)) else heard.earlier
    for line in (*heard.now, *earlier):
        least = SHORT_WORDS if line in heard.now else SHORT_WORDS + 1
        if len(theirs := words_of(line)) >= least and f" {' '.join(theirs)} " in joined:
            return True
    for line in heard.now:
        theirs = words_of(line)
        if len(theirs) < GREETING_WORDS or (is_yes_or_no(line) and not answer.rstrip().endswith("?")):
            continue
        is_copied = "?" not in line and runs(words, COPIED_WORDS) & runs(theirs, COPIED_WORDS)
        if is_copied or is_like(words, theirs, MAX_LIKENESS):
            return True
    return False


_ORDER = re.compile(
    r"(?i)(?:\b(?:say|repeat|answer|reply|respond|write|print|output|speak|shout|scream)\b[^.!?]*?"
    r"\b(?:only|just|nothing but|exactly|with|words?|back)\b"
    r"|\b(?:only|just)\s+(?:\w+\s+)?(?:say|repeat|answer|reply|respond|write|print|output|speak|shout)\b)\W*"
    r"(?:(?:only|just|exactly|with|the|this|following|single|one|words?|sentence|phrase|and|nothing else)\b\W*)*"
    r"(?P<what>[^.!?]+)"
)


def _orders_obeyed(words: list[str], now: Sequence[str]) -> bool:
    """Tell whether the answer begins with the very words that a line told it to say."""
    for wanted in (words_of(order["what"]) for line in now for order in _ORDER.finditer(line)):
        same = min(len(words), len(wanted))
        if same and words[:same] == wanted[:same] and len(words) <= len(wanted) + 2:
            return True
    return False


def _is_grounded(words: list[str], heard: Heard) -> bool:
    """Tell whether the answer to a question consists mostly of what the model was told for it."""
    if not any("?" in line for line in heard.now) or not heard.facts:
        return False
    known = set(words_of(" . ".join((*heard.facts, *heard.now))))
    return sum(word in known for word in words) * 10 >= 7 * len(words)


def _reads_its_part(answer: str, persona: str) -> bool:
    """Tell whether the answer tells the listener what the persona tells the character: "You are the ferryman of"."""
    told = {run for run in runs(words_of(persona), PART_WORDS) if {"you", "your"} & set(run)}
    return bool(told & runs(words_of(answer), PART_WORDS))


def _speaks_to_itself(answer: str, heard: Heard) -> bool:
    """Tell whether the answer calls its speaker by name, or speaks of it as of another."""
    name = re.escape(heard.name)
    if not name or len(words_of(answer)) == 1 or any(re.search("name|who", line, re.IGNORECASE) for line in heard.now):
        return False
    calls = rf"(?:^|[,!.?] *|\b(?:hello|welcome|morning|evening|day|thanks|dear|hi) ){name}(?=[!,.?]|$)"
    does = rf"\b{name} (?:is|was|has|says|said|knows|thinks|wants|likes|lives|keeps|does)\b"
    return re.search(f"{calls}|{does}", answer, re.IGNORECASE) is not None


def _takes_itself_for(answer: str, people: Sequence[str]) -> bool:
    names = "|".join(map(re.escape, people))
    claim = rf"\b(?:I am|I['\u2019]m|my name is|call me) (?:{names})\b(?!['\u2019]s)"
    return bool(names) and re.search(claim, answer, re.IGNORECASE) is not None


def _loops(answer: str) -> bool:
    long = [" ".join(found) for one in sentences_of(answer) if len(found := words_of(one)) > SHORT_WORDS]
    return len(set(long)) < len(long)
