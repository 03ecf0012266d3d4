"""Finds, without a model, what a line is about: things it names, ways out, who is there. Pure.

What is found is put before the line when the model is asked, so a small model need not look or search.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from mud_assistant.assistant.language.knowing import facts_in, find_facts
from mud_assistant.assistant.language.languages import language_of
from mud_assistant.assistant.language.persons import asks_of_self
from mud_assistant.assistant.language.things import absent_things, known_words
from mud_assistant.assistant.language.words import is_question, listed, names_in, sentences_of, with_article, words_of

#: How many absent things are named.
MAX_ABSENT = 2
#: In a line of this many words or more, "it" means something the line names itself.
_SHORT_LINE = 12
#: Stands for what the character did without words.
DEED = "Yes."


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
    #: The ways to the rooms that the line asks for, each in a sentence.
    routes: tuple[str, ...] = ()
    #: The descriptions of all that can be seen, as far as the game tells them unasked.
    described: Mapping[str, str] = field(default_factory=dict)
    #: Whether the model that answers has less than a billion parameters or so.
    is_tiny: bool = False

    def ways_told(self) -> list[str]:
        """Return each way out, with the room behind it."""
        return [f"{way} to {room}" if room else way for way, room in self.ways]

    def seen_told(self) -> str:
        """Return what is here as the character says it."""
        return f"I see {listed([with_article(thing) for thing in self.things]) or 'nothing'}."

    def words(self) -> frozenset[str]:
        """Return all words of the scene and the persona, in the singular."""
        told = [text for texts in (self.details, self.voice, self.described) for text in texts.values()]
        names = (self.name, self.room, *self.things, *self.carried, *self.people, *map(" ".join, self.ways))
        return known_words(self.persona, self.description, *names, *told)


class Turn(Struct, frozen=True):
    """One earlier line to the character, and what the character said or did, empty for nothing."""

    who: str
    heard: str
    said: str = ""


class ToldNotes(Struct, frozen=True):
    """What the model is told beside a line. `facts` go before the line, in the character's own words."""

    facts: tuple[str, ...] = ()
    #: Those of them that the character knows of itself, and by which it may answer without a model.
    own: tuple[str, ...] = ()
    #: Those that tell of the place.
    place: tuple[str, ...] = ()
    #: Things the line speaks of that are not here.
    absent: tuple[str, ...] = ()
    #: The language of the line by its English name, empty for English.
    language: str = ""

    def text(self) -> str:
        """Return the notes as they stand before a line, empty for none."""
        missing = [f"There is no {thing} here." for thing in self.absent]
        tongue = [f"They speak {self.language}. Answer in {self.language}."] if self.language else []
        return " ".join((*self.facts, *missing, *tongue))


