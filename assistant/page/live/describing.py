"""What each live event says, as plain JSON values (docs/operator-page.md), and what of it a viewer may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

import orjson
from msgspec.structs import replace

from mud_assistant.assistant.events.classify import Attention
from mud_assistant.assistant.events.events import ChannelSaid, Event, audience_of, format_event, spoken_text
from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, LimitReached, NothingToDo, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.page.values.live import LiveEvent, LiveKind
from mud_assistant.tools import Executed, Pending

#: The most characters of an answer, of arguments or a result, and the most calls of one step.
MAX_TEXT, MAX_CALL_TEXT, MAX_CALLS = 4000, 1000, 20

Scrub = Callable[[str], str]
#: The fields of each kind that hold no words. A viewer is sent no others.
_PUBLIC: Mapping[LiveKind, frozenset[str]] = {
    LiveKind.STATE: frozenset({"state", "was", "doing", "run", "snapshot", "assistants", "circuits", "spent"}),
    LiveKind.HEARD: frozenset(
        {"event", "kind", "who", "who_id", "verdict", "importance", "where", "channel", "is_private"}
    ),
    LiveKind.THINKING: frozenset({"step"}),
    LiveKind.STEP: frozenset(
        {"step", "provider", "model", "finish_reason", "input_tokens", "output_tokens", "cached_tokens", "cost"}
        | {"seconds", "prompt_tokens", "calls"}
    ),
    LiveKind.OUTCOME: frozenset({"outcome", "acts", "limit"}),
    LiveKind.APPROVAL: frozenset({"what", "number", "tool", "requester", "requester_id", "expires_in"}),
    LiveKind.SPENT: frozenset({"calls", "tokens", "money"}),
    LiveKind.CIRCUIT: frozenset({"origin", "circuit", "was", "open_for", "failures_in_a_row"}),
}
_PUBLIC_OF_CALL = frozenset({"name", "status", "seconds"})
_PUBLIC_OF_STATE = frozenset({"id", "name", "state", "doing", "run"})


def for_viewer(event: LiveEvent) -> LiveEvent | None:
    """Return the event without words of players and of models; None for one that holds nothing else."""
    public = _PUBLIC.get(event.kind)
    if public is None:
        return None
    data = _only(event.data, public)
    if "calls" in data and event.kind is LiveKind.STEP:
        data["calls"] = [_only(call, _PUBLIC_OF_CALL) for call in data["calls"]]
    if "assistants" in data:
        data["assistants"] = [_only(one, _PUBLIC_OF_STATE) for one in data["assistants"]]
        data["approvals"] = [_only(one, _PUBLIC[LiveKind.APPROVAL]) for one in event.data["approvals"]]
    return replace(event, data=data)


def heard_data(event: Event, attention: Attention, where: str, scrub: Scrub) -> dict[str, Any]:
    """Describe an event that was taken in."""
    return {
        "event": event.id,
        "kind": type(event).__name__.lower(),
        "who": scrub(event.who.name),
        "who_id": event.who.id,
        "text": scrub(cut(spoken_text(event) or format_event(event), MAX_TEXT)),
        "verdict": attention.verdict.value,
        "importance": attention.importance,
        "where": where,
        "channel": event.channel if isinstance(event, ChannelSaid) else "",
        "is_private": audience_of(event) is not None,
    }


def step_data(trace: StepTrace, scrub: Scrub) -> dict[str, Any]:
    """Describe a step that is over."""
    response, usage = trace.response, trace.response.usage
    return {
        "step": trace.step,
        "provider": response.provider,
        "model": response.model,
        "finish_reason": response.finish_reason.value,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost": usage.cost,
        "seconds": round(trace.seconds, 3),
        "prompt_tokens": trace.prompt_tokens,
        "text": cut(scrub(response.content), MAX_TEXT),
        "reasoning": cut(scrub(response.reasoning), MAX_TEXT),
        "calls": [_call_data(done, scrub) for done in trace.executed[:MAX_CALLS]],
    }


def _call_data(done: Executed, scrub: Scrub) -> dict[str, Any]:
    arguments = orjson.dumps(done.call.arguments, option=orjson.OPT_NON_STR_KEYS).decode()
    return {
        "name": done.call.name,
        "arguments": cut(scrub(arguments), MAX_CALL_TEXT),
        "status": done.status.value,
        "result": cut(scrub(done.result.text), MAX_CALL_TEXT),
        "seconds": round(done.seconds, 3),
    }


def outcome_data(outcome: Outcome, scrub: Scrub) -> dict[str, Any]:
    """Describe how a run ended."""
    match outcome:
        case Answered(acts):
            return {"outcome": "answered", "acts": list(acts), "sentence": ""}
        case NothingToDo(cause):
            return {"outcome": "nothing", "acts": [], "sentence": scrub(cause)}
        case LimitReached(limit, cause):
            return {"outcome": "limit", "acts": [], "limit": limit.value, "sentence": scrub(cause)}
        case Failed():
            return {"outcome": "failed", "acts": [], "sentence": cut(scrub(outcome.cause), MAX_CALL_TEXT)}
        case Cancelled():
            return {"outcome": "cancelled", "acts": [], "sentence": ""}
        case _:
            assert_never(outcome)


def approval_data(what: str, pending: Pending, now: float, scrub: Scrub) -> dict[str, Any]:
    """Describe a request for leave. `what` is new, decided, expired or waits."""
    requester = pending.requester
    return {
        "what": what,
        "number": pending.number,
        "tool": pending.tool,
        "shown": cut(scrub(pending.shown), MAX_CALL_TEXT),
        "because": cut(scrub(pending.because), MAX_CALL_TEXT),
        "requester": "" if requester is None else scrub(requester.name),
        "requester_id": "" if requester is None else requester.id,
        "expires_in": max(0.0, round(pending.expires_at - now, 1)),
    }


def cut(text: str, most: int) -> str:
    """Return the text, or its beginning with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _only(data: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name in names}
