"""Turns what a journal holds into a transcript, in words for an owner. Pure.

A stranger's text is on one line and cannot control the terminal.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from mud_assistant.assistant.events.events import format_event
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.page.reading.recorded import (
    ParkedEvent,
    RecordedCall,
    RecordedRun,
    RecordedStep,
    UnknownCall,
)
from mud_assistant.assistant.page.reading.wording import ended, name_shown, plain_form, shown
from mud_assistant.llm import ToolCall, Usage
from mud_assistant.tools.policy.decide import NOT_RUN


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


def run_usage(run: RecordedRun) -> Usage:
    """Return the usage of all answers of the run together."""
    return sum((step.response.usage for step in run.steps if step.response), Usage())


def usage_text(usage: Usage) -> str:
    """Describe tokens and cost in a few words."""
    if usage.total_tokens is None:
        return "tokens not reported"
    cost = f", cost {usage.cost:.6f}" if usage.cost is not None else ""
    return f"{_number(usage.input_tokens)} tokens in, {_number(usage.output_tokens)} out{cost}"


def _number(count: int | None) -> str:
    return "?" if count is None else str(count)


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


def moment(at: float) -> str:
    """Return seconds since 1970 as a date and time."""
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "at a time that cannot be read"


def heard(accepted: Accepted | None) -> str:
    """Return the event as the prompt shows it."""
    return "an event that cannot be read" if accepted is None else shown(format_event(accepted.event))


def call_text(call: ToolCall | None) -> str:
    """Return the call with its arguments."""
    if call is None:
        return "a call that cannot be read"
    return f"{name_shown(call.name)} {shown(json.dumps(call.arguments, default=plain_form, ensure_ascii=False))}"


def came_to(run: RecordedRun, call: RecordedCall) -> str:
    """Say what became of a call."""
    if call.executed is not None:
        done = call.executed
        if done.rule in NOT_RUN:
            return f"{done.status}, not done: {shown(done.result.text)}"
        return f"{done.status} in {done.seconds:.2f} s: {shown(done.result.text)}"
    if call.call is not None and call.call.problem:
        return f"not done: {shown(call.call.problem)}"
    if call.begun:
        return "begun; its result is not known" + ("" if run.closed_at is None else ": it may or may not have happened")
    if run.closed_at is None:
        return "not begun"
    return "not done: refused, or its arguments did not fit"
