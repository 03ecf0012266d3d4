"""Tells which deeds a line may ask for, by kind: what a model chooses from. Pure.

A kind is offered only when what it needs is there: a thing or a way that the line names, somebody to follow. A line
that plainly tells or asks something, or that only uses a saying, is offered none.
"""

from __future__ import annotations

import re

from assistant.language.acts import ORDER_WORDS, SHORT_WAYS, Deed, gesture_in, show_gesture
from assistant.language.attend import View
from assistant.language.things import known_words
from assistant.language.words import names_in, sentences_of, words_of

#: Kinds that are commands of the game.
COMMANDS = ("open", "close", "light", "pour")
#: Kinds that need the name of a thing or a way, which a line in another language has in other words.
OF_THINGS = frozenset({"go", "give", "take", "drop", "look", "read", *COMMANDS})
#: A gesture that the line does not name in a word known here.
ANY_GESTURE = Deed("emote")
#: A line of more words than this that names nothing here is talk: an order without a name is short.
_SHORT_LINE = 9
_DOING = r"(?:take|give|hand|pass|open|close|shut|read|light|pour|fill|put|place|drop|pick up|fetch|bring|unlock)"
#: How a sentence begins or what it holds that plainly asks for no deed.
_TALK = re.compile(
    r"^\W*(?:(?:who|whose|where|when|which|how(?! about))\b|what\b(?!\s+about)|why (?!don't|not)\w+"
    r"|(?:did|does|are|is|was|were|has|have|had|do(?! (?:me|us|please|come|sit|take|give|have|be)\b)(?! you mind)) \w+"
    r"|(?:he|she|it|they|there|this(?! way)|these|my|our|his|her|their|here)(?:'s|'re)?\b(?!,)"
    r"|(?:if|when|whenever|unless)\b"
    r"|that(?:'s| is| was)\b|hello|hi\b|good (?:morning|day|evening|night)|thank|thanks|welcome|yes\b|no\b(?!t)"
    r"|(?:I|we)(?:'ll|'ve|'m)?\b(?! (?:could do with|(?:would |'d )?(?:want|need|like|love|beg|ask|order)))"
    r"|I should|let me (?!see|have|hold|borrow|look|lead))"
    r"|\byou (?:should|ought to) (?:see|hear|know|try)\b"
    r"|\b(?:yesterday|last (?:night|week|year)|years? ago|one day|lately)\b"
    r"|\b(?:I|he|she|they) (?:said|told)\b|\band (?:I|you|we|he|she|it|they)(?:'d|'ll| would| will)\b"
    r"|^\W*(?!please\b)\w+ (?:took|gave|went|came|said|told|dropped|left|brought|saw|made|was|were|\w{3,}[^e]ed)\b"
    r"|^\W*(?:ich|wir|er|sie|es|mein\w*|wer|was|wo(?:hin|her)?|wie(?:so|viel)?|wann|warum|welche\w*|je|j'|il|elle|mon|ma|mes|où|qui|que|quoi"
    r"|quand|comment|pourquoi|yo|él|ella|mis?|ayer|qué|quién|dónde|de dónde|cómo|cuándo|cuánto)\b",
    re.IGNORECASE,
)
#: An order not to do something is obeyed by doing nothing, unless it is about walking.
_LEFT_ALONE = re.compile(
    r"^\W*(?:please )?(?:don't|do not|never)\b(?! (?:you )?(?:move|go|come|follow|leave|stir|walk|budge|run)\b)[^,;]*$",
    re.IGNORECASE,
)
_HOME = re.compile(r"\b(?:home|hause|heim|chez toi|maison|casa)\b", re.IGNORECASE)
_FOR_ME = re.compile(r"\b(?:me|us|I|my)\b", re.IGNORECASE)
_CLAIMS = re.compile(
    rf"\bI(?: now| just)? (?:{_DOING}|opened|closed|poured|lit|unlocked|handed)\b"
    r"|\bI(?:'ve| have|'m| am)(?: now| just| already)* (?:taken|given|read|put|shut|lit|fetched|brought|(?:tak|giv|putt"
    r"|light|bring|fetch|open|clos|pour|fill|plac|hand|pass|drop|unlock)(?:ing|ed))\b"
    r"|\bhere(?:'s| is| are) (?:the|your)\b|\b(?:here|there) you (?:are|go)\b",
    re.IGNORECASE,
)
_READ = re.compile(r"\b(?:read|recite|vorlesen|lies|lis(?:ez)?|l[ée]e(?:me|nos)?)\b", re.IGNORECASE)
_QUOTED = re.compile(r"(?:^|[\s:(])['\"\u2018\u201c](.+)['\"\u2019\u201d](?!\w)", re.DOTALL)
_POUR = re.compile(r"\b(?:pour|fill|gie(?:ß|ss)\w*|schenk\w*|verse[rz]?|sirve\w*|echa\w*)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:no|not|none|nothing|never|nobody|without|cannot)\b|n't", re.IGNORECASE)
_ORDERS = re.compile(
    rf"(?:^|[,.!?;]\s*|\b(?:please|you|and|to|let me|may I|can I)\s+){_DOING}\b|\bplease\b"
    r"|\bI(?:'d| would) (?:like|love)\b|\bI(?:'ll| will)? (?:have|take|want|need)\b",
    re.IGNORECASE,
)


