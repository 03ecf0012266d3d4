"""Makes an answer of a small model's words: tidies it, and leaves out what fails a check. Pure.

A check leaves a sentence out, or has the model asked once more. It never puts another sentence in place of the model's:
only where nothing at all may be heard is something said by rule (`fallback`). One thing is turned: a sentence that
gives the speaker's own words back as the character's, such as "I lost my red scarf" to who lost it and asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assistant.language.attend import MY_NAME, ToldNotes, Turn, View, answer_from, is_order
from assistant.language.check import Heard, fault_of
from assistant.language.languages import SPEAKS_A_LITTLE, common_words
from assistant.language.persons import asks_of_self, to_second
from assistant.language.things import known_words, things_in, things_said_to_be_here
from assistant.language.words import (
    content_words,
    is_open_question,
    is_question,
    likeness,
    names_in,
    sentences_of,
    singular,
    words_of,
)

#: The most sentences of one answer.
MAX_SENTENCES = 5
#: An answer to a statement is an echo from this likeness to the statement on, with persons turned.
_ECHO = 0.8
_DENIES = re.compile(r"\b(?:no|not|none|nothing|never|nobody|without|cannot)\b|n['\u2019]t", re.IGNORECASE)
_CLAIM = re.compile(
    r"\bI(?: will|['\u2019]ll|['\u2019]ve| have| just| now)* "
    r"(?:take|took|taken|give|gave|given|drop(?:ped)?|pick(?:ed)? up"
    r"|hand(?:ed)?|put|bring|brought|fetch(?:ed)?)\b|\bhere (?:is|are) (?:the|your)\b",
    re.IGNORECASE,
)
_IGNORANT = re.compile(
    r"\b(?:do not|don't|cannot|can't|do) (?:know|remember|recall|tell)|\bnot sure\b|\bno idea\b", re.IGNORECASE
)
#: Where a name stands when somebody is called by it.
_CALLED = (
    r"(^|[,!.?] *|\b(?:hello|goodbye|bye|welcome|morning|evening|night|day|thanks|dear|hi|"
    r"hola|bonjour|tag|buongiorno) )"
)
#: Words that answer no open question by themselves.
_NOTHING = frozenset({"yes", "okay", "ok", "sure", "indeed", "well", "oh", "still", "certainly", "course"})
_YOU_ARE = re.compile(r"\byou(?: are|['\u2019]re)\b", re.IGNORECASE)
#: A line that wants the character to be somebody else, and a sentence that claims to be somebody.
_NEW_PART = re.compile(
    r"\b(?:from now on|pretend|act as|act like|forget (?:everything|all|your)|ignore (?:everything|all|your|the)|"
    r"you are now|you['\u2019]re now|role ?play|behave (?:as|like)|your (?:new )?name is)\b",
    re.IGNORECASE,
)
_I_AM = re.compile(r"\b(?:I am|I['\u2019]m|my name is|call me)\b([^.!?]*)", re.IGNORECASE)
#: How a line asks for a thing where the character is.
_WANTED_HERE = re.compile(r"\bwhere(?: is| are|['\u2019]s)\b|\b(?:here|there)\b", re.IGNORECASE)
#: How a sentence grants that something is there: by yes, or by a word for it.
_GRANTS = re.compile(
    r"^\W*(?:yes|of course|certainly|indeed)\b|\b(?:it|its|they|them|their|he|she|him|her)\b", re.IGNORECASE
)
_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mine)\b", re.IGNORECASE)
#: Said when nothing the model wrote may be heard, to a question and to anything else.
_UNKNOWN = ("I do not know.", "I cannot say.", "Who knows?")
_ACKNOWLEDGED = ("I see.", "Is that so?", "I will think about that.")


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

    `is_last` is for the last try. An answer that is only dull, says again what was said before, or may be wrong is
    better than none.
    """
    own = () if is_last else line.heard.own
    heard = replace(line.heard, facts=(*line.notes.facts, *line.notes.maybe), own=own)
    known = line.view.words() | known_words(*heard.now, *heard.earlier, *heard.facts)
    kept: list[str] = []
    faults: list[str] = []
    for written in sentences_of(_bare(raw, line))[:MAX_SENTENCES]:
        sentence = to_second(written) if _is_the_speakers(written, line) else written
        fault = fault_of(sentence, heard) or fault_of(" ".join([*kept, sentence]), heard)
        if (
            wrong := fault
            or _of_the_scene(sentence, line, known)
            or ("" if is_last else _is_dull(sentence, line, known))
        ):
            faults.append(str(wrong))
        else:
            kept.append(sentence)
    said = " ".join(kept)
    if faults and not is_last and is_question(line.text):
        return "", faults  # what was left out may have been the answer
    if said and (lacking := _denies_what_it_was_told(said, line) or ("" if is_last else _lacks(said, line))):
        return "", [*faults, lacking]
    return said, faults


