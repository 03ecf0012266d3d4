"""Reads tool calls written as JSON: objects with a name and arguments, plain, in a list, or under wrapper keys.

Fences, tags and prose around the JSON need no reading: every value in the text is looked at, whatever surrounds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mud_assistant.llm.fallback.drafts import ABSENT, Absent, Candidate, Draft, Offer, Reading
from mud_assistant.llm.loose_json.repair import Parsed, UnreadableJSON, is_cut, parse_value, read_scan
from mud_assistant.llm.loose_json.tokens import Ending, Scan, WorkBudget, scan_value
from mud_assistant.llm.messages import JSON

_NAME_KEYS = ("tool", "name", "function", "action", "tool_name")
_ARGUMENT_KEYS = ("parameters", "arguments", "args", "input", "params")
_REASONING_KEYS = ("reasoning", "thought", "thoughts")
_WRAPPER_KEYS = ("tool_calls", "function_call", "tool_call")
#: A non-empty object; a list of objects, or a list that is a member of an object.
_START = re.compile("\\{(?=\\s*+[\"'\u201c\u201d\u201e\u2018\u2019\\w{/])|\\[(?=\\s*+\\{)|(?<=:)\\[|(?<=:\\s)\\[")
_LAST_KEY = re.compile(r",\s*+\"(?:reasoning|thoughts?)\"\s*+:\s*+\"")
#: A bracket, a line break, or quotes that end a key or a text that another text follows.
_NOT_ONE_TEXT = re.compile(r"[{}\[\]\n]|\"\s*+:|\"\s*+,\s*+\"")
#: How many characters before a value are searched for its key.
_KEY_CHARS = 40


def read_json(text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None) -> Reading:
    """Read every JSON value of the text, with the calls in it. `budget` counts the effort of the search."""
    budget = budget or WorkBudget(len(text))
    candidates: list[Candidate] = []
    position = 0
    while (start := _START.search(text, position)) and budget.attempt():
        scan = scan_value(text, start.start(), budget)
        if _is_member(text, scan.start):
            position = scan.end
            continue
        parsed = read_scan(scan, budget) or _without_reasoning(scan)
        if parsed is None:
            position = scan.end if scan.ending is Ending.TOO_DEEP else scan.start + 1
            continue
        if is_cut(scan, complete=complete):
            return Reading(tuple(candidates), cut=scan.start)
        drafts = tuple(calls_in(parsed.value, offer))
        if drafts or _is_data(parsed.value):
            candidates.append(Candidate(scan.start, scan.end, drafts, parsed.repaired))
        position = scan.end
    return Reading(tuple(candidates))


def _without_reasoning(scan: Scan) -> Parsed | None:
    """Read an object without its last text, the reasoning, when that text has unescaped quotes inside.

    This is done only when everything before it is JSON and the text can only be a single text.
    """
    key = _LAST_KEY.search(scan.source) if scan.ending is Ending.CLOSED and scan.source[0] == "{" else None
    if key is None:
        return None
    said = scan.source[key.end() : -1].rstrip()
    if not said.endswith('"') or _NOT_ONE_TEXT.search(said):
        return None
    try:
        parsed = parse_value(scan.source[: key.start()] + "}", complete=False)
    except UnreadableJSON:
        return None
    return Parsed(parsed.value, scan.end, repaired=True)


def calls_in(value: JSON, offer: Offer) -> Iterator[Draft]:
    """Yield the calls that one JSON value stands for, in order."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from _calls_of(item, offer)
    elif isinstance(value, dict):
        yield from _calls_of(value, offer)


def _calls_of(value: dict[str, JSON], offer: Offer) -> Iterator[Draft]:
    """Yield the calls of one object: those under a wrapper key such as `tool_calls`, else the one it is."""
    for key in _WRAPPER_KEYS:
        wrapped = value.get(key)
        items = wrapped if isinstance(wrapped, list) else [wrapped]
        found = [draft for item in items if isinstance(item, dict) and (draft := _one_call(item, offer))]
        if found:
            yield from found
            return
    draft = _one_call(value, offer) or _keyed_call(value, offer)
    if draft:
        yield draft


def _one_call(value: dict[str, JSON], offer: Offer) -> Draft | None:
    """Return the call in `{"name": …, "arguments": …}`, or in an object under its `function` or `tool`."""
    reasoning = next((text for key in _REASONING_KEYS if isinstance(text := value.get(key), str)), "")
    for key in _NAME_KEYS:
        inner = value.get(key)
        if isinstance(inner, dict) and (name := _name(inner, offer)):
            return offer.draft(name, _arguments(inner), reasoning)
    name = _name(value, offer)
    return offer.draft(name, _arguments(value), reasoning) if name else None


def _keyed_call(value: dict[str, JSON], offer: Offer) -> Draft | None:
    """Return the call of an object whose only key is an offered tool: `{"TOOL": {…}}`."""
    if len(value) != 1:
        return None
    ((key, arguments),) = value.items()
    return offer.draft(key, arguments) if isinstance(arguments, dict) and offer.match(key) else None


def _name(value: dict[str, JSON], offer: Offer) -> str:
    """Return the first value under a name key that names an offered tool, else the first there is."""
    names = [name for key in _NAME_KEYS if isinstance(name := value.get(key), str)]
    return next((name for name in names if offer.match(name)), names[0] if names else "")


def _arguments(value: dict[str, JSON]) -> JSON | Absent:
    return next((value[key] for key in _ARGUMENT_KEYS if key in value), ABSENT)


def _is_member(text: str, at: int) -> bool:
    """Tell whether a key precedes the value. Then it is part of an object that could not be read, not a call."""
    before = text[max(0, at - _KEY_CHARS) : at].rstrip()
    return before.endswith(":") and before[:-1].rstrip().endswith(('"', "'", "\u201d"))


def _is_data(value: JSON) -> bool:
    """Tell whether a value that is not a call counts as JSON at all. `[1]` and `{}` in prose do not."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and item for item in items)