_WHAT_HERE = re.compile(
    r"(?i)\b(?:what|which (?:things|objects)|anything|something)\b[^?]*\b(?:you see|to see|there is|is there|lies?|"
    r"stands|are (?:here|there)|around|have you here)\b|\bwhat(?:'s| is| are)? (?:in )?(?:here|(?:this|the) (?:room|"
    r"place))|\bwhat (?:stuff|things|objects|else) [^?]*\bhere\b|\b(?:things|objects)\b[^?]*\b(?:here|room|place)\b"
    r"|\bwhat (?:have |do |did )?you (?:got|have|keep)\b[^?]*\b(?:here|place|room|shop)\b"
    r"|\blook (?:a)?round\b|\bdescribe (?:this|the) (?:room|place)"
)
_WAYS = re.compile(
    r"(?i)\b(?:which|what|how many) (?:ways?|exits?|doors?|paths?|directions?)\b|\bways? out\b|\bexits\b"
    r"|\bout of here\b|\bget out\b|\bwhere (?:can|could|may) (?:I|we|one|you) go\b|\bleave (?:this|from here|here)\b"
)
#: How a line asks for the way to a place, and what it calls the place.
_PLACE = re.compile(
    r"(?i)\b(?:how (?:do|can|could|may|would|should|to|does) (?:(?:I|we|one|you) )?(?:get|go|come|reach|find|walk)"
    r"|(?:which|what) way(?: is it| leads| goes)?|where(?: is| are|['\u2019]s)(?: the nearest)?|(?:the|my|our) way"
    r"|find)\b(?: (?:up|down|over|back|from here|out))* (?:to )?(?:the |a |an )?(?P<place>[^,.?!]+)"
)
#: What people want of a place, and what such places are called.
_PURPOSES = (
    (re.compile(r"(?i)\b(?:eat|food|meal|supper|dinner|hungry|drink|beer|ale|thirsty)\b"),
     "inn tavern alehouse pub kitchen galley canteen bakery"),
    (re.compile(r"(?i)\b(?:sleep|bed|stay the night|lodg\w+|rest)\b"), "inn tavern hostel guesthouse"),
    (re.compile(r"(?i)\b(?:buy|sell|shop|purchase)\b"), "market shop store bazaar"),
    (re.compile(r"(?i)\bpray\b"), "chapel church temple shrine"),
)  # fmt: skip
_WHERE = re.compile(
    r"(?i)\bwhere (?:can|could|may|do|does|might|should|would) (?:I|we|one|people|somebody|anybody|a|the)\b"
)
#: How the way to a place is told, and the most steps of it.
WAY_TOLD = "The way to "
MAX_STEPS = 5
#: A line that wants something done with a thing.
_ORDER = re.compile(
    r"(?i)^\W*(?:(?:please|kindly|be so kind and|can you|could you|would you|will you|\w+,)\W+)*"
    r"(?:read|show|give|put|take|open|close|bring|hand|pass|look at|play|fetch|get|lend|use|light|ring|pick up)\b"
)
#: What leads up or down without saying so.
_STEPS, _STEEP = re.compile(r"(?i)\b(?:stairs?|steps|staircase|ladder)\b"), frozenset({"up", "down"})
_ABOUT_SELF = re.compile(r"(?i)\b(?:your name|who are you|who you are|are you called|call you|introduce yourself)\b")
_ABOUT_THEM = re.compile(r"(?i)\bmy name\W*\?|\b(?:who am I|who I am)\b|\bname\b.*\bof mine\b")
_CARRYING = re.compile(
    r"(?i)\b(?:carry(?:ing)?|carried|hold(?:ing)?|hands?|pockets?|bag|inventory|with you|on you)\b"
    r"|\bwhat (?:do|have) you (?:have|got)\b"
)
_WHO_HERE = re.compile(
    r"(?i)\bwho(?: else)?(?: is|'s| are)? (?:here|there|in (?:this|the) (?:room|place)|with (?:you|us)|around)\b"
    r"|\b(?:anybody|anyone|somebody|someone) (?:else )?(?:here|there|around)\b"
)
_PRONOUN = re.compile(r"(?i)\b(?:it|its|them|they|there|that|this one|he|she|him|her)\b")


def notes_on(line: str, who: str, view: View, earlier: Sequence[Turn], lore: Sequence[str] = ()) -> ToldNotes:
    """Return what to tell the model beside `line`, which `who` spoke after the `earlier` turns.

    `lore` is what the character knows of the world and the line may ask for.
    """
    named = names_in(line, view.details) or _meant_by_pronoun(line, view, earlier)
    facts = [view.details[name] if name in view.people else f"The {name}: {view.details[name]}" for name in named]
    asks = is_question(line)
    place = _of_the_place(line, who, view, asks=asks, is_of_a_thing=bool(named))
    facts += (*_of_names(line, who, view), *place)
    own: list[str] = []
    if not asks_of_self(line):
        known = (*facts_in(view.persona, view.name), *(fact for text in lore for fact in facts_in(text, view.name)))
        seen = _seen(view) if asks and not facts else ()
        found = find_facts(line, (*known, *seen))
        own = [fact for fact in found if fact in known]
        facts += [fact for fact in found if fact in seen]
    absent = _absent(line, view, earlier) if asks or is_order(line) else ()
    return ToldNotes((*facts, *own), tuple(own), tuple(place), absent, language_of(line))


