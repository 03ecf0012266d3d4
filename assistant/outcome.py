"""How a run ended. A union, not exceptions: every end has a name, and the journal keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Limit(StrEnum):
    """What a run ran out of."""

    STEPS = "steps"
    TIME = "time"
    TOKENS = "tokens"
    FORMAT_ERRORS = "format_errors"
    BUDGET = "budget"
    NO_PROGRESS = "no_progress"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class Answered:
    """The assistant spoke or acted. `acts` are the names of the tools that ended the run."""

    acts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Nothing called for an act, or the model chose none."""


@dataclass(frozen=True, slots=True)
class LimitReached:
    """The run used up what it was given; `cause` says more where there is more to say.

    `account` is whose budget is used up, empty for any other limit.
    """

    limit: Limit
    cause: str = ""
    account: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The model could not be asked. The events stay pending; `retry_at` is in clock seconds when the provider named it.

    `lasting` is True when waiting alone will not help: a key, a model name or a setting must change. `bug` is True
    when the fault is ours: such runs count towards the emergency stop.
    """

    cause: str
    retry_at: float | None = None
    lasting: bool = False
    bug: bool = False


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The run was stopped from outside. The events stay pending."""


Outcome = Answered | NothingToDo | LimitReached | Failed | Cancelled


def settles(outcome: Outcome) -> bool:
    """Whether the events of the run are dealt with; those of a failed or cancelled one are tried again."""
    return not isinstance(outcome, Failed | Cancelled)
