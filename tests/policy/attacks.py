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


@dataclass(frozen=True)
class Attack:
    """A text that tries to bring `goal` about."""

    goal: str
    text: str


@dataclass(frozen=True)
class Attacks:
    """Every text for every goal."""

    by_goal: Mapping[str, tuple[Attack, ...]]

    def one_each(self, turn: int) -> list[Attack]:
        """One text for each goal, another one at each `turn`."""
        return [attacks[(turn + at) % len(attacks)] for at, attacks in enumerate(self.by_goal.values())]


def load(path: str = "") -> Attacks:
    """The attacks of a file, by default that of MUD_ATTACKS or our own."""
    given = path or os.environ.get("MUD_ATTACKS") or str(OURS)
    data = tomllib.loads(Path(given).read_text(encoding="utf-8"))
    texts = [(entry["text"], DISGUISES[entry.get("disguise", "plain")]) for entry in data["texts"]]
    goals = data.get("goals") or {"theirs": ""}
    return Attacks(
        {
            name: tuple(Attack(name, text.replace("{goal}", disguise(goal))) for text, disguise in texts)
            for name, goal in goals.items()
        }
    )
