"""Knows the chores that a character can be seen to do: caring for a thing that is there. English. Pure."""

from __future__ import annotations

import re

#: Verbs of caring for a thing that is there.
TENDING = (
    "mind|tend|watch|water|sweep|feed|light|stoke|clean|dust|polish|guard|check|wind|wash|scrub|mop|rake|trim|oil|brush"
    "|groom|air|weed|stir|bank|tidy|protect|inspect|prune|sharpen|rinse|wipe|comb|straighten|refill|top up|rub down"
    "|milk|look after|take care of|keep an eye on|keep watch over|watch over|see to|tend to|check on|check up on"
    "|look in on|ring|snuff out|snuff|put out|blow out|extinguish|douse|relight"
)
#: Deeds that only show where they are done to these things: whether a door is open is for the game to say.
_SHOWN = (
    r"(?:open|close|shut|draw)(?= (?:(?:the|my|your|our|all)\b ?)+(?:\w+ )?(?:shutters?|curtains?|blinds?|drapes"
    r"|windows?)\b)|(?:raise|hoist|lower)(?= (?:the|my|your|our) (?:\w+ )?(?:flag|banner|colou?rs)\b)"
    r"|keep(?= [^.!?;,]+ (?:going|burning|lit|alive|clean|tidy|warm|full|bright|polished|swept|trimmed)\b)"
)
_DETERMINER = (
    r"(?:the|my|your|our|his|her|its|their|these|those|this|that|all|both|an?(?! (?:bit(?! of)|moment|while)))"
)
_KIN = r"(?:(?:grand)?(?:mother|father|ma|pa)|mum|mom|dad|things|everything)"
#: Whose a thing is, as one says it of one's own.
WHOSE = re.compile(r"(?i)\b(?:my|your|our|his|her|their)(?: own)?\b")
#: A chore: a verb of tending, and the thing that is tended.
CHORE = re.compile(
    rf"(?i)(?P<verb>{'|'.join(sorted(TENDING.split('|'), key=len, reverse=True))}|{_SHOWN})(?P<along> (?:down|out|up"
    rf"|off))? (?P<thing>(?:{_DETERMINER}\b|(?-i:[A-Z])\w+(?:['\u2019]s)?\b|old(?= (?-i:[A-Z]))|all of"
    rf"|each of) (?!time\b|(?:own )?(?:business|manners|head|language|words|feet|life|temper|hearts?|tongue|souls?"
    rf"|eyes?|backs?)\b|step\b|gap\b|stars\b|sun\w*\b|sky\b|moon\b|play\b|world\b|clouds\b|rain\b|tongue\b|back\b"
    rf"|mind\b|way\b)[^.!?;]*|{_KIN}\b[^.!?;]*)"
)
#: What is no household care, or shows only where it is done: a door that is locked, a thing that somebody is given.
_NO_CARE = (
    r"(?:I|you|he|she|it|we|they|who|what|where|when|why|how|there|here|is|are|was|were|be|been|am|has|have|had|do|does"
    r"|did|will|would|can|could|shall|should|may|might|must|let|let's|not|no|never|always|if|and|but|or|so|to|of|for"
    r"|with|at|in|on|by|from|as|than|all|some|most|many|every\w*|said|tell|told|remind|wake|warn|ask|say(?! (?:a|the"
    r"|my)\b)|come|go|meet|wait|stay|stand|remain|return|visit|join|see|hear|know|think|want|need|like|love|hate|wish"
    r"|hope|dream|sleep|eat|drink|live|die|lose|get|find|buy|sell|pay|cook|bake|brew|forge|build|steal|kill|slay|fight"
    r"|attack|un\w+|lock|bolt|bar|lend|teach|help|marry|follow|thank|miss|call|make(?! (?:the|my|our) beds?\b)|(?:open"
    r"|close|shut)(?! [^.!?;]*(?:shutters?|curtains?|blinds?|windows?)\b)|(?:bring|fetch|give|send|serve|show|carry"
    r"|take|hand|offer|deliver|read|sing|play|write|put|set|leave|move)(?= (?:me|us|him|her|them|you|(?-i:[A-Z])\w+"
    r"|[^.!?;]*\bto (?:me|us|him|her|them|(?-i:[A-Z])\w+))\b|(?: (?:the|my|our|this) [a-z]+)? to [a-z]+\W*$))\b"
)
#: Any other care, where it is asked for again and again.
_CARE = re.compile(
    rf"(?i)(?!{_NO_CARE}|{_DETERMINER}\b|(?:{TENDING})\b(?! (?:it|them)\b))(?P<verb>[a-z]+(?<!s)(?<![^e]ed)(?<!ing)"
    rf"|(?:fl|br|s|r|sw|wr|str)ing|dress|toss|press|bless)(?P<along> (?:down|out|up|off|away|in|back|over|wide|open|to"
    rf"|with|on|for|round))? (?P<thing>(?:{_DETERMINER}|fresh|new|clean|some|more|it|them)\b[^.!?;]*)"
)
#: Verbs of care that are no nouns, before a thing without an article: "feed chickens".
_NO_ARTICLE = re.compile(
    rf"(?i)^({TENDING}|open|close|shut|draw|scatter|strew|burn|fill|empty|spread|pour|gather|lay|chop|give"
    rf"|put out)(?P<along> (?:down|out|up|off))? (?!(?:{_DETERMINER}|each|me|us|you|it|him|them|up|out|off|down|after"
    rf"|over|at|in|on|to|and|every|for|is|are|was|has|of|care|an eye|watch|as|or|when|if|by|until|with|from|comes?"
    rf"|goes)\b|(?-i:[A-Z]))(?=[a-z]+\b)"
)
_PLACE = re.compile(
    r"(?i)(?P<what>.+) (?:in|at|inside|over at|down at|up in) (?:the|my|your|our) (?P<place>[\w'-]+(?: [\w'-]+)?)"
)