def is_talk(line: str) -> bool:
    """Tell whether every sentence of a line plainly tells or asks something, so that no model need be asked."""
    straight = line.replace("\u2019", "'")
    return all(_TALK.search(one) or _LEFT_ALONE.search(one) for one in sentences_of(straight))


def possible_deeds(line: str, who: str, view: View, it: str = "") -> dict[str, Deed]:
    """Return the deeds that a line may ask for, by kind; none for plain talk. `it` is what was spoken of before."""
    if is_talk(line):
        return {}
    things = names_in(line, (*view.things, *view.carried))
    if not things and it and re.search(r"\b(?:it|them|that one|this one)\b", line, re.IGNORECASE):
        things = [it]
    way = _way_in(line, view)
    if not things and not way and len(words_of(line)) > _SHORT_LINE:
        return {}
    deeds = {"follow": Deed("follow", {"person": who}), "stay": Deed("stay"), "act": ANY_GESTURE}
    if (gesture := gesture_in(line)) and (shown := show_gesture(gesture, line, who, view)):
        deeds["act"] = shown
    if way:
        deeds["go"] = Deed("move", {"direction": way})
    if _HOME.search(line):
        deeds["home"] = Deed("home")
    for thing in reversed(things):
        deeds |= deeds_with(thing, line, who, view)
    if len(things) > 1:
        where = "on" if re.search(r"\b(?:on|onto|atop)\b", line, re.IGNORECASE) else "in"
        deeds["put"] = command("put", things[0], where, things[1])
    if not things and (people := names_in(line, view.people)):
        deeds["look"] = Deed("inspect", {"target": people[0]})
    return deeds


def deeds_with(thing: str, line: str, who: str, view: View) -> dict[str, Deed]:
    """Return the deeds that can be tried with a thing, by kind."""
    named = [] if _FOR_ME.search(line) else names_in(line, view.people)
    deeds = {
        "give": Deed("give", {"thing": thing, "person": next(iter(named), who)}),
        "look": Deed("inspect", {"target": thing}),
    }
    if thing in view.carried:
        deeds["drop"] = Deed("drop", {"thing": thing})
    else:
        deeds["take"] = Deed("take", {"thing": thing})
    deeds |= {verb: command(verb, thing) for verb in COMMANDS if verb != "pour" or _POUR.search(line)}
    return deeds | {"read": Deed("inspect", {"target": thing})} if reads_aloud(line) else deeds


def is_bare_order(line: str, view: View) -> bool:
    """Tell whether a line has no word but plain ones of orders and the names of what is here."""
    rooms = [room for _, room in view.ways]
    ways = [way for way, _ in view.ways]
    known = known_words(view.name, *view.things, *view.carried, *view.people, *rooms, *ways)
    return known_words(line) <= known | ORDER_WORDS


def claims_deed(sentence: str, line: str) -> bool:
    """Tell whether a sentence claims a deed that `line` asks for: "I open the chest.", "Here is your beer."."""
    straight = sentence.replace("\u2019", "'")
    return bool(_ORDERS.search(line) and _CLAIMS.search(straight) and not _DENIES.search(straight))


def reads_aloud(line: str) -> bool:
    """Tell whether a line wants something read out."""
    return _READ.search(line) is not None


def written_in(description: str) -> str:
    """Return what is written on a thing: what its description quotes, else the description."""
    found = _QUOTED.search(description)
    return found[1] if found else description


def command(verb: str, *rest: str) -> Deed:
    """Return the deed of typing a command of the game."""
    return Deed("execute_command", {"command": " ".join((verb, *rest))})


def _way_in(line: str, view: View) -> str:
    """Return the way that a line names, by its direction or by the room behind it; empty for none."""
    said = (word for word in words_of(line) if len(word) > 1 and word not in {"in", "out"})
    words = {SHORT_WAYS.get(word, word) for word in said}
    rooms = {room: way for way, room in view.ways if room}
    ways = [way for way, _ in view.ways if set(words_of(way)) <= words]
    return next((rooms[room] for room in names_in(line, rooms)), "") or next(iter(ways), "")
