"""Knows the chores that a character can be seen to do: caring for a thing that is there. English. Pure."""

from __future__ import annotations

import re

_TENDING = (
    "mind|tend|watch|water|sweep|feed|light|stoke|clean|dust|polish|guard|check|wind|wash|scrub|mop|rake|trim|oil|brush"
    "|groom|air|weed|stir|bank|tidy|protect|inspect|prune|sharpen|rinse|wipe|comb|straighten|refill|top up|rub down"
    "|milk|look after|take care of|keep an eye on|keep watch over|watch over|see to|tend to|check on|check up on"
    "|look in on|ring|snuff out|snuff|put out|blow out|extinguish|douse|relight"
)
#: Deeds that only show where they are done to these things: whether a door is open is for the game to say.
_SHOWN = (
    r"(?:open|close|shut|draw)(?= (?:(?:the|my|your|our|all)\b ?)+(?:\w+ )?(?:shutters|curtains|blinds|drapes)\b)"
    r"|(?:raise|hoist|lower)(?= (?:the|my|your|our) (?:\w+ )?(?:flag|banner|colou?rs)\b)"
    r"|keep(?= [^.!?;,]+ (?:going|burning|lit|alive|clean|tidy|warm|full|bright|polished|swept|trimmed)\b)"
)
_DETERMINER = r"(?:the|my|your|our|his|her|its|their|these|those|this|that|all|both|an?(?! (?:bit|moment|while)))"
_KIN = r"(?:(?:grand)?(?:mother|father|ma|pa)|mum|mom|dad|things|everything)"
#: Whose a thing is, as one says it of one's own.
WHOSE = re.compile(r"(?i)\b(?:my|your|our|his|her|their)(?: own)?\b")
#: A chore: a verb of tending, and the thing that is tended.
CHORE = re.compile(
    rf"(?i)(?P<verb>{'|'.join(sorted(_TENDING.split('|'), key=len, reverse=True))}|{_SHOWN})"
    r"(?P<along> (?:down|out|up|off))?"
    rf" (?P<thing>(?:{_DETERMINER}\b|(?-i:[A-Z])\w+(?:['\u2019]s)?\b|old(?= (?-i:[A-Z]))|all of|each of) (?!time\b"
    rf"|(?:own )?(?:business"
    rf"|manners|head|language|words|feet|life|temper|hearts?|tongue|souls?|eyes?|backs?)\b|step\b|gap\b|stars\b"
    rf"|sun\w*\b|sky\b|moon\b|play\b|world\b|clouds\b|rain\b|tongue\b|back\b|mind\b|way\b)[^.!?;]*|{_KIN}\b[^.!?;]*)"
)
_PLACE = re.compile(
    r"(?i)(?P<what>.+) (?:in|at|inside|over at|down at|up in) (?:the|my|your|our) (?P<place>[\w'-]+(?: [\w'-]+)?)"
)


#: What is said beside a chore and is no part of it: "wind the clock, it forgets otherwise".
_ASIDE = re.compile(
    r"(?i),? (?:because|since|for my|for the|as (?:I|it|he|she|they)|so(?: that)?|or else|or (?:it|they|he|she)"
    r"|otherwise)\b.*"
    r"|, (?:it|they|he|she|I|we|that|this|even|no)\b.*"
)


def split_place(chore: str) -> tuple[str, str]:
    """Return a chore without the room where it is to be done, and the room; empty for none."""
    chore = _ASIDE.sub("", chore)
    found = _PLACE.fullmatch(chore)
    return (found["what"], found["place"]) if found is not None else (chore, "")


def chore_gesture(what: str) -> str:
    """Return how it looks to do a chore: "minds the fire." for "mind the fire"; empty for what is no chore."""
    found = CHORE.fullmatch(what.strip(" .!,?"))
    if found is None:
        return ""
    verb, _, rest = f"{found['verb']}{found['along'] or ''}".casefold().partition(" ")
    ends = "es" if verb.endswith(("sh", "ch", "x", "ss")) else "s"
    verb = f"{verb[:-1]}ies" if verb.endswith("dy") else f"{verb}{ends}"
    return f"{' '.join(filter(None, (verb, rest, WHOSE.sub('the', found['thing']).strip())))}."
