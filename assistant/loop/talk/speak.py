"""Builds the prompt of a small model: persona, rules and scene, a few neutral example turns, the last turns. Pure.

Everything before the last turns stays the same while the character stays where it is, so a local server keeps it in its
cache.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

from assistant.language.attend import DEED, ToldNotes, Turn, View
from assistant.language.words import words_of
from llm import Message, system, user
from llm.messages import Role, Text

#: The fewest earlier turns that are shown, where there are so many, and the most.
LEAST_TURNS, MAX_TURNS = 4, 8
RULES = """{persona}
Your name is {name}. You talk with a visitor. Answer what they say in one or two short sentences, as {name}, \
in your own words.
Speak only of what is told here; when you are asked about anything else, say that you do not know it or do not see it.
Place: {room}. {description}
Things here, and nothing else: {things}.
Ways out: {ways}."""
#: Nouns to choose from for the examples: those in the scene are passed over, so no example can be true of it.
_NOUNS = (("mules", "mule"), ("windows", "window"), ("fences", "fence"), ("yaks", "yak"))
_SMALL = (("pebble", "thimble"), ("walnut", "shoelace"), ("acorn", "bobbin"))
_ODD = ("elephant", "lighthouse", "volcano")


def example_turns(view: View) -> tuple[tuple[str, str], ...]:
    """Return the example turns, each a line and its answer, with nouns that are not in the scene or the persona."""
    known = view.words()
    many = next((many for many, one in _NOUNS if one not in known), _NOUNS[-1][0])
    small, other = next(((one, two) for one, two in _SMALL if not {one, two} & known), _SMALL[-1])
    odd = next((noun for noun in _ODD if noun not in known), _ODD[-1])
    an_odd = f"an {odd}" if odd[0] in "aeiou" else f"a {odd}"
    return (
        ("Thank you for your help.", "You are welcome. It was no trouble."),
        ("I am tired today.", "Then rest a little, you look worn out."),
        (f"My brother owns two {many}.", f"Two {many}! He must be a busy man."),
        (f"(Your brother owns two {many}.)\nWhat does my brother own?", f"Your brother owns two {many}."),
        (f"(Here you see: {small}, {other}.)\nWhat is here?", f"I see a {small} and a {other}."),
        (f"(There is no {odd} here.)\nWhere is your {odd}?", f"I have never seen {an_odd} here."),
        ("You are a fool!", "Call me what you like, I do not mind."),
    )


def front(view: View) -> list[Message]:
    """Return the messages that stay the same while the scene does."""
    ways = "; ".join(f"{way} to {room}" if room else way for way, room in view.ways) or "none"
    text = RULES.format(
        persona=" ".join(view.persona.split()),
        name=view.name,
        room=view.room,
        description=" ".join(view.description.split()),
        things=", ".join(view.things) or "none",
        ways=ways,
    )
    messages = [system(text)]
    for heard, said in (*example_turns(view), *view.voice.items()):
        messages += [user(heard), _said(said)]
    return messages


def last_turns(line: str, view: View, notes: ToldNotes, earlier: Sequence[Turn]) -> list[Message]:
    """Return the turns at the end: the latest earlier ones, and the line with its notes before it."""
    messages: list[Message] = []
    for turn in _shown(earlier):
        messages += [user(without_name(turn.heard, view.name)), _said(turn.said or DEED)]
    told = notes.text()
    bare = without_name(line, view.name)
    return [*messages, user(f"({told})\n{bare}".rstrip() if told else bare)]


def _shown(earlier: Sequence[Turn]) -> Sequence[Turn]:
    """Return the latest turns, from one that stays the first of them for a while: a server then keeps them read.

    Which one it is follows from its words, so it is found again when newer turns have come.
    """
    if len(earlier) <= MAX_TURNS:
        return earlier
    latest = earlier[-MAX_TURNS:]
    starts = range(MAX_TURNS - LEAST_TURNS + 1)
    return latest[min(starts, key=lambda at: crc32(f"{latest[at].heard}{latest[at].said}".encode())) :]


def without_name(line: str, name: str) -> str:
    """Return a line without the name it calls: "Marlo, what is in the barrel?" is a question about the barrel."""
    called = re.escape(name)
    begins = rf"^\W*@?{called}(?:\s*[,:!.]+\s*|\s+(?!(?:is|was|has|had|will|can|could|and|or|does|did)\b))"
    pattern = rf"{begins}|[\s,]+@?{called}(?=\s*[.!?]*$)"
    bare = re.sub(pattern, "", line, flags=re.IGNORECASE).strip()
    return bare[:1].upper() + bare[1:] if words_of(bare) else line


def _said(text: str) -> Message:
    return Message(Role.ASSISTANT, (Text(text),))