#: What is said beside a chore and is no part of it: "wind the clock, it forgets otherwise".
_ASIDE = re.compile(
    r"(?i),? (?:because|since|for my|for the|as (?:I|it|he|she|they)|so(?: that)?|or else|or (?:it|they|he|she)"
    r"|otherwise)\b.*|, (?:it|they|he|she|I|we|that|this|even|no|[^,]* (?:is|are|will|can't|fall|gets?|dies?)|people"
    r"|once|when|while|if)\b.*|,? (?:once|when|while|as soon as) (?:the|she|he|they|it|I|my)\b.*"
)


def split_place(chore: str) -> tuple[str, str]:
    """Return a chore without the room where it is to be done, and the room; empty for none."""
    chore = _ASIDE.sub("", chore)
    found = _PLACE.fullmatch(chore)
    return (found["what"], found["place"]) if found is not None else (chore, "")


def chore_in(text: str, *, again: bool) -> str:
    """Return the care that a clause asks for, empty for none. Asked for `again` and again it may be any care."""
    text = _NO_ARTICLE.sub(r"\1\g<along> the ", text) if again else text
    return text if CHORE.fullmatch(text) or (again and _CARE.fullmatch(text)) else ""


def chore_gesture(what: str) -> str:
    """Return how it looks to do a chore: "minds the fire." for "mind the fire"; empty for what is no chore."""
    found = CHORE.fullmatch(what.strip(" .!,?")) or _CARE.fullmatch(what.strip(" .!,?"))
    if found is None:
        return ""
    verb, _, rest = f"{found['verb']}{found['along'] or ''}".casefold().partition(" ")
    ends = "es" if verb.endswith(("sh", "ch", "x", "ss")) else "s"
    verb = f"{verb[:-1]}ies" if verb.endswith("dy") else f"{verb}{ends}"
    return f"{' '.join(filter(None, (verb, rest, WHOSE.sub('the', found['thing']).strip())))}."
