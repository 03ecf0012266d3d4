"""Turns what is recorded into JSON for programs: everything, uncut, in plain ASCII."""

from __future__ import annotations

from mud_assistant.assistant.events.events import format_event
from mud_assistant.assistant.events.outcome import Outcome
from mud_assistant.assistant.journal import Accepted
from mud_assistant.assistant.journal.records import OUTCOME
from mud_assistant.assistant.page.reading.recorded import (
    ParkedEvent,
    RecordedCall,
    RecordedRun,
    RecordedStep,
    UnknownCall,
)
from mud_assistant.assistant.page.reading.wording import exact
from mud_assistant.assistant.surfaces.replay.transcript import run_usage
from mud_assistant.llm import ToolCall, Usage


def run_json(run: RecordedRun) -> str:
    """Return one run as one object on one line."""
    return exact(
        {
            "run": run.id,
            "assistant": run.assistant,
            "name": run.name,
            "opened_at": run.opened_at,
            "closed_at": run.closed_at,
            "heard": [heard_object(accepted) for accepted in run.events],
            "steps": [_step(step) for step in run.steps],
            "outcome": outcome_object(run.outcome),
            "usage": _usage(run_usage(run)),
            "unreadable": run.unreadable,
        }
    )


def parked_json(parked: ParkedEvent) -> str:
    """Return one parked event as one object on one line."""
    return exact(
        {
            "assistant": parked.assistant,
            "name": parked.name,
            "event": parked.event_id,
            "heard": heard_object(parked.accepted) if parked.accepted else None,
            "crashes": parked.crashes,
            "reason": parked.reason,
        }
    )


def unknown_json(unknown: UnknownCall) -> str:
    """Return one call of which it is unknown whether it happened, as one object on one line."""
    return exact(
        {
            "assistant": unknown.assistant,
            "name": unknown.name,
            "run": unknown.run_id,
            "step": unknown.step,
            "index": unknown.index,
            **_call(unknown.call),
            "begun_at": unknown.at,
        }
    )


def heard_object(accepted: Accepted) -> dict[str, object]:
    """Return an event as the prompt shows it, with the id of the principal it came from."""
    event, attention = accepted.event, accepted.attention
    return {
        "event": event.id,
        "line": format_event(event),
        "who": event.who.id,
        "verdict": attention.verdict,
        "importance": attention.importance,
    }


def outcome_object(outcome: Outcome | None) -> dict[str, object] | None:
    """Return how a run ended, with its `kind`; None when it has not ended, or its outcome is lost."""
    if outcome is None:
        return None
    fields = OUTCOME.pack(outcome)
    return {"kind": fields.pop("k"), **fields}


def _step(step: RecordedStep) -> dict[str, object]:
    response = step.response
    answer: dict[str, object] = {}
    if response is not None:
        answer = {
            "provider": response.provider,
            "model": response.model,
            "text": response.content,
            "reasoning": response.reasoning,
            "finish_reason": response.finish_reason,
            "calls_from_text": response.from_fallback,
            "is_beginning": response.is_beginning,
            "usage": _usage(response.usage),
        }
    return {
        "step": step.number,
        "readable": response is not None,
        **answer,
        "calls": [_done(call) for call in step.calls],
    }


def _done(call: RecordedCall) -> dict[str, object]:
    """Return a call and its result. Its `status` is None when it was not done, "unknown" when that is unknown."""
    done = call.executed
    return {
        **_call(call.call),
        "status": done.status if done else "unknown" if call.begun else None,
        "result": done.result.text if done else None,
        "seconds": round(done.seconds, 3) if done else None,
    }


def _call(call: ToolCall | None) -> dict[str, object]:
    if call is None:
        return {"tool": None, "arguments": None}
    return {"tool": call.name, "arguments": call.arguments}


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost": usage.cost,
    }
