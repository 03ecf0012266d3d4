"""Reads calls written as XML elements named like the tool, and Claude 2's `<invoke>` with a `<tool_name>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from llm.fallback.drafts import Candidate, Draft, Offer, Reading, merge_readings
from llm.loose_json.tokens import WorkBudget

_CHILD = re.compile(r"\s*+<(?P<key>[\w.\-]{1,128}+)\s*+>")
_ATTRIBUTE = re.compile(r"\s++(?P<key>[\w.\-]{1,128}+)\s*+=\s*+(?:\"(?P<double>[^\"<>]*+)\"|'(?P<single>[^'<>]*+)')")
_INVOKE = re.compile(
    r"<invoke>\s*+<tool_name>\s*+(?P<name>[^<>\s]{1,128}+)\s*+</tool_name>\s*+(?:<(?:parameters|input)>)?+"
)
_BLANK = re.compile(r"\s*+")
_LONGEST_TAG = 2000


def read_elements(text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None) -> Reading:
    """Read every element named like an offered tool, and every `<invoke>` with a `<tool_name>`."""
    readings = []
    budget = budget or WorkBudget(len(text))
    if "</invoke>" in text or "<invoke>" in text:
        readings.append(_invokes(text, offer, complete, budget))
    names = [name for name in offer.names if f"<{name}" in text]
    if names:
        readings.append(_elements(text, names, offer, complete, budget))
    return merge_readings(readings, len(text))


def _invokes(text: str, offer: Offer, complete: bool, budget: WorkBudget) -> Reading:
    candidates: list[Candidate] = []
    position = 0
    while (match := _INVOKE.search(text, position)) and budget.attempt():
        end = text.find("</invoke>", match.end())
        if end < 0:
            return Reading(tuple(candidates), None if complete else match.start())
        position = end + len("</invoke>")
        if draft := _draft(match["name"], text[match.end() : end], offer):
            candidates.append(Candidate(match.start(), position, (draft,)))
    return Reading(tuple(candidates))


def _elements(text: str, names: list[str], offer: Offer, complete: bool, budget: WorkBudget) -> Reading:
    opening = re.compile(rf"<({'|'.join(re.escape(name) for name in names)})(?=[\s/>])")
    unclosed: set[str] = set()
    candidates: list[Candidate] = []
    position = 0
    while (match := opening.search(text, position)) and budget.attempt():
        name = match.group(1)
        position = match.end()
        attributes, start = _attributes(text, position)
        if text.startswith("/>", start):
            end, draft = start + 2, offer.draft(name, offer.convert(name, attributes))
        elif not text.startswith(">", start) or name in unclosed:
            continue
        else:
            closing = text.find(f"</{name}>", start)
            if closing < 0:
                unclosed.add(name)
                if not complete and _CHILD.match(text, start + 1):
                    return Reading(tuple(candidates), cut=match.start())
                continue
            position = end = closing + len(name) + 3
            draft = _draft(name, text[start + 1 : closing], offer, attributes)
        if draft:
            candidates.append(Candidate(match.start(), end, (draft,)))
            position = end
    return Reading(tuple(candidates))


def _attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag, and the place where the tag should end."""
    given: dict[str, str] = {}
    while match := _ATTRIBUTE.match(text, at, at + _LONGEST_TAG):
        given[match["key"]] = match["double"] if match["single"] is None else match["single"]
        at = match.end()
    blank = _BLANK.match(text, at)
    return given, blank.end() if blank else at


def _draft(name: str, body: str, offer: Offer, attributes: dict[str, str] | None = None) -> Draft | None:
    """Return the call of an element. Its children are the arguments; without any, its text is the only one."""
    children = dict(_children(body))
    if children or attributes:
        return offer.draft(name, offer.convert(name, {**(attributes or {}), **children}))
    bare = body.strip()
    if bare in {"", "</parameters>", "</input>"}:
        return offer.draft(name, {})
    return None if bare.startswith("<") else offer.draft(name, bare)


def _children(body: str) -> Iterator[tuple[str, str]]:
    at = 0
    while child := _CHILD.match(body, at):
        closing = f"</{child['key']}>"
        end = body.find(closing, child.end())
        if end < 0:
            return
        yield child["key"], body[child.end() : end]
        at = end + len(closing)
