"""Finds, without a model, what a line is about: things it names, ways out, what the speaker told before. Pure.

What is found is put before the line when the model is asked, so a small model need not look or search.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from assistant.language.check import COPIED_WORDS
from assistant.language.languages import language_of
from assistant.language.persons import asks_of_self, facts_about, facts_told, to_second
from assistant.language.things import absent_things, known_words
from assistant.language.words import (
    PLAIN_WORDS,
    content_words,
    is_question,
    names_in,
    runs,
    sentences_of,
    words_of,
)

#: How many facts the speaker told are shown again, and how many absent things are named.
MAX_TOLD, MAX_ABSENT = 4, 2
#: In a line of this many words or more, "it" means something the line names itself.
_SHORT_LINE = 12
#: A line of more words than this may hold the answer to the question at its end.
_LONG_LINE = 30
#: This many first letters of a word tell what it is about: "fall" and "falls", but not "fell".
_STEM = 4
#: Stands for what the character did without words.
DEED = "Yes."
_SEEN = "Here you see"


class View(Struct, frozen=True):
    """The character and what lies round it. `details` describes things and people by name."""

    name: str
    persona: str
    room: str = ""
    description: str = ""
    #: Directions, each with the name of the room behind it, empty when unknown.
    ways: tuple[tuple[str, str], ...] = ()
    things: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    #: Lines with answers in the character's own voice.
    voice: Mapping[str, str] = field(default_factory=dict)
    #: The descriptions of all that can be seen, as far as the game tells them unasked.
    described: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> frozenset[str]:
        """Return all words of the scene and the persona, in the singular."""
        rooms = [room for _, room in self.ways]
        texts = (
            *self.things,
            *self.carried,
            *self.people,
            *self.details.values(),
            *self.voice.values(),
            *self.described.values(),
            *rooms,
            *(way for way, _ in self.ways),
        )
        return known_words(self.name, self.persona, self.room, self.description, *texts)


class Turn(Struct, frozen=True):
    """One earlier line to the character, and what the character said or did, empty for nothing."""

    who: str
    heard: str
    said: str = ""


class ToldNotes(Struct, frozen=True):
    """What the model is told beside a line. `facts` go before the line; each is a sentence or two."""

    facts: tuple[str, ...] = ()
    #: Things the line speaks of that are not here.
    absent: tuple[str, ...] = ()
    #: The language of the line by its English name, empty for English.
    language: str = ""
    #: Facts that may have to do with the line: the model is shown them, but they are never said in place of its answer.
    maybe: tuple[str, ...] = ()
    #: A sentence that answers the line by rule, empty for none: what is seen here, who is here, where the ways lead.
    answer: str = ""
    #: Groups of words; an answer without a word of each is asked for again: the ways out.
    wanted: tuple[frozenset[str], ...] = ()

    def text(self) -> str:
        """Return the notes as they stand before a line, empty for none."""
        missing = [f"There is no {thing} here." for thing in self.absent]
        tongue = [f"They speak {self.language}. Answer in {self.language}."] if self.language else []
        return " ".join((*self.facts, *self.maybe, *missing, *tongue))


_WHAT_HERE = re.compile(
    r"\b(?:what|which things|which objects|anything|something)\b[^?]*\b(?:can you see|to see|you see|there is|"
    r"is there|lies|lie|stands|are (?:here|there)|around)\b"
    r"|\bwhat(?:'s| is| are)? (?:here|in (?:this|the) (?:room|place))"
    r"|\bwhat (?:stuff|things|objects|else) (?:is|are|do you have|have you) (?:in |over )?here\b"
    r"|\bwhat (?:have |do |did )?you (?:got|have|keep)\b[^?]*\b(?:here|place|room|shop)\b|\bwhat(?:'s| is) in here\b"
    r"|\b(?:things|objects)\b[^?]*\b(?:here|room|place)\b"
    r"|\blook (?:a)?round\b|\bdescribe (?:this|the) (?:room|place)",
    re.IGNORECASE,
)
_WAYS = re.compile(
    r"\b(?:which|what|how many) (?:ways?|exits?|doors?|paths?|directions?)\b|\bways? out\b|\bexits\b|\bout of here\b"
    r"|\bget out\b|\bwhere (?:can|could|may) (?:I|we|one|you) go\b|\bleave (?:this|from here|here)\b",
    re.IGNORECASE,
)
_GETTING_THERE = re.compile(
    r"\b(?:how (?:do|can|could|may|would|should) (?:I|we|one|you) (?:get|go|come|reach|find)|which way|what way|"
    r"where is|the way to|way (?:is it )?to)\b",
    re.IGNORECASE,
)
#: A line that wants something done with a thing.
_ORDER = re.compile(
    r"^\W*(?:(?:please|kindly|be so kind and|can you|could you|would you|will you|\w+,)\W+)*"
    r"(?:read|show|give|take|open|close|bring|hand|pass|look at|play|fetch|get|lend|use|light|ring|pick up)\b",
    re.IGNORECASE,
)
MY_NAME = "Your name is"
_ABOUT_SELF = re.compile(
    r"\b(?:your name|who are you|who you are|are you called|call you|introduce yourself)\b", re.IGNORECASE
)
_CARRYING = re.compile(
    r"\b(?:carry(?:ing)?|carried|hold(?:ing)?|hands?|pockets?|bag|inventory|with you|on you)\b"
    r"|\bwhat (?:do|have) you (?:have|got)\b",
    re.IGNORECASE,
)
_WHO_HERE = re.compile(
    r"\bwho(?: else)?(?: is|'s| are)? (?:here|there|in (?:this|the) (?:room|place)|with (?:you|us)|around)\b"
    r"|\b(?:anybody|anyone|somebody|someone) (?:else )?(?:here|there|around)\b",
    re.IGNORECASE,
)
_OF_SELF = re.compile(r"\b(?:I|me|my|mine|we|our)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|its|them|they|there|that|this one|he|she|him|her)\b", re.IGNORECASE)


def notes_on(line: str, who: str, view: View, earlier: Sequence[Turn]) -> ToldNotes:
    """Return what to tell the model beside `line`, which `who` spoke after the `earlier` turns."""
    named = names_in(line, view.details) or _meant_by_pronoun(line, view, earlier)
    own = [turn.heard for turn in earlier if turn.who == who]
    facts = [f"The {name}: {view.details[name]}" if name not in view.people else view.details[name] for name in named]
    asks = is_question(line)
    ruled = [*_of_oneself(line, view), *_of_the_place(line, view, asks=asks, is_of_a_thing=bool(named))]
    maybe = _of_the_room(line, view) or _of_a_thing(line, view) if asks and not named and not ruled else []
    facts += ruled
    if asks and _OF_SELF.search(line):
        facts += facts_told(own)[-MAX_TOLD:]
    if asks and not facts and not maybe:
        facts += facts_about(line, own)
    of_the_line = _of_the_line(line) if asks and len(words_of(line)) > _LONG_LINE else []
    facts += of_the_line
    absent = _absent(line, view, earlier) if asks or is_order(line) else ()
    answer = next(iter((*reversed(ruled), *of_the_line)), "").replace(_SEEN, "I see")
    return ToldNotes(tuple(facts), absent, language_of(line), tuple(maybe), answer, _wanted(line, view))


def is_order(line: str) -> bool:
    """Tell whether a line wants something done with a thing."""
    return _ORDER.search(line) is not None


def _of_the_place(line: str, view: View, *, asks: bool, is_of_a_thing: bool) -> list[str]:
    """Return what is here, who is here and where the ways lead, where a line asks for that."""
    facts = []
    if not is_of_a_thing and _WHAT_HERE.search(line):
        facts.append(f"{_SEEN}: {', '.join(view.things) or 'nothing'}.")
    if _WAYS.search(line) and view.ways:
        facts.append(f"From here one can go {' or '.join(_way(*way) for way in view.ways)}.")
    elif asks:
        facts += [f"The way to {room} is {way}." for way, room in _leading(line, view)]
    if _WHO_HERE.search(line):
        facts.append(f"Here are {', '.join(view.people) or 'nobody else'}.")
    return facts


def answer_from(line: str, facts: Sequence[str]) -> str:
    """Return the sentence of the facts that has most of a question's words, empty when none has more than half."""
    asked = content_words(line) if is_question(line) else set()
    best, found = len(asked) / 2, ""
    for fact in facts:
        label, colon, told = fact.partition(": ")
        is_thing = bool(colon) and label.startswith("The ")
        for sentence in sentences_of(told if is_thing else fact):
            words = content_words(sentence) | (content_words(label) if is_thing else set())
            if len(asked & words) > best:
                best, found = len(asked & words), sentence
    return found