def fallback(line: Line) -> str:
    """Return what is said when nothing the model wrote may be heard.

    That is what answers the line by rule, what its speaker told or what was found and has most of its words, else that
    nothing is known.
    """
    if line.notes.absent:
        return f"I see no {line.notes.absent[0]} here."
    if f"{MY_NAME} {line.view.name}." in line.notes.facts:
        return f"My name is {line.view.name}."
    if known := line.notes.answer or answer_from(line.text, line.notes.facts):
        return known
    if line.notes.language:
        return SPEAKS_A_LITTLE[line.notes.language]
    return words_for_nothing(line.text, len(line.earlier))


def words_for_nothing(heard: str, number: int) -> str:
    """Return words for a character that has nothing to say to `heard`; another `number` may give others."""
    choices = _UNKNOWN if is_question(heard) else _ACKNOWLEDGED
    return choices[(len(words_of(heard)) + number) % len(choices)]


def _bare(raw: str, line: Line) -> str:
    """Return the words without quotation marks, label and notes, and with "an" before vowels.

    Where the character calls its own name, the speaker's name is put instead.
    """
    raw = raw.strip().strip('"\u201c\u201d').strip()
    for thing in (thing for thing in line.view.things if thing[:1].casefold() in "aeio"):
        raw = re.sub(rf"\ba (?={re.escape(thing)}\b)", "an ", raw)
    name, who = re.escape(line.view.name), re.escape(line.who)
    raw = re.sub(rf"^(?:{name}|{who})\s*:\s*", "", raw)
    raw = re.sub(r"^\([^)]*\)\s*", "", raw)
    if len(words_of(raw)) > 1 and '"' not in raw and "name" not in line.text.casefold():
        raw = re.sub(rf"{_CALLED}{name}(?=[!,.?]|$)", lambda match: match[1] + line.who, raw, flags=re.IGNORECASE)
    return raw


def _of_the_scene(sentence: str, line: Line, known: frozenset[str]) -> str:
    """Return what is false of a sentence where the character is, empty for nothing."""
    if things_said_to_be_here(sentence, known):
        return "tells of a thing that is not there"
    if _claims_deed(sentence, line):
        return "claims what it did not do"
    if _takes_new_part(sentence, line):
        return "takes another part"
    is_wanted_here = _WANTED_HERE.search(line.text) is not None or is_order(line.text)
    return "grants a thing that is not there" if is_wanted_here and _grants_absent(sentence, line) else ""


def _is_dull(sentence: str, line: Line, known: frozenset[str]) -> str:
    """Return why a sentence is only said when the model finds no better one, empty for a good one."""
    if (things_in(sentence) & things_in(*line.heard.examples)) - known:
        return "tells of a thing of the examples"
    if _grants_absent(sentence, line):
        return "grants a thing that is not there"
    if _returns_insult(sentence, line.text):
        return "says what it was called"
    return "says it back" if _echoes(sentence, line.text) else ""


