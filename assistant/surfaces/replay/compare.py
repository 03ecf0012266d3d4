"""Compares a run with its repetition, and says in sentences what differs. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from mud_assistant.assistant.events.outcome import (
    Answered,
    Cancelled,
    Failed,
    Limit,
    LimitReached,
    NothingToDo,
    Outcome,
)
from mud_assistant.assistant.page.reading.recorded import RecordedCall, RecordedRun, RecordedStep, in_whole_answers
from mud_assistant.assistant.page.reading.wording import exact, name_shown, outcome_text, shown
from mud_assistant.assistant.surfaces.replay.again import Again
from mud_assistant.assistant.surfaces.replay.transcript import call_text
from mud_assistant.tools import Executed, Status

#: The statuses of calls that were not done at all.
_NOT_DONE = {Status.REFUSED, Status.FORMAT_ERROR}
#: Limits that are reached for reasons outside the run, so that the same answers need not reach them again.
_FROM_OUTSIDE = {Limit.TIME, Limit.BUDGET}


class Compared(Struct, frozen=True):
    """One run then and now: what differs, and remarks for the owner."""

    run: RecordedRun
    again: Again
    differences: tuple[str, ...]
    remarks: tuple[str, ...]


def compared(run: RecordedRun, again: Again) -> Compared:
    """Return what differs between the recorded run and its repetition."""
    if not run.events:
        lost = "what was heard is not in the journal any more: it cannot be run again"
        return Compared(run, again, (lost,), ())
    run = in_whole_answers(run)
    found = [*_steps(run, again), *_end(run, again)]
    return Compared(run, again, tuple(found), tuple(_remarks(run, again)))


def was_cut_off(outcome: Outcome | None) -> bool:
    """Tell whether something outside ended the run, or it has not ended."""
    if isinstance(outcome, LimitReached):
        return outcome.limit in _FROM_OUTSIDE
    return outcome is None or isinstance(outcome, Failed | Cancelled)


def _steps(run: RecordedRun, again: Again) -> Iterator[str]:
    last = run.steps[-1] if run.steps else None
    for then, now in zip(run.steps, again.steps, strict=False):
        may_be_cut = then is last and was_cut_off(run.outcome)
        yield from _calls(then, now.executed, may_be_cut=may_be_cut)
    if again.unused:
        yield f"only {len(again.steps)} of {len(run.steps)} steps would be made now"


def _calls(step: RecordedStep, executed: tuple[Executed, ...], *, may_be_cut: bool) -> Iterator[str]:
    then_by_index = {call.index: call for call in step.calls}
    for index, now in enumerate(executed):
        then = then_by_index.pop(index, None)
        where = f"step {step.number}, {name_shown(now.call.name)}"
        if then is None:
            yield f"{where}: is called now, and was not then"
        elif sentence := _changed(then, now) or _came_otherwise(then, now, may_be_cut=may_be_cut):
            yield f"{where}: {sentence}"
    for gone in then_by_index.values():
        yield f"step {step.number}: {call_text(gone.call)} was called then, and would not be called now"


def _changed(then: RecordedCall, now: Executed) -> str:
    """Say how the call itself differs, as the answer was edited or is read differently. Empty when it does not."""
    if then.call is None or (then.call.name, exact(then.call.arguments)) == (now.call.name, exact(now.call.arguments)):
        return ""
    return f"now it is {call_text(now.call)}, and then it was {call_text(then.call)}"


def _came_otherwise(then: RecordedCall, now: Executed, *, may_be_cut: bool) -> str:
    """Say how the result of the call differs, empty when it does not."""
    before, why = _status(then), shown(now.result.text)
    not_done_then = before in {"not done", *_NOT_DONE}
    not_done_now = now.status in _NOT_DONE
    if before == now.status or (not_done_then and not_done_now) or (before == "not done" and may_be_cut):
        return ""
    if now.category is None:
        return f"was {before} then; this tool is not there any more"
    if now.status is Status.REFUSED:
        return f"was {before} then, and would be refused now: {why}"
    if now.status is Status.FORMAT_ERROR:
        return f"was {before} then, and its arguments would not be taken now: {why}"
    if not_done_then:
        return "was refused then, or its arguments did not fit, and would be done now"
    if before == "unknown":
        return ""  # it is unknown what happened then, and the call would be tried now as well
    return f"was {before} then, and would be {now.status} now: {why}"


def _status(then: RecordedCall) -> str:
    if then.executed is not None:
        return then.executed.status
    return "unknown" if then.begun else "not done"


def _end(run: RecordedRun, again: Again) -> Iterator[str]:
    if was_cut_off(run.outcome) or run.outcome is None:
        return
    then, now = outcome_text(run.outcome), outcome_text(again.outcome)
    if again.ended_early:
        yield f"then it ended ({then}); now the model would be asked once more"
    elif _key(run.outcome) != _key(again.outcome):
        yield f"ended otherwise: then {then}; now {now}"


def _key(outcome: Outcome) -> object:
    """Return a key that is equal for two outcomes that count as the same."""
    match outcome:
        case Answered(acts):
            return ("answered", *acts)
        case LimitReached(limit):
            return limit
        case NothingToDo():
            return "nothing"
        case _:
            return outcome


def _remarks(run: RecordedRun, again: Again) -> Iterator[str]:
    if not was_cut_off(run.outcome):
        return
    how = "it did not end" if run.outcome is None else outcome_text(run.outcome)
    if again.ended_early:
        yield f"then: {how}. {again.ended_early[0].upper()}{again.ended_early[1:]}, so it was run again up to there"
    else:
        yield f"then: {how}. With the recorded answers it now ends: {outcome_text(again.outcome)}"


def compared_text(result: Compared) -> str:
    """Return one run's comparison as lines."""
    word = "differs" if result.differences else "as it was"
    steps = len(result.again.steps)
    who = name_shown(result.run.name or result.run.assistant)
    lines = [f"{result.run.id}  {who}  {word}, {steps} step{'' if steps == 1 else 's'}"]
    lines += [f"  differs: {difference}" for difference in result.differences]
    return "\n".join(lines + [f"  ({remark})" for remark in result.remarks])


def compared_json(result: Compared) -> str:
    """Return one run's comparison as one object on one line."""
    return exact(
        {
            "run": result.run.id,
            "assistant": result.run.assistant,
            "name": result.run.name,
            "differs": bool(result.differences),
            "differences": result.differences,
            "remarks": result.remarks,
            "steps": len(result.again.steps),
        }
    )
