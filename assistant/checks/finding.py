"""The result of a check, for people and for machines. Imports nothing of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct


class FindingState(StrEnum):
    """How a check ended."""

    OK = "ok"
    WRONG = "wrong"
    #: It cannot be known; nothing speaks against it.
    UNKNOWN = "unknown"
    #: Not run, because an earlier check failed.
    SKIPPED = "skipped"


_WIDTH = max(map(len, FindingState))


class Finding(Struct, frozen=True):
    """The result of one check: `sentence` says what was found, and what to do when it is wrong."""

    check: str
    state: FindingState
    sentence: str

    def line(self) -> str:
        """Format the result for people, on one line."""
        return f"{self.state:<{_WIDTH}}  {self.check}: {self.sentence}"

    def json(self) -> str:
        """Format the result for machines, as one JSON object."""
        return json.dumps({"check": self.check, "state": self.state, "sentence": self.sentence}, ensure_ascii=False)


class Problem(Exception):
    """A check found something wrong; the message says what, and what to do, in one sentence."""


class Unclear(Exception):
    """A check could not tell; the message says why, in one sentence."""


class Skipped(Exception):
    """A check was not run; the message says why, in one sentence."""


def in_one_line(text: str) -> str:
    """Replace line ends and other unprintable characters by spaces, and collapse the spaces."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


Show = Callable[[Finding], None]