def _grants_absent(sentence: str, line: Line) -> bool:
    """Tell whether a sentence speaks of a thing that is not there as if it were."""
    if not line.notes.absent or _DENIES.search(sentence):
        return False
    named = set(map(singular, words_of(sentence))).intersection(line.notes.absent)
    return bool(named) or _GRANTS.search(sentence) is not None


def _is_the_speakers(sentence: str, line: Line) -> bool:
    """Tell whether a sentence says of the character what the speaker told of themselves and asks for."""
    if not asks_of_self(line.text) or not _FIRST_PERSON.search(sentence):
        return False
    theirs = set(words_of(to_second(sentence)))
    return any(theirs <= set(words_of(fact)) for fact in line.notes.facts)


def _takes_new_part(sentence: str, line: Line) -> bool:
    """Tell whether a sentence plays the part that the line wants the character to take: "I am a robot"."""
    claimed = _I_AM.search(sentence)
    if claimed is None or _DENIES.search(sentence) or not _NEW_PART.search(line.text):
        return False
    return bool(content_words(claimed[1]) & content_words(line.text) - line.view.words())


def _claims_deed(sentence: str, line: Line) -> bool:
    """Tell whether a sentence claims a deed that was asked for though nothing was done: "I take the book"."""
    handled = (
        not line.did and is_order(line.text) and _CLAIM.search(sentence) is not None and not _DENIES.search(sentence)
    )
    return handled and bool(names_in(sentence, (*line.view.things, *line.view.carried)))


def _echoes(sentence: str, text: str) -> bool:
    """Tell whether a sentence says the line back: a statement, or a question as a question."""
    if "?" in text and not sentence.endswith("?"):
        return False
    words, theirs = words_of(sentence), words_of(to_second(text))
    return len(theirs) > 3 and likeness(words, theirs) > _ECHO  # noqa: PLR2004


def _returns_insult(sentence: str, text: str) -> bool:
    """Tell whether a sentence says of the speaker, or owns up to, what the line says that the character is."""
    is_told_what = _YOU_ARE.search(sentence) or (_I_AM.search(sentence) and not _DENIES.search(sentence))
    is_statement = "?" not in text and _YOU_ARE.search(text) is not None
    return is_statement and bool(is_told_what) and len(content_words(sentence) & content_words(text)) > 1


def _is_empty(said: str, line: Line) -> bool:
    """Tell whether an answer to an open question adds nothing to the question: "Yes.", "It is in a place."."""
    asked = content_words(line.text) - set(words_of(line.view.name))
    is_choice = " or " in line.text
    return not is_choice and not content_words(said) - asked - _NOTHING and not _DENIES.search(said)


def _known_of_self(line: Line) -> bool:
    """Tell whether the line asks for something its speaker told before."""
    return asks_of_self(line.text) and bool(line.notes.facts)


def _denies_what_it_was_told(said: str, line: Line) -> str:
    """Return the fault of an answer that knows nothing of what its speaker told, empty for none."""
    ignores = _known_of_self(line) and not _news(line) & content_words(said)
    return "denies what it was told" if ignores and _IGNORANT.search(said) else ""


def _news(line: Line) -> set[str]:
    """Return the words of what is known that are not in the question."""
    return content_words(" ".join(line.notes.facts)) - content_words(line.text)


def _lacks(said: str, line: Line) -> str:
    """Return what a whole answer should have and lacks, empty for nothing."""
    notes = line.notes
    if notes.language:
        return "is in another language" if common_words(said, notes.language) == 0 else ""
    if is_open_question(line.text) and _is_empty(said, line):
        return "tells nothing"
    words = set(words_of(said))
    if lacking := next((group for group in notes.wanted if not group & words), None):
        return f"misses {'/'.join(sorted(lacking))}"
    news = _news(line) if _known_of_self(line) else set()
    return "ignores what it was told" if news and not news & content_words(said) else ""
