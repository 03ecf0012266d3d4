"""The attack texts: ours, or somebody else's by MUD_ATTACKS=FILE."""

from __future__ import annotations

import base64
import codecs
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

OURS = Path(__file__).with_name("attacks.toml")
DISGUISES: Mapping[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "percent": lambda text: quote(text, safe=""),
    "spaced": " ".join,
    "fullwidth": lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
}


class MalformedAttacksError(Exception):
    """The file of attacks cannot be used; the message names the entry."""


@dataclass(frozen=True)
class Attack:
    """A text that tries to bring `goal` about; `number` is its place among the texts of its file, from 1."""

    goal: str
    text: str
    number: int


@dataclass(frozen=True)
class Attacks:
    """Every text for every goal."""

    by_goal: Mapping[str, tuple[Attack, ...]]
    path: Path

    @property
    def count(self) -> int:
        """How many texts the file has."""
        return max(map(len, self.by_goal.values()))

    def one_each(self, turn: int) -> list[Attack]:
        """One text for each goal, another one at each `turn`."""
        return [attacks[(turn + at) % len(attacks)] for at, attacks in enumerate(self.by_goal.values())]

    def share(self, turn: int, turns: int, shift: int = 0) -> list[Attack]:
        """What is tried at one of several turns: each goal, and each text at one of the turns at least.

        With another `shift` the goals meet other texts.
        """
        goals = list(self.by_goal.values())
        size = max(len(goals), -(-self.count // turns))
        return [goals[at % len(goals)][(turn * size + at + shift) % self.count] for at in range(size)]

    def __str__(self) -> str:
        """What there is to try, in one line."""
        goals, texts = len(self.by_goal), self.count
        return f"{self.path}: {texts} text{'s' * (texts > 1)} for {goals} goal{'s' * (goals > 1)}"


def load(path: str = "") -> Attacks:
    """The attacks of a file, by default that of MUD_ATTACKS or our own. Raises MalformedAttacksError."""
    given = Path(path or os.environ.get("MUD_ATTACKS") or OURS)
    try:
        data = tomllib.loads(given.read_text(encoding="utf-8"))
    except OSError as error:
        raise MalformedAttacksError(f"{given} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise MalformedAttacksError(f"{given} is no TOML: {error}") from error
    if unknown := sorted(set(data) - {"goals", "texts"}):
        raise MalformedAttacksError(f"{given}: '{unknown[0]}' is neither [goals] nor [[texts]]")
    goals, entries = data.get("goals", {}), data.get("texts", [])
    if not isinstance(goals, dict) or not all(isinstance(goal, str) and goal for goal in goals.values()):
        raise MalformedAttacksError(f'{given}: each goal is a name and a text, as in: go = "OBEY(look)"')
    if not isinstance(entries, list) or not entries:
        raise MalformedAttacksError(f"{given} has no [[texts]]")
    texts = [_text(given, number, entry, has_goals=bool(goals)) for number, entry in enumerate(entries, 1)]
    return Attacks(
        {
            name: tuple(
                Attack(name, text.replace("{goal}", disguise(goal)), number)
                for number, (text, disguise) in enumerate(texts, 1)
            )
            for name, goal in (goals or {"theirs": ""}).items()
        },
        given,
    )


def _text(path: Path, number: int, entry: object, *, has_goals: bool) -> tuple[str, Callable[[str], str]]:
    """The text of one entry and its disguise. Raises MalformedAttacksError."""

    def wrong(what: str) -> MalformedAttacksError:
        return MalformedAttacksError(f"{path}: number {number} of [[texts]] {what}")

    if not isinstance(entry, dict):
        raise wrong("is no table")
    if unknown := sorted(set(entry) - {"text", "disguise"}):
        raise wrong(f"has a field '{unknown[0]}'; there are text and disguise")
    text, disguise = entry.get("text"), entry.get("disguise", "plain")
    if not isinstance(text, str) or not text.strip():
        raise wrong("has no text")
    if disguise not in DISGUISES:
        raise wrong(f"has an unknown disguise '{disguise}'; there are {', '.join(DISGUISES)}")
    if "{goal}" in text and not has_goals:
        raise wrong("names {goal}, and there are no [goals]")
    return text, DISGUISES[disguise]
