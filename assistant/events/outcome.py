"""The ways a run can end: a union instead of exceptions, since each end has a name that the journal records."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Limit(StrEnum):
    """The limit that a run reached."""

    STEPS = "steps"
    TIME = "time"
    TOKENS = "tokens"
    FORMAT_ERRORS = "format_errors"
    BUDGET = "budget"
    NO_PROGRESS = "no_progress"
    RATE = "rate"


class Answered(Struct, frozen=True):
    """The assistant spoke or acted. `acts` are the names of the tools that ended the run."""

    acts: tuple[str, ...]


class NothingToDo(Struct, frozen=True):
    """The run ended without an act: none was required, or the model chose none.

    `cause` says why somebody who may have waited for an answer gets none. It names nobody.
    """

    cause: str = ""


class LimitReached(Struct, frozen=True):
    """The run reached a limit. `cause` adds details where there are any.

    `account` names the account whose budget is used up; it is empty for any other limit.
    """

    limit: Limit
    cause: str = ""
    account: str = ""


class Failed(Struct, frozen=True):
    """The model could not be asked. The events stay pending; `retry_at` is in clock seconds when the provider named it.

    `lasting` is True when waiting alone will not help: a key, a model name or a setting must change. `bug` is True
    when the fault is in this program: such runs count towards the emergency stop.
    """

    cause: str
    retry_at: float | None = None
    lasting: bool = False
    bug: bool = False


class Cancelled(Struct, frozen=True):
    """The run was stopped from outside. The events stay pending."""


Outcome = Answered | NothingToDo | LimitReached | Failed | Cancelled


def settles(outcome: Outcome) -> bool:
    """Tell whether the events of the run are dealt with. Those of a failed or cancelled run are tried again."""
    return not isinstance(outcome, Failed | Cancelled)
