"""Reads ReAct calls: `Action: NAME`, and on the next line `Action Input:` with JSON or text."""

from __future__ import annotations

import re

from llm.fallback.drafts import ABSENT, Absent, Candidate, Offer, Reading
from llm.loose_json.repair import Value, value_at
from llm.loose_json.tokens import WorkBudget
from llm.messages import JSON

_ACTION = re.compile(
    r"^[ \t*]{0,4}Action[ \t]{0,4}:[ \t*]{0,4}[`\"']?(?P<name>[\w.\-]{1,128}+)[`\"']?(?:\(\))?[ \t*]{0,4}\r?\n"
    r"\s{0,8}\*{0,2}Action[ _]Input[ \t]{0,4}:[ \t*]{0,4}",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"\s*+(?:```[ \t]*+\w*+\s*+)?+(?=\{)")
_STOP = re.compile(r"\n\s{0,8}\*{0,2}(?:Observation|Thought|Action|Final Answer)\b|\n[ \t]{0,8}\r?\n", re.IGNORECASE)
#: What the model may invent after its call: the result, and what it would do next.
_OBSERVATION = re.compile(r"[\s`*]*+Observation\s{0,4}:", re.IGNORECASE)
_NOTHING = frozenset({"", "none", "n/a", "null", "()"})
_QUOTES = "\"'`"


def read_react(text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None) -> Reading:
    """Read every action of the text. What follows an observation that the model invented is left out as well."""
    budget = budget or WorkBudget(len(text))
    candidates: list[Candidate] = []
    behind = 0
    for match in _ACTION.finditer(text):
        if match.start() < behind or not budget.attempt():
            continue
        value = _input(text, match.end(), budget, complete)
        if value is None:
            continue
        if value.cut:
            return Reading(tuple(candidates), cut=match.start())
        given: JSON | Absent = ABSENT if value.value is None else value.value
        draft = offer.draft(match["name"], given)
        if draft is None:
            continue
        behind = len(text) if _OBSERVATION.match(text, value.end) else value.end
        candidates.append(Candidate(match.start(), behind, (draft,), value.repaired))
    return Reading(tuple(candidates))


def _input(text: str, at: int, budget: WorkBudget, complete: bool) -> Value | None:
    """Return the object after `Action Input:`, else the text up to the next part. Its value is None when empty."""
    if fence := _FENCE.match(text, at):
        return value_at(text, fence.end(), budget, complete=complete)
    stop = _STOP.search(text, at)
    end = stop.start() if stop else len(text)
    return Value(_plain(text[at:end]), end, cut=stop is None and not complete)


def _plain(text: str) -> str | None:
    plain = text.strip()
    if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in _QUOTES:
        plain = plain[1:-1]
    return None if plain.lower() in _NOTHING else plain
