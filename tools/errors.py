"""How a call may end: the errors a tool may report to a model, and the statuses that these become.

ToolError
├── ToolRetry    try again differently: the sentence says what to change
└── ToolFailed   the world said no: told, not retried
    ├── Unheard  it was speech, and its hearers are gone: dropped, and the run with it
    └── Unconfirmed  it was done, and the world gave no sign: it may have happened, and is never done again
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class ToolError(Exception):
    """A tool call did not succeed; the message is written for the model to read."""


class ToolRetry(ToolError):
    """The call was wrong; the model may try again with the change the message names."""


class ToolFailed(ToolError):
    """The call was right and the world refused it; trying again will not help.

    `authority` is the level of the least trusted author of any part of the sentence, such as a name in it; None when it
    has no such part.
    """

    def __init__(self, sentence: str = "", authority: int | None = None) -> None:
        super().__init__(sentence)
        self.authority = authority


class Unheard(ToolFailed):
    """The words came too late: the people they were for would not hear them, so nothing was said."""


class Unconfirmed(ToolFailed):
    """The act was sent to the world, which showed no sign of it: it may have happened."""


class Away(Exception):
    """What a tool needs does not work for now, such as a disk or a database: no bug. The owner is told elsewhere."""


class Status(StrEnum):
    """How a call ended."""

    DONE = "done"
    FORMAT_ERROR = "format_error"  # unknown tool or arguments that do not fit; counts against the run
    FAILED = "failed"  # the world said no
    UNHEARD = "unheard"  # speech that was dropped, because the person it was for is gone
    REFUSED = "refused"  # policy said no
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"  # a bug in the tool, logged
    UNKNOWN = "unknown"  # the process died while it ran, or the world gave no sign: it is never done again


class NoAnswer(Struct, frozen=True):
    """The result of a tool without an answer: how it ended and what the model reads; `authority` as in ToolFailed."""

    status: Status
    text: str
    authority: int | None = None
