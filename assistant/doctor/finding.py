"""What a check comes to, for people and for machines. Imports nothing of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WRONG = "wrong"
    #: Nobody can tell; nothing speaks against it.
    UNKNOWN = "unknown"
    #: Not made, because an earlier one failed.
    SKIPPED = "skipped"


_WIDTH = max(map(len, State))


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: `sentence` says what is so, and what to do when it is wrong."""

    check: str
    state: State
    sentence: str

    def line(self) -> str:
        """For people."""
        return f"{self.state:<{_WIDTH}}  {self.check}: {self.sentence}"

    def json(self) -> str:
        """For machines."""
        return json.dumps({"check": self.check, "state": self.state, "sentence": self.sentence}, ensure_ascii=False)


class Trouble(Exception):
    """What a check found wrong, and what to do, in one sentence."""


class Unclear(Exception):
    """Why a check could not tell, in one sentence."""


class Skipped(Exception):
    """Why a check was not made, in one sentence."""


def in_one_line(text: str) -> str:
    """The text without line ends and other signs that move a cursor."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


Show = Callable[[Finding], None]