def _meant_by_pronoun(line: str, view: View, earlier: Sequence[Turn]) -> list[str]:
    """Return what "it" in a short line means: the last thing that one of the two lines before named."""
    if _PRONOUN.search(line) and len(words_of(line)) < _SHORT_LINE:
        for turn in reversed(earlier[-2:]):
            if named := names_in(turn.heard, view.details) or names_in(turn.said, view.details):
                return named[-1:]
    return []


def _of_oneself(line: str, view: View) -> list[str]:
    """Return the character's name, and what it carries, where a line is about them."""
    facts = [f"{MY_NAME} {view.name}."] if is_question(line) and _ABOUT_SELF.search(line) else []
    if view.carried and (_CARRYING.search(line) or names_in(line, view.carried)):
        facts.append(f"You carry: {', '.join(view.carried)}.")
    return facts


def _leading(line: str, view: View) -> list[tuple[str, str]]:
    """Return the ways whose rooms a line names."""
    rooms = {room: way for way, room in view.ways if room}
    return [(rooms[room], room) for room in names_in(line, rooms)]


def _of_the_room(line: str, view: View) -> list[str]:
    """Return the clause of the room's description that shares most with the line, and where the way it names leads."""
    asked = content_words(line)
    found = ""
    best = 0
    for clause in re.split(r"[.;,]\s*", view.description):
        words = known_words(clause)
        if len(asked & words) > best:
            best = len(asked & words)
            leads = [f"{way} is {room}" for way, room in view.ways if room and way.casefold() in words]
            found = clause.strip() + (f", and {' and '.join(leads)}" if leads else "") + "."
    return [found] if found else []


