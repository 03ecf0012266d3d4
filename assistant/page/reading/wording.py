"""Words how a run ended, and shows texts of strangers in a terminal. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import assert_never

from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, LimitReached, NothingToDo, Outcome
from mud_assistant.assistant.page.reading.recorded import RecordedRun
from mud_assistant.tools.text.clean import clean_heard

#: How many characters of a text are shown, and of a name.
_SHOWN = 1000
_NAME = 100


def shown(text: str) -> str:
    """Return a text as one clean line."""
    return clean_heard(text, _SHOWN)


def name_shown(text: str) -> str:
    """Return a name as one clean, short line, whatever it contains."""
    return clean_heard(text, _NAME)


def exact(value: object) -> str:
    """Return the value as JSON in plain ASCII: nothing in it can control a terminal, and nothing is lost."""
    return json.dumps(value, default=plain_form).replace("\x7f", "\\u007f")


def ended(run: RecordedRun) -> str:
    """Say how the run ended, or that it did not."""
    if run.outcome is not None:
        return outcome_text(run.outcome)
    return "still open: it goes on now, or its process died" if run.closed_at is None else "how it ended is lost"


def outcome_text(outcome: Outcome) -> str:
    """Say how a run ended."""
    match outcome:
        case Answered(acts):
            return "answered with " + ", ".join(name_shown(act) for act in acts)
        case NothingToDo():
            return "nothing to do" + (f": {shown(outcome.cause)}" if outcome.cause else "")
        case LimitReached(limit, cause):
            return f"limit reached: {limit}" + (f" ({shown(cause)})" if cause else "")
        case Failed():
            kind = "failed, a fault in the program" if outcome.bug else "failed"
            return f"{kind}: {shown(outcome.cause)}" + (" (a setting must change)" if outcome.lasting else "")
        case Cancelled():
            return "cancelled"
        case _:
            assert_never(outcome)


def plain_form(value: object) -> object:
    """Return a form that JSON knows: a dict for a read-only mapping, else a string."""
    return dict(value) if isinstance(value, Mapping) else str(value)
