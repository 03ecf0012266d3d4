"""The result of a tool call: the text for the model, and what the loop needs to know beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llm.messages import ToolCall, ToolResult
    from tools.tool import Category


class Status(StrEnum):
    """How a call ended."""

    DONE = "done"
    FORMAT_ERROR = "format_error"  # unknown tool or arguments that do not fit; counts against the run
    FAILED = "failed"  # the world said no
    UNHEARD = "unheard"  # speech that was dropped, because the person it was for is gone
    REFUSED = "refused"  # policy said no
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"  # a bug in the tool, logged
    UNKNOWN = "unknown"  # the process died while it ran: it may have happened, and is never done again


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that was about to run when its process died: it is not known whether it happened."""


@dataclass(frozen=True, slots=True)
class Executed:
    """One answered call. `category` is None when no such tool exists; `seconds` is how long it ran.

    `authority` is the level of the result's text (`tools/policy/trust.py`); 0, the lowest, for records without a level.
    `sources` are the ids of those whose words a memory gave back.
    """

    call: ToolCall
    result: ToolResult
    status: Status
    category: Category | None
    seconds: float
    authority: int = 0
    sources: tuple[str, ...] = ()
