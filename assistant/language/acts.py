"""Finds by rule which deed a line asks for: go, take, give, drop, look, follow, stay, home, a gesture. English. Pure.

A deed counts only when its object, direction or room is named in the line and is there. Most lines ask for none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from msgspec import Struct, field

from assistant.language.attend import View
from assistant.language.words import names_in, sentences_of, words_of


class Deed(Struct, frozen=True):
    """One call of a tool, by name and arguments."""

    tool: str
    arguments: dict[str, str] = field(default_factory=dict)


class _Clause(Struct, frozen=True):
    """One part of a line that may be an order. `thing` is what it names, or what "it" means; empty for none."""

    text: str
    who: str
    view: View
    thing: str = ""

    def begins(self, pattern: re.Pattern[str]) -> bool:
        return pattern.match(self.text) is not None


def _verbs(*words: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:{'|'.join(words)})\b", re.IGNORECASE)


SHORT_WAYS = {"n": "north", "e": "east", "s": "south", "w": "west", "u": "up", "d": "down"}
SHORT_WAYS |= {
    "upstairs": "up",
    "downstairs": "down",
    "upward": "up",
    "downward": "down",
    "inside": "in",
    "outside": "out",
}
_POLITE = (
    "please kindly now then hey well oh ok okay and so just also quickly do let's lets",
    "could you|can you|would you mind|would you|will you|won't you|let us|why don't you|try to|go and|come and|come on",
    "i (?:want|need|beg|ask|order|command) you to|i(?:'d| would) like you to|you (?:may|must|can|have to)",
    "be so kind and|be so kind as to",
)
_ANY_POLITE = "|".join(("|".join(_POLITE[0].split()), *_POLITE[1:]))
#: "Would you mind stepping out?" is "step out"; the list of verbs settles a doubled letter and a lost e.
_GERUND = re.compile(r"^([a-z]+?)(?:([a-z])\2)?ing\b", re.IGNORECASE)
_LEAD = re.compile(rf"^(?:(?:{_ANY_POLITE})\b[\s,]*)+", re.IGNORECASE)
_LED = r"(?:take|bring|get|lead|show) (?:me|us)"
_MOVE = _verbs(
    "go", "walk", "move", "head", "run", "come", "climb", "step", "hurry", "return", "travel", "proceed", "leave",
    "get", "crawl", "jump", "enter", "exit", "pop", "nip", "lead the way", _LED,
)  # fmt: skip
_GUIDE = _verbs(_LED)
_LEAVE = _verbs("leave", "exit", "get out", "go away", "go out")
_TAKE = _verbs(
    "take", "pick up", "pick", "grab", "get", "fetch", "lift", "collect", "hold", "keep", "bring", "seize", "carry"
)
_DROP = _verbs("drop", "put", "lay", "set down", "place", "leave", "throw away", "let go of")
_BORROW = re.compile(
    r"^(?:can|could|may|might) (?:I|we) (?:please )?(?:have|borrow|get|take|hold|see)\b", re.IGNORECASE
)
_OVER = re.compile(r"^(?:give|hand|pass)\b.*\bover\b|^(?:give|hand|pass) (?:it|them|that)$", re.IGNORECASE)
_GIVE = _verbs("give", "hand", "pass", "offer", "bring", "lend", "return", "fetch", "get")
_LOOK = _verbs("look", "examine", "inspect", "read", "study", "check", "describe", "open", "search")
_FOLLOW = _verbs("follow (?:me|us)", "(?:come along|(?:come|walk|go) with (?:me|us))", "accompany (?:me|us)")
_STAY = _verbs("stay", "wait", "remain", "stop following", "(?:don't|do not) follow", "stand still", "stop here")
_HOME = re.compile(r"^(?:go|return|come|walk|head|run)(?: back)? home\b", re.IGNORECASE)
_NO = re.compile(r"\b(?:don't|do not|never|not|didn't|won't|cannot|can't)\b", re.IGNORECASE)
_AND = re.compile(r"(?:[,;]|\band\b|\bthen\b)+", re.IGNORECASE)
_TO_ME = re.compile(r"\b(?:me|us)\b", re.IGNORECASE)
_IT = re.compile(r"\b(?:it|them|that|this one)\b", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:tell|say|answer|explain|describe|what|which|who|where|why|how|when)\b", re.IGNORECASE)
#: What each gesture looks like. {whom} is the person named, or the speaker; {what} is the thing or person named.
GESTURES = {
    "wave": "waves at {whom}.", "nod": "nods to {whom}.", "bow": "bows to {whom}.", "smile": "smiles at {whom}.",
    "wink": "winks at {whom}.", "laugh": "laughs.", "grin": "grins at {whom}.", "dance": "dances a few steps.",
    "clap": "claps.", "jump": "jumps up and down.", "kneel": "kneels down.", "sit": "sits down.", "stand": "stands up.",
    "shrug": "shrugs.", "sigh": "sighs.", "whistle": "whistles a short tune.", "sing": "hums a tune.",
    "curtsy": "curtsies to {whom}.", "salute": "salutes {whom}.", "hug": "hugs {whom}.", "point": "points at {what}.",
    "knock": "knocks.", "yawn": "yawns.", "stretch": "stretches.", "cry": "sheds a tear.", "frown": "frowns.",
    "cough": "coughs.", "blink": "blinks.", "turn around": "turns around.", "raise": "raises a hand.",
    "cheer": "cheers.", "shake my hand": "shakes hands with {whom}.", "shake hands": "shakes hands with {whom}.",
    "shake your head": "shakes their head.", "stamp": "stamps a foot.", "hop": "hops on one foot.",
    "spin": "spins round.", "greet": "greets {whom}.", "blow": "blows a kiss to {whom}.", "touch": "touches {what}.",
    "pat": "pats {what}.", "beckon": "beckons to {whom}.", "kiss": "kisses {whom} on the cheek.",
    "pet": "strokes {what}.", "stroke": "strokes {what}.", "scratch": "scratches {what}.", "hush": "falls silent.",
    "shut up": "falls silent.", "be quiet": "falls silent.", "high five": "gives {whom} a high five.",
    "your hand": "shakes hands with {whom}.", "get up": "stands up.", "come here": "comes closer to {whom}.",
}  # fmt: skip
_LONGEST_FIRST = sorted(GESTURES, key=len, reverse=True)


def asked_deeds(line: str, who: str, view: View, it: str = "") -> list[Deed]:
    """Return the deeds that `line`, said by `who`, plainly asks for, in order. `it` is what was spoken of before."""
    deeds: list[Deed] = []
    for sentence in sentences_of(line):
        last = it
        for text in _orders(sentence, view.name):
            things = names_in(text, (*view.things, *view.carried))
            last = things[0] if things else last
            clause = _Clause(text, who, view, last if things or _IT.search(text) else "")
            deeds += [deed for deed in _deeds_of(clause) if deed not in deeds]
    given = {deed.arguments["thing"] for deed in deeds if deed.tool == "give"}
    return [deed for deed in deeds if deed.tool != "take" or deed.arguments["thing"] not in given]


def wants_words(line: str) -> bool:
    """Tell whether a line that asks for a deed asks for words as well: a question, or "tell me".

    What is read aloud are words already.
    """
    return _ASKS.search(line) is not None and re.search(r"\bread\b", line, re.IGNORECASE) is None


def _orders(sentence: str, name: str) -> list[str]:
    """Return the parts of a sentence that may each be an order, without the called name and politeness."""
    bare = re.sub(rf"(?:^|[\s,])@?{re.escape(name)}\b[,:!]?", " ", sentence, flags=re.IGNORECASE)
    parts = [part.strip(" ,.!?;:-\"'") for part in _AND.split(bare)]
    return [_imperative(_LEAD.sub("", part).strip(" ,")) for part in parts if part]


def _imperative(clause: str) -> str:
    """Return the clause with "stepping", as in "would you mind stepping", changed to "step"."""
    found = _GERUND.match(clause)
    if found is None:
        return clause
    stem, doubled, rest = found[1].casefold(), found[2] or "", clause[found.end() :]
    verb = next((verb for verb in (stem + doubled, stem + 2 * doubled, stem + doubled + "e") if verb in _ALL_VERBS), "")
    return verb + rest if verb else clause


def _deeds_of(clause: _Clause) -> list[Deed]:
    """Return the deeds of the first reading of a clause that finds any."""
    if _NO.search(clause.text) and not clause.begins(_STAY):
        return []
    return next((deeds for read in _READINGS if (deeds := read(clause))), [])


def _staying(clause: _Clause) -> list[Deed]:
    if clause.begins(_STAY):
        return [Deed("stay")]
    if clause.begins(_FOLLOW):
        return [Deed("follow", {"person": clause.who})]
    return [Deed("home")] if clause.begins(_HOME) else []


def _giving(clause: _Clause) -> list[Deed]:
    if clause.thing and (clause.begins(_BORROW) or clause.begins(_OVER)):
        return [Deed("give", {"thing": clause.thing, "person": clause.who})]
    if not clause.thing or not clause.begins(_GIVE):
        return []
    after = re.search(r"\b(?:to|for)\s+(.*)$", clause.text, re.IGNORECASE)
    receiver = after[1] if after else clause.text
    named = names_in(receiver, clause.view.people)
    if _TO_ME.search(receiver) or (not named and _TO_ME.search(clause.text)):
        whom = clause.who
    elif named:
        whom = named[0]
    else:
        return []
    return [Deed("give", {"thing": clause.thing, "person": whom})]  # the tool first takes a thing that is not carried


def _going(clause: _Clause) -> list[Deed]:
    directions = [direction for direction, _ in clause.view.ways]
    words = [SHORT_WAYS.get(word, word) for word in words_of(clause.text)]
    if len(words) == 1 and words[0] in directions:
        return [Deed("move", {"direction": words[0]})]
    if not clause.begins(_MOVE):
        return []
    way = next((direction for direction in directions if _holds(words, words_of(direction))), "")
    if way and clause.thing and clause.begins(_TAKE) and not clause.begins(_GUIDE):
        return []  # "take the lamp down"
    if not way:
        rooms = {room: direction for direction, room in clause.view.ways if room}
        way = next((rooms[room] for room in names_in(clause.text, rooms)), "")
    if not way and clause.begins(_LEAVE) and len(directions) == 1 and not clause.thing:
        way = directions[0]
    return [Deed("move", {"direction": way})] if way else []


def _handling(clause: _Clause) -> list[Deed]:
    thing, view = clause.thing, clause.view
    if thing in view.carried and clause.begins(_DROP):
        return [Deed("drop", {"thing": thing})]
    if thing in view.things and clause.begins(_TAKE) and not clause.begins(_GUIDE):
        return [Deed("take", {"thing": thing})]
    target = thing or next(iter(names_in(clause.text, view.people)), "")
    return [Deed("inspect", {"target": target})] if target and clause.begins(_LOOK) else []


def _gesturing(clause: _Clause) -> list[Deed]:
    for verb in _LONGEST_FIRST:
        if re.match(rf"(?:(?:take|make|do|give (?:me|us|\w+)) an? (?:\w+ )?)?{verb}\b", clause.text, re.IGNORECASE):
            shown = show_gesture(verb, clause.text, clause.who, clause.view)
            return [shown] if shown else []
    return []


def show_gesture(gesture: str, line: str, who: str, view: View) -> Deed | None:
    """Return the deed of a gesture, at whom or what the line names, else at `who`; None for one at nothing."""
    people = names_in(line, view.people)
    things = [f"the {thing}" for thing in names_in(line, (*view.things, *view.carried))]
    shown = GESTURES[gesture]
    if "{what}" in shown and not (things or people):
        return None
    what = next(iter([*things, *people]), "")
    return Deed("emote", {"text": shown.format(whom=people[0] if people else who, what=what)})


def gesture_in(line: str) -> str:
    """Return the first gesture that a line names, empty for none."""
    found = [
        (at.start(), -len(verb), verb) for verb in GESTURES if (at := re.search(rf"\b{verb}\b", line, re.IGNORECASE))
    ]
    return min(found)[2] if found else ""


def _holds(words: list[str], wanted: Collection[str]) -> bool:
    size = len(wanted)
    return size > 0 and any(words[at : at + size] == list(wanted) for at in range(len(words) - size + 1))


_VERB_TEXT = """
    go walk move head run come climb step hurry return travel leave get crawl jump enter exit take bring lead show pick
    grab fetch lift collect hold carry drop put lay set place throw give hand pass offer lend look examine inspect read
    study check open search follow stay wait remain wave nod bow smile wink laugh dance clap kneel sit stand sing
"""
_ALL_VERBS = frozenset(_VERB_TEXT.split())
_PLAIN_TEXT = """
    the a an this that it them me us my your you i to at of into in on up down out back over here there with and then
    now please could can would will let's let so well hey ok okay after from right quick quickly home along floor ground
"""
#: The words of plain orders, beside the names of things.
ORDER_WORDS = _ALL_VERBS | frozenset(_PLAIN_TEXT.split()) | SHORT_WAYS.keys()
_READINGS: tuple[Callable[[_Clause], list[Deed]], ...] = (_staying, _giving, _going, _handling, _gesturing)