def _of_a_thing(line: str, view: View) -> list[str]:
    """Return the description of the thing that a line speaks of without its name.

    "How many kittens" means a basket of kittens.
    """
    asked = content_words(line)
    shared = {name: len(asked & content_words(text)) for name, text in view.described.items() if name in view.things}
    best = max(shared, key=lambda name: shared[name], default="")
    return [f"The {best}: {view.described[best]}"] if best and shared[best] else []


def _of_the_line(line: str) -> list[str]:
    """Return the clause of a long line that shares most with the question at its end, in the second person."""
    *told, asked = sentences_of(line) or [""]
    stems = {word[:_STEM] for word in content_words(to_second(asked))}
    clauses = [part.strip() for one in told for part in re.split(r"[,;:]|\band\b|\bso\b|\bbut\b", one) if part.strip()]
    shared = [len(stems & {word[:_STEM] for word in content_words(clause)}) for clause in clauses]
    if not any(shared):
        return []
    best = _core(to_second(clauses[shared.index(max(shared))]).split(), stems, line)
    return [f"{best[:1].upper()}{best[1:]}."]


def _core(words: list[str], stems: set[str], line: str) -> str:
    """Return the words round the first that has one of the stems, in a piece too short to repeat the line."""
    theirs = runs(words_of(line), COPIED_WORDS)

    def is_own(part: list[str]) -> bool:
        return not runs(words_of(" ".join(part)), COPIED_WORDS) & theirs

    stem_of = [next((word[:_STEM] for word in content_words(word)), "") for word in words]
    first = next((at for at, stem in enumerate(stem_of) if stem in stems), 0)
    end = max(end for end in range(first + 1, len(words) + 1) if is_own(words[first:end]))
    start = min(start for start in range(first + 1) if is_own(words[start:end]))
    return " ".join(words[start:end]).strip(" .!?")


def _absent(line: str, view: View, earlier: Sequence[Turn]) -> tuple[str, ...]:
    """Return things that a question points at and that are neither here nor told of."""
    *before, last = sentences_of(line) or [""]
    known = view.words() | known_words(*before, *(turn.heard for turn in earlier), *(turn.said for turn in earlier))
    if asks_of_self(line):
        return ()
    return tuple(absent_things(last, known)[:MAX_ABSENT])


def _wanted(line: str, view: View) -> tuple[frozenset[str], ...]:
    """Return the groups of words of which an answer needs one each."""
    if _GETTING_THERE.search(line) and (leading := _leading(line, view)):
        groups = [frozenset(words_of(way)) for way, _ in leading]
    elif _WAYS.search(line):
        groups = [frozenset(words_of(f"{way} {room}")) - PLAIN_WORDS for way, room in view.ways]
    else:
        groups = []
    return tuple(group for group in groups if group)


def _way(direction: str, room: str) -> str:
    return f"{direction} to {room}" if room else direction
