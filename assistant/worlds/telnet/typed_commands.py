"""Makes the lines that are typed: of the profile's verbs and of nothing else, and none that claims to be a person's.

A model plays a person, and a small one answers "Are you a machine?" with "I am a person." In somebody else's game that
is a lie to a player who wants to know. So a sentence that claims it is replaced, whatever model said it.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.config.world_config import INTRODUCTION
from mud_assistant.assistant.worlds.telnet.profiles.line_forms import fill_line, holes_of
from mud_assistant.assistant.worlds.telnet.profiles.profile import Profile
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand
from mud_assistant.tools.text.clean import one_line

#: The longest name that is typed, in characters, and the longest line that is looked up.
MAX_NAME, MAX_ASKED = 60, 400
_SENTENCE = re.compile(r"[^.!?]*[.!?]+[\"')\u201d\u2019]*\s*|[^.!?]+$")
_I_AM = r"\b(?:I\s+am|I['\u2019]m)\s+"
_CLAIM = re.compile(
    rf"{_I_AM}(?:(?:only|just|really|truly|indeed|of course|certainly|actually|very much)\s+)*"
    r"(?:an?\s+|another\s+)?(?:(?:real|living|actual|ordinary|normal|human|true)\s+)*(?:person|human(?:\s+being)?|player)\b"
    rf"|{_I_AM}(?:definitely\s+|certainly\s+)?(?:not|no)\s+(?:an?\s+)?(?:machine|robot|bot|computer|program|AI|NPC)\b",
    re.IGNORECASE,
)
_BETWEEN = (" to ", " with ", " in ", " at ")


def typed(profile: Profile, verb: str, **values: str) -> str:
    """Return the line to type for an act. Raises ToolFailed where the game has no such act."""
    template = getattr(profile.verbs, verb)
    if not template:
        raise ToolFailed(f"This game has no line to {verb}.")
    filled = {name: harmless(profile, value) for name, value in values.items()}
    if '"{text}"' in template and "text" in filled:
        filled["text"] = filled["text"].replace('"', "'")  # or the words would end before their end
    return fill_line(template, **filled)


def typed_words(profile: Profile, text: str) -> str:
    """Return words to be said as one line, honest and short enough for the game. Raises ToolFailed for none."""
    words = harmless(profile, one_line(honest(text), max_chars=profile.verbs.longest))
    if not words:
        raise ToolFailed("There is nothing to say in that.")
    return words


def honest(text: str) -> str:
    """Return the text with each sentence that claims that a person speaks replaced by one that says the truth."""
    if not _CLAIM.search(text):
        return text
    sentences = [INTRODUCTION if _CLAIM.search(one) else one.strip() for one in _SENTENCE.findall(text)]
    return " ".join(dict.fromkeys(one for one in sentences if one))


def harmless(profile: Profile, text: str) -> str:
    """Return the text on one line, without the marks at which the game parts commands."""
    for mark in profile.verbs.separators:
        text = text.replace(mark, ",")
    return " ".join(text.split())


def resolve_line(profile: Profile, line: str) -> GameCommand:
    """Return the command of the profile's table that a line means. Raises ToolFailed that lists the table."""
    words = one_line(line, max_chars=MAX_ASKED).split(" ", 1)
    name, rest = words[0].casefold(), words[1] if len(words) > 1 else ""
    others = profile.verbs.others
    if name not in others:
        known = ", ".join(others) or "none"
        raise ToolFailed(f"There is no command {one_line(line, max_chars=60)!r} for you here. There are: {known}.")
    holes = holes_of(others[name])
    values = _values(harmless(profile, rest), holes)
    if missing := [hole for hole in sorted(holes) if not values.get(hole)]:
        raise ToolFailed(f"To {name}, say also: {', '.join(missing)}.")
    if rest and not holes:
        raise ToolFailed(f"'{name}' is typed alone.")
    return GameCommand(f"{name} {rest}".strip(), name)


def line_to_type(profile: Profile, command: GameCommand) -> str:
    """Return the line of the profile for a resolved command. Raises ToolFailed for one that is not of its table."""
    resolved = resolve_line(profile, command.line)
    template = profile.verbs.others[resolved.name]
    rest = resolved.line.partition(" ")[2]
    return fill_line(template, **_values(harmless(profile, rest), holes_of(template)))


def _values(rest: str, holes: frozenset[str]) -> dict[str, str]:
    """Return what stands in the holes, from the words after the command."""
    if {"thing", "who"} <= holes:
        for between in _BETWEEN:
            if between in rest:
                thing, _, who = rest.rpartition(between)
                return {"thing": thing.strip()[:MAX_NAME], "who": who.strip()[:MAX_NAME]}
        thing, _, who = rest.rpartition(" ")
        return {"thing": thing.strip()[:MAX_NAME], "who": who[:MAX_NAME]}
    return dict.fromkeys(holes, rest[:MAX_NAME])
