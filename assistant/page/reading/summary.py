"""Sums up one recorded run for a list of runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from mud_assistant.assistant.events.classify import Classification
from mud_assistant.assistant.events.events import Event, format_event, spoken_text
from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, LimitReached, NothingToDo, Outcome
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.loop.recovery import words_of
from mud_assistant.assistant.page.reading.recorded import RecordedCall, RecordedRun, in_whole_answers
from mud_assistant.assistant.page.reading.wording import ended
from mud_assistant.assistant.page.values.runs import RunSummary
from mud_assistant.llm import Usage
from mud_assistant.resilience import Amount
from mud_assistant.tools import Status
from mud_assistant.tools.tool import Category
from mud_assistant.tools.trust import PEOPLE
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS

#: How each end of a run is called in a search.
OUTCOME_KINDS: Mapping[type[Outcome], str] = {
    Answered: "answered",
    NothingToDo: "nothing",
    LimitReached: "limit",
    Failed: "failed",
    Cancelled: "cancelled",
}
#: How many steps are summed up; those of a run in a list, and those that are shown of one run.
SUMMED_STEPS = 200
#: The most characters of what was heard and of what was said.
_SHOWN_CHARS = 500
_SPEAKING = {
    tool.name for tool in (*WORLD_TOOLS, *ACCOUNT_TOOLS) if tool.category is Category.TERMINAL and not tool.idle
}


def is_speaking(tool: str) -> bool:
    """Tell whether a tool of this name speaks to people."""
    return tool in _SPEAKING


def summary_of(run: RecordedRun) -> RunSummary:
    """Return what a list shows of the run. Of a run with more than SUMMED_STEPS steps, the first ones count."""
    run = in_whole_answers(run)
    trigger = _trigger(run)
    usage = sum((step.response.usage for step in run.steps if step.response), Usage())
    calls = [call for step in run.steps for call in step.calls if call.call is not None]
    models = [f"{step.response.provider}/{step.response.model}" for step in run.steps if step.response]
    said = " ".join(words_of(call.call) for call in calls if call.call is not None and _was_said(call))
    is_over = run.closed_at is not None and run.outcome is not None
    return RunSummary(
        id=run.id,
        assistant=run.assistant,
        name=run.name,
        opened_at=run.opened_at,
        closed_at=run.closed_at,
        outcome=OUTCOME_KINDS[type(run.outcome)]
        if is_over and run.outcome
        else "open"
        if run.closed_at is None
        else "",
        sentence=ended(run),
        player=trigger.event.who.name if trigger else "",
        player_id=trigger.event.who.id if trigger else "",
        heard=cut(heard_text(trigger.event), _SHOWN_CHARS) if trigger else "",
        said=cut(said, _SHOWN_CHARS),
        tools=tuple(dict.fromkeys(call.call.name for call in calls if call.call is not None)),
        steps=len(run.steps) + run.steps_left_out,
        models=tuple(dict.fromkeys(models)),
        used=Amount(calls=len(models), tokens=usage.total_tokens or 0, money=usage.cost or 0.0),
    )


def heard_text(event: Event) -> str:
    """Return the words spoken in the event, or the line that tells of it."""
    return spoken_text(event) or format_event(event)


def cut(text: str, most: int) -> str:
    """Return at most `most` characters of the text, with a mark that says how many are left out."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters left out)"


def _trigger(run: RecordedRun) -> Accepted | None:
    """Return the event that the run answers: of a person before others, the last that asked for an answer."""
    asked = [heard for heard in run.events if heard.attention.verdict is Classification.TRIGGER] or run.events
    by_people = [heard for heard in asked if heard.event.who.kind in PEOPLE] or asked
    return by_people[-1] if by_people else None


def _was_said(call: RecordedCall) -> bool:
    if call.call is None or not is_speaking(call.call.name):
        return False
    return call.begun if call.executed is None else call.executed.status is Status.DONE
