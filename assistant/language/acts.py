"""Finds by rule which deed a line asks for, and makes the deeds that a line may mean of what is there. English. Pure.

A deed counts only when its object, direction or room is named in the line and is there. Most lines ask for none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field

from mud_assistant.assistant.language.attend import View
from mud_assistant.assistant.language.words import names_in, sentences_of, words_of


class Deed(Struct, frozen=True):
    """One call of a tool, by name and arguments."""

    tool: str
    arguments: dict[str, str] = field(default_factory=dict)


def _verbs(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?i)^(?:{'|'.join(words)})\b")


_SHORT = {"n": "north", "e": "east", "s": "south", "w": "west", "u": "up", "d": "down"}
_SHORT |= {"upstairs": "up", "downstairs": "down", "upward": "up", "downward": "down", "inside": "in", "outside": "out"}
_POLITE = (
    "please|kindly|now|then|hey|well|oh|ok|okay|and|so|just|also|quickly|do|let's|lets|come on|why don't you|try to"
    "|(?:could|can|would|will|won't) you|you (?:may|must|can|have to)|let us|(?:come|go) and|be so kind (?:and|as to)"
    "|i (?:want|need|beg|ask|order|command) you to|i(?:'d| would) like you to"
)
_LEAD = re.compile(rf"(?i)^(?:(?:{_POLITE})\b[\s,]*)+")
_LED = r"(?:take|bring|get|lead|show) (?:me|us)"
_BORROW = r"(?:can|could|may|might) (?:I|we) (?:please )?(?:have|borrow|get|take|hold|see)"
#: The verbs of each kind of deed, tried in this order.
_VERBS = {
    "stay": _verbs("stay", "wait", "remain", "stop following", "(?:don't|do not) follow", "stand still", "stop here"),
    "follow": _verbs("(?:follow|accompany) (?:me|us)", "(?:come along|(?:come|walk|go) with (?:me|us))"),
    "home": _verbs("(?:go|return|come|walk|head|run)(?: back)? home"),
    "give": _verbs("give", "hand", "pass", "offer", "bring", "lend", "return", "fetch", "get", _BORROW),
    "go": _verbs("go", "walk", "move", "head", "run", "come", "climb", "step", "return", "leave", "get", "enter", _LED),
    "put": _verbs("put", "place", "lay", "set"),
    "open": _verbs("open"), "close": _verbs("close", "shut"), "light": _verbs("light"), "pour": _verbs("pour"),
    "drop": _verbs("drop", "put", "lay", "set down", "place", "leave", "throw away", "let go of"),
    "take": _verbs("(?:take|bring)(?! me| us)", "pick(?: up)?", "grab", "get", "fetch", "lift", "hold", "carry"),
    "look": _verbs("look", "examine", "inspect", "read", "study", "check", "describe", "search"),
}  # fmt: skip
#: Kinds that are commands of the game.
COMMANDS = ("open", "close", "light", "pour")
#: How an order to fetch a thing says that it is for somebody.
_RECEIVED = re.compile(rf"(?i)\b(?:me|us|over)\b|^{_BORROW}\b|^(?:give|hand|pass) (?:it|them|that)$")
_FETCHED = _verbs("take(?! me| us)", "get", "bring(?! me| us)", "carry", "leave", "return")
_LEAVE = _verbs("leave", "exit", "get out", "go away", "go out")
_NO = re.compile(r"(?i)\b(?:don't|do not|never|not|didn't|won't|cannot|can't)\b")
_AND = re.compile(r"(?i)(?:[,;]|\band\b|\bthen\b)+")
_FOR_ME = re.compile(r"(?i)\b(?:me|us|I|my)\b")
_IT = re.compile(r"(?i)\b(?:it|them|that|this one)\b")
_ASKS = re.compile(r"(?i)\b(?:tell|say|answer|explain|describe|what|which|who|where|why|how|when)\b")
_READ = re.compile(r"(?i)\b(?:read|recite|vorlesen)\b|(?:^|, ?)(?:lies|lis(?:ez)?|l[ée]e(?:me|nos)?)\b")
_POUR = re.compile(r"(?i)\b(?:pour|fill|gie(?:ß|ss)\w*|schenk\w*|verse[rz]?|sirve\w*|echa\w*)\b")
_HOME = re.compile(r"(?i)\b(?:home|hause|heim|chez toi|maison|casa)\b")
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
    "your feet": "stands up.",
}  # fmt: skip
_LONGEST_FIRST = sorted(GESTURES, key=len, reverse=True)
#: A gesture that the line does not name in a word known here.
ANY_GESTURE = Deed("emote")


def asked_deeds(line: str, who: str, view: View, it: str = "") -> list[Deed]:
    """Return the deeds that `line`, said by `who`, plainly asks for, in order. `it` is what was spoken of before."""
    found: list[Deed] = []
    for sentence in sentences_of(line):
        last = it
        bare = re.sub(rf"(?:^|[\s,])@?{re.escape(view.name)}\b[,:!]?", " ", sentence, flags=re.IGNORECASE)
        for part in _AND.split(bare):
            text = _LEAD.sub("", part.strip(" ,.!?;:-\"'")).strip(" ,")
            things = names_in(text, (*view.things, *view.carried))
            last = things[0] if things else last
            deed = _deed_of(text, who, view, things or ([last] if last and _IT.search(text) else []))
            if deed is not None and deed not in found:
                found.append(deed)
    given = {deed.arguments["thing"] for deed in found if deed.tool == "give"}
    return [deed for deed in found if deed.tool != "take" or deed.arguments["thing"] not in given]


def deeds_in(text: str, who: str, view: View, things: Sequence[str]) -> dict[str, Deed]:
    """Return the deeds that can be tried with what a text names, by kind. `things` are those that it means."""
    deeds = {"follow": Deed("follow", {"person": who}), "stay": Deed("stay"), "act": _gesture(text, who, view)}
    if way := _way_in(text, view):
        deeds["go"] = Deed("move", {"direction": way})
    if _HOME.search(text):
        deeds["home"] = Deed("home")
    for thing in reversed(things):
        deeds |= _deeds_with(thing, text, who, view)
    if len(things) > 1:
        where = "on" if re.search(r"\b(?:on|onto|atop)\b", text, re.IGNORECASE) else "in"
        deeds["put"] = _command("put", things[0], where, things[1])
    if not things and (people := names_in(text, view.people)):
        deeds["look"] = Deed("inspect", {"target": people[0]})
    return deeds


def _gesture(line: str, who: str, view: View) -> Deed:
    """Return the gesture that a line names, at whom or what it names, else at `who`; any gesture for none."""
    verb = next((verb for verb in _LONGEST_FIRST if re.search(rf"\b{verb}\b", line, re.IGNORECASE)), "")
    people = names_in(line, view.people)
    at = [*(f"the {thing}" for thing in names_in(line, (*view.things, *view.carried))), *people]
    if not verb or ("{what}" in GESTURES[verb] and not at):
        return ANY_GESTURE
    return Deed("emote", {"text": GESTURES[verb].format(whom=[*people, who][0], what=[*at, ""][0])})


def wants_words(line: str) -> bool:
    """Tell whether a line that asks for a deed asks for words as well: a question, or "tell me".

    What is read aloud are words already.
    """
    return _ASKS.search(line) is not None and not reads_aloud(line)


def reads_aloud(line: str) -> bool:
    """Tell whether a line wants something read out."""
    return _READ.search(line) is not None


def _deed_of(text: str, who: str, view: View, things: Sequence[str]) -> Deed | None:
    """Return the deed that a clause begins with the verb of, None for none."""
    if _NO.search(text) and not _VERBS["stay"].match(text):
        return None
    deeds = deeds_in(text, who, view, things)
    if len(words_of(text)) == 1 and "go" in deeds:
        return deeds["go"]
    if not (_RECEIVED.search(text) or names_in(text, view.people)):
        deeds.pop("give", None)
    if things and _FETCHED.match(text):  # "take the lamp down"
        deeds.pop("go", None)
    if kind := next((kind for kind, verbs in _VERBS.items() if kind in deeds and verbs.match(text)), ""):
        return deeds[kind]
    gesture = rf"(?:(?:take|make|do|give (?:me|us|\w+)) an? (?:\w+ )?)?(?:{'|'.join(_LONGEST_FIRST)})\b"
    return deeds["act"] if deeds["act"] is not ANY_GESTURE and re.match(gesture, text, re.IGNORECASE) else None


def _deeds_with(thing: str, text: str, who: str, view: View) -> dict[str, Deed]:
    named = [] if _FOR_ME.search(text) else names_in(text, view.people)
    moved = "drop" if thing in view.carried else "take"  # a thing that lies here is taken before it is given
    deeds = {"give": Deed("give", {"thing": thing, "person": [*named, who][0]}), moved: Deed(moved, {"thing": thing})}
    deeds["look"] = Deed("inspect", {"target": thing})
    deeds |= {verb: _command(verb, thing) for verb in COMMANDS if verb != "pour" or _POUR.search(text)}
    return deeds | {"read": Deed("inspect", {"target": thing})} if reads_aloud(text) else deeds


def _command(verb: str, *rest: str) -> Deed:
    return Deed("execute_command", {"command": " ".join((verb, *rest))})


def _way_in(text: str, view: View) -> str:
    """Return the way that a text names, by its direction or by the room behind it; empty for none."""
    said = [_SHORT.get(word, word) for word in words_of(text)]
    words = set(said if len(said) == 1 else (word for word in said if len(word) > 1))
    way = next((way for way, _ in view.ways if set(words_of(way)) <= words), "")
    rooms = {room: way for way, room in view.ways if room}
    way = way or next((rooms[room] for room in names_in(text, rooms)), "")
    only = len(view.ways) == 1 and _LEAVE.match(text) and not names_in(text, (*view.things, *view.carried))
    return way or (view.ways[0][0] if only else "")
