"""Looks at what reports no change by itself: states, circuits, requests for leave, what was spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct, structs

from mud_assistant.assistant.loop.spending import TOTAL
from mud_assistant.assistant.page.live.describing import approval_data
from mud_assistant.assistant.page.values.live import LiveKind
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.resilience import Amount
from mud_assistant.resilience.snapshot import UpstreamState
from mud_assistant.tools import Pending

#: The kind of an event, the assistant it is of (empty for all), and its data.
Change = tuple[LiveKind, str, dict[str, Any]]


class Sighting(Struct, frozen=True):
    """What was seen at one moment. Money is by assistant, "" stands for all; requests by assistant and number."""

    states: Mapping[str, tuple[str, str]]
    circuits: Mapping[str, UpstreamState]
    approvals: Mapping[tuple[str, int], Pending]
    spent: Mapping[str, Amount]


def look(service: AssistantService) -> Sighting:
    """Look at everything now."""
    parts, ids = service.parts, list(service.runners)
    spent = {me: parts.ledger.spent(me) for me in ids}
    spent[""] = parts.ledger.spent(TOTAL)
    waiting = {(me, one.number): one for me, asked in parts.approvals.items() for one in asked.pending()}
    states = {me: (state_of(runner), runner.trouble) for me, runner in service.runners.items()}
    return Sighting(states, {one.origin: one for one in service.pipeline.servers()}, waiting, spent)


def without_words(seen: Sighting, me: str) -> Sighting:
    """Return what was seen, without the words and names in this assistant's requests for leave."""
    approvals = {
        key: replace(one, shown="", because="", requester=None) if key[0] == me else one
        for key, one in seen.approvals.items()
    }
    return structs.replace(seen, approvals=approvals)


def state_of(runner: AssistantRunner) -> str:
    """Return the state of an assistant in one word, emergency before all others."""
    return "emergency" if runner.emergency else runner.state.value


def changes(before: Sighting, now: Sighting, seconds: float, scrub: Callable[[str], str]) -> Iterator[Change]:
    """Yield what is different now, at clock second `seconds`."""
    for me in {**before.states, **now.states}:
        was, (state, trouble) = before.states.get(me, ("off", "")), now.states.get(me, ("off", ""))
        if was != (state, trouble):
            yield LiveKind.STATE, me, {"state": state, "was": was[0], "trouble": scrub(trouble)}
    for origin, server in now.circuits.items():
        known = before.circuits.get(origin)
        was_state = "unknown" if known is None else known.state.value
        if was_state != server.state.value:
            yield LiveKind.CIRCUIT, "", {**circuit_data(server), "was": was_state}
    yield from _of_approvals(before.approvals, now.approvals, seconds, scrub)
    for me, amount in now.spent.items():
        if before.spent.get(me, Amount()) != amount:
            yield LiveKind.SPENT, me, dict(amount.plain())


def _of_approvals(
    before: Mapping[tuple[str, int], Pending],
    now: Mapping[tuple[str, int], Pending],
    seconds: float,
    scrub: Callable[[str], str],
) -> Iterator[Change]:
    for key in now.keys() - before.keys():
        yield LiveKind.APPROVAL, key[0], approval_data("new", now[key], seconds, scrub)
    for key in before.keys() - now.keys():
        what = "expired" if seconds >= before[key].expires_at else "decided"
        yield LiveKind.APPROVAL, key[0], approval_data(what, before[key], seconds, scrub)


def circuit_data(server: UpstreamState) -> dict[str, Any]:
    """Describe the circuit of a server."""
    return {
        "origin": server.origin,
        "circuit": server.state.value,
        "open_for": round(server.open_for, 1),
        "failures_in_a_row": server.failures_in_a_row,
    }
