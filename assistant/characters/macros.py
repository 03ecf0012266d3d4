"""Expands the macros of character cards, once and in one pass. Pure: chance is drawn from a seed.

What is inserted is not expanded again, so that a player may be called `{{char}}`.
"""

from __future__ import annotations

import re
from random import Random

from msgspec.structs import replace

from mud_assistant.assistant.characters.character import CHAR, USER
from mud_assistant.assistant.characters.day_entries import Days

#: Stands for the player in texts that every player is meant by.
WHOEVER = "whoever speaks to you"
_MACRO = re.compile(r"\{\{([^{}]*)\}\}|<(char|bot|user)>", re.IGNORECASE)
_LEFT = re.compile(r"\{\{(?!(?:char|user)\}\})|(?<!\{\{char)(?<!\{\{user)\}\}")
_NAMES = re.compile(r"\{\{(char|user)\}\}", re.IGNORECASE)
_ADDRESSED = re.compile(r"\{\{\s*(user|char|bot)\s*\}\}|<(user|char|bot)>|\{(name)\}", re.IGNORECASE)
_COMMA = re.compile(r"(?<!\\),")
#: The most dice of one roll, and of all rolls of a card.
_MAX_DICE, _MAX_ALL_DICE = 100, 2000


class Macros:
    """The macros of one card. `seed` names the card and the assistant: the same seed draws the same."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        #: The macros nothing is known of; they were taken out.
        self.unknown: dict[str, None] = {}
        self._dice_left = _MAX_ALL_DICE

    def expand(self, text: str, field: str, user: str = WHOEVER) -> str:
        """Return the text of this field with its macros replaced: `{{user}}` by `user`, `{{char}}` by itself."""
        random = Random(f"{self._seed}\0{field}")  # noqa: S311  (a choice of words)
        return _LEFT.sub("", _MACRO.sub(lambda found: self._replaced(found, random, user), text))

    def _replaced(self, found: re.Match[str], random: Random, user: str) -> str:
        inner = (found[1] if found[2] is None else found[2]).strip()
        name, colon, rest = inner.partition(":")
        match name.strip().casefold():
            case "char" | "bot":
                return CHAR
            case "user":
                return user
            case "random" | "pick" if colon:
                return random.choice(_choices(rest))
            case "roll" if colon:
                return self._rolled(rest.removeprefix(":"), random)
            case "reverse" if colon:
                return rest.removeprefix(":").strip()[::-1]
            case "newline":
                return "\n"
            case "original" | "comment" | "hidden_key" | "noop" | "trim":
                return ""
        if not inner.startswith("//"):
            self.unknown[f"{{{{{inner[:40]}}}}}"] = None
        return ""

    def _rolled(self, text: str, random: Random) -> str:
        """Return the sum of dice such as `d6`, `2d6` or `20`; empty for no dice, and when too many were rolled."""
        found = re.fullmatch(r"(?:(\d{0,3})d)?(\d{1,6})", text.strip(), re.IGNORECASE)
        if found is None or not int(found[2]):
            return ""
        count = min(int(found[1] or 1), _MAX_DICE)
        self._dice_left -= count
        return str(sum(random.randint(1, int(found[2])) for _ in range(count))) if self._dice_left >= 0 else ""


def insert_names(text: str, *, char: str, user: str | None = None) -> str:
    """Return the text with these names for `{{char}}` and `{{user}}`; `{{user}}` stays without a `user`."""

    def named(found: re.Match[str]) -> str:
        if found[1].casefold() == "char":
            return char
        return USER if user is None else user

    return _NAMES.sub(named, text)


def names_player(text: str) -> bool:
    """Tell whether the text holds `{{user}}`, in any case."""
    return any(found[1].casefold() == "user" for found in _NAMES.finditer(text))


def with_own_name(days: Days, char: str) -> Days:
    """Return the days with this name for `{{char}}` in each pose and sentence; the same days where there is none."""

    def named(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(insert_names(text, char=char) for text in texts)

    own = tuple(
        replace(entry, begins=insert_names(entry.begins, char=char), does=named(entry.does), says=named(entry.says))
        for entry in days.entries
    )
    expanded = Days(own, replace(days.free, does=named(days.free.does)))
    return days if expanded == days else expanded


def address(text: str, *, char: str, user: str) -> str:
    """Return a line to a player with their name for `{{user}}`, `<user>` and `{name}`, and `char` for `{{char}}`."""

    def named(found: re.Match[str]) -> str:
        return user if (found[1] or found[2] or found[3]).casefold() in {"user", "name"} else char

    return _ADDRESSED.sub(named, text)


def _choices(text: str) -> list[str]:
    r"""Return the choices of `a,b` or of `:a::b`; `\,` is a comma in a choice."""
    if text.startswith(":"):
        return [choice.strip() for choice in text[1:].split("::")]
    return [choice.replace("\\,", ",").strip() for choice in _COMMA.split(text)]