def place_asked(line: str, view: View) -> str:
    """Return the place that a line asks the way to, or words that such places have in their names; empty for none."""
    found = _PLACE.search(line) if is_question(line) else None
    if found is not None and not names_in(found["place"], (*view.things, *view.carried, *view.people)):
        return found["place"].strip()
    asked = next((names for what, names in _PURPOSES if what.search(line)), "")
    return asked if _WHERE.search(line) else ""


def way_told(room: str, steps: Sequence[str]) -> str:
    """Return the way to a room as a sentence."""
    more = f", and {len(steps) - MAX_STEPS} rooms more" if len(steps) > MAX_STEPS else ""
    return f"{WAY_TOLD}{room} is {', then '.join(steps[:MAX_STEPS])}{more}."


def asks_what_is_here(line: str) -> bool:
    """Tell whether a line asks what is where the character is."""
    return _WHAT_HERE.search(line) is not None


def is_order(line: str) -> bool:
    """Tell whether a line wants something done with a thing."""
    return _ORDER.search(line) is not None


def _of_the_place(line: str, who: str, view: View, *, asks: bool, is_of_a_thing: bool) -> list[str]:
    """Return what is here, who is here and where the ways lead, where a line asks for that."""
    facts = list(view.routes)
    if not is_of_a_thing and asks_what_is_here(line):
        facts.append(f"Here {view.seen_told()}")
    if asks and _WAYS.search(line) and view.ways:
        facts.append(f"From here one can go {listed(view.ways_told(), 'or')}.")
    if asks and _STEPS.search(line):
        facts += [f"{way.capitalize()} is {room}." for way, room in view.ways if room and way.casefold() in _STEEP]
    if _WHO_HERE.search(line):
        others = [name for name in view.people if name != who]
        facts.append(f"Here are {listed([*others, 'you'])} and I." if others else "Here are only you and I.")
    return facts


def _meant_by_pronoun(line: str, view: View, earlier: Sequence[Turn]) -> list[str]:
    """Return what "it" in a short line means: the last thing that one of the two lines before named."""
    if _PRONOUN.search(line) and len(words_of(line)) < _SHORT_LINE:
        for turn in reversed(earlier[-2:]):
            if named := names_in(turn.heard, view.details) or names_in(turn.said, view.details):
                return named[-1:]
    return []


def _of_names(line: str, who: str, view: View) -> list[str]:
    """Return who the character is and who speaks, and what the character carries, where a line is about them."""
    facts = [f"My name is {view.name}."] if is_question(line) and _ABOUT_SELF.search(line) else []
    facts += [f"Their name is {who}."] if _ABOUT_THEM.search(line) else []
    if view.carried and (_CARRYING.search(line) or names_in(line, view.carried)):
        facts.append(f"I carry: {', '.join(view.carried)}.")
    return facts


def _seen(view: View) -> tuple[str, ...]:
    """Return what can be seen, as facts: the clauses of the room's description, and the things."""
    clauses = []
    for clause in filter(None, map(str.strip, re.split(r"[.;,]\s+", view.description.rstrip(". ")))):
        leads = [f"{way} is {room}" for way, room in view.ways if room and way.casefold() in known_words(clause)]
        clauses.append(f"{', and '.join([clause, *leads])}.")
    return (*clauses, *(f"The {name}: {text}" for name, text in view.described.items() if name in view.things))


def _absent(line: str, view: View, earlier: Sequence[Turn]) -> tuple[str, ...]:
    """Return things that a question points at and that are neither here nor told of."""
    *before, last = sentences_of(line) or [""]
    known = view.words() | known_words(*before, *(turn.heard for turn in earlier), *(turn.said for turn in earlier))
    return () if asks_of_self(line) else tuple(absent_things(last, known)[:MAX_ABSENT])
