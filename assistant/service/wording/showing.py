"""Turns what happened in a trial into lines of text or JSON. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

import orjson

from mud_assistant.assistant.events.outcome import Answered, Cancelled, Failed, LimitReached, NothingToDo, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.loop.speech.screening import scrub_json
from mud_assistant.llm import CallRecord, Usage
from mud_assistant.llm.messages import JSON
from mud_assistant.llm.modes.capabilities import CallOutcome
from mud_assistant.tools import Executed, Person, Scene
from mud_assistant.tools.text.clean import clean_heard, clean_speech

#: How many characters of a text or a result a trace shows.
_SHOWN = 300


def scene_text(scene: Scene) -> str:
    """Describe a room as a player reads it."""
    lines = [scene.room, scene.description]
    if scene.things:
        lines.append("You see: " + ", ".join(thing.name for thing in scene.things) + ".")
    if scene.carried:
        lines.append("You carry: " + ", ".join(thing.name for thing in scene.carried) + ".")
    if scene.people:
        lines.append("Here: " + ", ".join(_person(person) for person in scene.people) + ".")
    if scene.exits:
        lines.append("Exits: " + ", ".join(scene.exits) + ".")
    return "\n".join(lines)


def who_text(people: Sequence[Person]) -> str:
    """List everybody in the place; assistants are marked as AI."""
    return "In the hamlet: " + ", ".join(_person(person) for person in people) + "."


def trace_text(trace: StepTrace) -> str:
    """Describe one step: what was sent, what came back, each call with its result, time and tokens."""
    response = trace.response
    came = f"{response.provider}/{response.model}, {response.finish_reason}, {_usage(response.usage)}"
    lines = [
        f"  [{trace.run_id} step {trace.step}] sent {trace.messages} messages, about {trace.prompt_tokens} tokens",
        f"    {came}{', calls read from text' if response.from_fallback else ''}, {trace.seconds:.1f} s",
        f"    {_record_text(trace.record)}",
    ]
    if response.reasoning:
        lines.append(f"    thought: {_short(response.reasoning)}")
    if response.content:
        lines.append(f"    text: {_short(response.content)}")
    lines += [_call_text(done) for done in trace.executed]
    return "\n".join(lines)


def outcome_text(run_id: str, outcome: Outcome) -> str:
    """Say in a few words how a run ended."""
    match outcome:
        case Answered(acts):
            word = "answered with " + ", ".join(acts)
        case NothingToDo(cause):
            word = f"nothing to do{f': {cause}' if cause else ''}"
        case LimitReached(limit, cause):
            word = f"limit reached: {limit}{f' ({cause})' if cause else ''}"
        case Failed():
            word = f"failed: {outcome.cause}"
        case Cancelled():
            word = "cancelled"
        case _:
            assert_never(outcome)
    return f"  [{run_id}] {word}"


def trace_json(trace: StepTrace, scrub: Callable[[str], str] = str) -> str:
    """Return one step as one JSON object on one line, without the keys that `scrub` knows."""
    response, usage = trace.response, trace.response.usage
    return orjson.dumps(
        scrub_json(
            {
                "run": trace.run_id,
                "step": trace.step,
                "provider": response.provider,
                "model": response.model,
                "sent": {"messages": trace.messages, "tokens_estimated": trace.prompt_tokens},
                "text": response.content,
                "reasoning": response.reasoning,
                "finish_reason": response.finish_reason,
                "calls_from_text": response.from_fallback,
                "calls": [_call_json(done) for done in trace.executed],
                "usage": {
                    "input_tokens": usage.input_tokens,
                    "output_tokens": usage.output_tokens,
                    "cached_tokens": usage.cached_tokens,
                    "cost": usage.cost,
                },
                "seconds": round(trace.seconds, 3),
            },
            scrub,
        )
    ).decode()


def spoken_lines(text: str) -> str:
    """Return a character's words safe for the terminal: nothing in them can move the cursor or forge a line."""
    return "\n  ".join(clean_speech(text).split("\n"))


def _person(person: Person) -> str:
    return f"{person.name} (AI)" if person.is_ai else person.name


def _usage(usage: Usage) -> str:
    if usage.total_tokens is None:
        return "tokens not reported"
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    cost = f", cost {usage.cost:.6f}" if usage.cost is not None else ""
    return f"{_number(usage.input_tokens)} tokens in{cached}, {_number(usage.output_tokens)} out{cost}"


def _number(count: int | None) -> str:
    return "?" if count is None else str(count)


def _call_text(done: Executed) -> str:
    arguments = orjson.dumps(done.call.arguments).decode()
    head = f"    {done.call.name} {_short(arguments)} -> {done.status} in {done.seconds:.2f} s"
    return f"{head}: {_short(done.result.text)}"


def _call_json(done: Executed) -> dict[str, JSON]:
    return {
        "tool": done.call.name,
        "arguments": done.call.arguments,
        "status": done.status,
        "result": done.result.text,
        "seconds": round(done.seconds, 3),
    }


def _record_text(record: CallRecord) -> str:
    """Say how the model's last calls came out, and in which way it is asked because of that."""
    kinds = (CallOutcome.VALID, CallOutcome.REPAIRED, CallOutcome.FAILED)
    valid, repaired, failed = (record.count(kind) for kind in kinds)
    return f"its last calls: {valid} valid, {repaired} repaired, {failed} failed; asked by way of: {record.style}"


def _short(text: str) -> str:
    return clean_heard(text, _SHOWN)
