"""Makes an answer of a small model's words: tidies it, corrects persons, leaves out what fails a check. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from assistant.language.attend import MY_NAME, ToldNotes, Turn, View, answer_from
from assistant.language.check import COPIED_WORDS, Heard, fault_of
from assistant.language.languages import SPEAKS_A_LITTLE, common_words
from assistant.language.persons import asks_of_self, to_second, unmirror
from assistant.language.things import invented_numbers, invented_things, known_words
from assistant.language.words import (
    PLAIN_WORDS,
    content_words,
    is_open_question,
    is_question,
    likeness,
    names_in,
    runs,
    sentences_of,
    words_of,
)

#: The most sentences of one answer.
MAX_SENTENCES = 3
#: An answer to a statement is an echo from this likeness to the statement on, with persons turned.
_ECHO = 0.8
_FEW_WORDS = 15
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
_RELATIVE = frozenset({"who", "that", "which", "and"})
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

    `is_last` is for the last try: an echo of a statement is better than nothing.
    """
    raw = _persons_right(_bare(raw, line), line)
    heard = replace(line.heard, facts=line.notes.facts)
    known = line.view.words() | known_words(*heard.now, *heard.earlier, *line.notes.facts)
    long_lines = _long_lines(line)
    kept: list[str] = []
    faults: list[str] = []
    for sentence in sentences_of(raw)[:MAX_SENTENCES]:
        short = shorten(sentence, long_lines)
        fault = fault_of(short, heard) or fault_of(" ".join([*kept, short]), heard) or _of_the_scene(short, line, known)
        if fault is None and not is_last and _echoes(short, line.text):
            fault = "says it back"
        if fault is None:
            kept.append(short)
        else:
            faults.append(str(fault))
    said = " ".join(kept)
    if faults and is_question(line.text) and not (is_last and not _known_of_self(line)):
        return "", faults  # what was cut may have been the answer
    if said and (missing := _lacks(said, line)):
        return "", [*faults, missing]
    return _with_language(said, line, cut=bool(faults)), faults


def fallback(line: Line) -> str:
    """Return what is said when no try was good: what is known of the matter, else that it is not known."""
    if line.notes.absent:
        return f"I see no {line.notes.absent[0]} here."
    if f"{MY_NAME} {line.view.name}." in line.notes.facts:
        return f"My name is {line.view.name}."
    if known := answer_from(line.text, line.notes):
        return shorten(known, _long_lines(line))
    if line.notes.language:
        return SPEAKS_A_LITTLE[line.notes.language]
    return words_for_nothing(line.text, len(line.earlier))


def words_for_nothing(heard: str, number: int) -> str:
    """Return words for a character that has nothing to say to `heard`; another `number` may give others."""
    choices = _UNKNOWN if is_question(heard) else _ACKNOWLEDGED
    return choices[(len(words_of(heard)) + number) % len(choices)]


def shorten(sentence: str, lines: Sequence[str]) -> str:
    """Return a sentence cut so that it has at most five words in a row of any of `lines`."""
    words = words_of(sentence)
    for line in lines:
        theirs = runs(words_of(line), COPIED_WORDS)
        start = next((at for at in range(len(words)) if tuple(words[at : at + COPIED_WORDS]) in theirs), -1)
        if start < 0:
            continue
        kept = sentence.split()[: start + COPIED_WORDS - 1]
        kept = kept[
            : next((at for at, word in enumerate(kept) if at > start + 1 and word.casefold() in _RELATIVE), len(kept))
        ]
        while len(kept) > 2 and set(words_of(kept[-1])) <= PLAIN_WORDS:  # noqa: PLR2004
            kept.pop()
        return " ".join(kept).rstrip(",;:.") + "."
    return sentence


def _long_lines(line: Line) -> list[str]:
    """Return the texts that must not be repeated at length: the persona, and what was heard when it was long."""
    return [*(one for one in line.heard.now if len(words_of(one)) > _FEW_WORDS), line.view.persona]


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
    if len(words_of(raw)) > 1 and "name" not in line.text.casefold():
        raw = re.sub(rf"{_CALLED}{name}(?=[!,.?]|$)", lambda match: match[1] + line.who, raw, flags=re.IGNORECASE)
    return raw


def _persons_right(raw: str, line: Line) -> str:
    return unmirror(raw, line.text, [turn.heard for turn in line.earlier if turn.who == line.who])


def _of_the_scene(sentence: str, line: Line, known: frozenset[str]) -> str | None:
    if invented_things(sentence, known):
        return "tells of a thing that is not there"
    if _claims_deed(sentence, line):
        return "claims what it did not do"
    if is_question(line.text) and invented_numbers(sentence, _known_texts(line)):
        return "invents a number"
    if _returns_insult(sentence, line.text):
        return "says what it was called"
    if _takes_new_part(sentence, line):
        return "takes another part"
    if line.notes.absent and not _DENIES.search(sentence):
        return "grants a thing that is not there"
    return None


def _known_texts(line: Line) -> list[str]:
    """Return all texts that numbers in an answer may come from."""
    view, heard = line.view, line.heard
    shown = (view.description, view.persona, *view.things, *view.details.values(), *view.voice.values())
    return [*shown, *line.notes.facts, *heard.now, *heard.earlier, *heard.own]


def _takes_new_part(sentence: str, line: Line) -> bool:
    """Tell whether a sentence plays the part that the line wants the character to take: "I am a robot"."""
    claimed = _I_AM.search(sentence)
    if claimed is None or _DENIES.search(sentence) or not _NEW_PART.search(line.text):
        return False
    return bool(content_words(claimed[1]) & content_words(line.text) - line.view.words())


def _claims_deed(sentence: str, line: Line) -> bool:
    """Tell whether a sentence claims a deed with a thing that is here though nothing was done: "I take the book"."""
    handled = not line.did and _CLAIM.search(sentence) is not None and not _DENIES.search(sentence)
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
    return not content_words(said) - asked - _NOTHING and not _DENIES.search(said)


def _known_of_self(line: Line) -> bool:
    """Tell whether the line asks for something its speaker told before."""
    return asks_of_self(line.text) and bool(line.notes.facts)


def _lacks(said: str, line: Line) -> str:
    """Return what the whole answer must have and lacks, empty for nothing."""
    if is_open_question(line.text) and not line.notes.language and _is_empty(said, line):
        return "tells nothing"
    notes = line.notes
    words = set(words_of(said))
    if lacking := next((group for group in notes.wanted if not group & words), None):
        return f"misses {'/'.join(sorted(lacking))}"
    if _known_of_self(line):
        if _IGNORANT.search(said):
            return "denies what it was told"
        news = content_words(" ".join(notes.facts)) - content_words(line.text)
        if news and not news & content_words(said):
            return "ignores what it was told"
    return ""


def _with_language(said: str, line: Line, *, cut: bool) -> str:
    """Add a sentence in the speaker's language, where the answer was cut or has hardly a word of that language.

    Where the answer has no common word of it at all, the sentence replaces the answer.
    """
    language = line.notes.language
    if not said or not language:
        return said
    own = SPEAKS_A_LITTLE[language]
    if own not in said and (cut or common_words(said, language) < 2):  # noqa: PLR2004
        return own if common_words(said, language) == 0 else f"{said} {own}"
    return said
