"""Turns what a journal holds into a transcript. Pure."""

from __future__ import annotations

from assistant.surfaces.replay.plain import call_text, came_to, ended, heard, moment, name_shown, shown
from assistant.surfaces.replay.recorded import ParkedEvent, RecordedRun, RecordedStep, UnknownCall
from llm import Usage


def run_text(run: RecordedRun) -> str:
    """Describe one run: when, whose, what was heard, each step, how it ended, what it used."""
    lines = [f"{run.id}  {moment(run.opened_at)}  {name_shown(run.name or run.assistant)}"]
    lines += [f"  heard: {heard(accepted)}" for accepted in run.events] or ["  heard: nothing that is still there"]
    for step in run.steps:
        lines += _step_lines(run, step)
    if run.unreadable:
        lines.append(f"  {run.unreadable} records of this run cannot be read")
    took = "" if run.closed_at is None else f", {max(0.0, run.closed_at - run.opened_at):.1f} s"
    lines.append(f"  -> {ended(run)}; {usage_text(run_usage(run))}{took}")
    return "\n".join(lines)


def run_usage(run: RecordedRun) -> Usage:
    """Return the usage of all answers of the run together."""
    return sum((step.response.usage for step in run.steps if step.response), Usage())


def usage_text(usage: Usage) -> str:
    """Describe tokens and cost in a few words."""
    if usage.total_tokens is None:
        return "tokens not reported"
    cost = f", cost {usage.cost:.6f}" if usage.cost is not None else ""
    return f"{_number(usage.input_tokens)} tokens in, {_number(usage.output_tokens)} out{cost}"


def parked_text(parked: ParkedEvent) -> str:
    """Describe one parked event."""
    return (
        f"{name_shown(parked.event_id)}  {name_shown(parked.name or parked.assistant)}\n"
        f"  heard: {heard(parked.accepted)}\n  parked: {shown(parked.reason)}"
    )


def unknown_text(unknown: UnknownCall) -> str:
    """Describe one call of which it is unknown whether it happened."""
    return (
        f"{unknown.run_id} step {unknown.step}  {moment(unknown.at)}  {name_shown(unknown.name or unknown.assistant)}\n"
        f"  {call_text(unknown.call)}: begun; it may or may not have happened"
    )


def _step_lines(run: RecordedRun, step: RecordedStep) -> list[str]:
    response = step.response
    if response is None:
        lines = [f"  step {step.number}: the answer cannot be read"]
    elif step.is_beginning:
        lines = [f"  step {step.number}: the beginning of an answer, before the rest of it came"]
    else:
        how = ", calls read from its text" if response.from_fallback else ""
        who = f"{name_shown(response.provider)}/{name_shown(response.model)}"
        lines = [f"  step {step.number}: {who}, {response.finish_reason}, {usage_text(response.usage)}{how}"]
        if response.reasoning:
            lines.append(f"    thought: {shown(response.reasoning)}")
        if response.content:
            lines.append(f"    text: {shown(response.content)}")
    return lines + [f"    {call_text(call.call)} -> {came_to(run, call)}" for call in step.calls]


def _number(count: int | None) -> str:
    return "?" if count is None else str(count)
