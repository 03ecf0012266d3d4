"""Reads calls written as tags: with their names in them, or as XML elements named like the tool.

Names are in `<function=NAME>`, `<invoke name="NAME">`, before GLM's `<arg_key>`, and in the `<tool_name>` of Claude 2's
`<invoke>`. The prefix of a tag (`minimax:`, the bars of DeepSeek) varies and is ignored. Values are untyped text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from mud_assistant.llm.fallback.drafts import Candidate, Draft, Offer, Reading, merge_readings
from mud_assistant.llm.loose_json.repair import clean_text, value_at
from mud_assistant.llm.loose_json.tokens import WorkBudget
from mud_assistant.llm.messages import JSON

_PREFIX = r"(?:[\w.\-]{1,20}+:|[\uff5c|]\w{1,20}+[\uff5c|])?+"
_ATTRIBUTE = r"(?:\s*+=\s*+|\s++name\s*+=\s*+)[\"']?"
_CLOSER = rf"</{_PREFIX}(?:function|invoke|tool_call|function_calls?|tool_calls)\s*+>"
_BRACE = re.compile(r"\s*+(?=\{)")
_CHILD = re.compile(r"\s*+<(?P<key>[\w.\-]{1,128}+)\s*+>")
_TAG_ATTRIBUTE = re.compile(
    r"\s++(?P<key>[\w.\-]{1,128}+)\s*+=\s*+(?:\"(?P<double>[^\"<>]*+)\"|'(?P<single>[^'<>]*+)')"
)
_INVOKE = re.compile(
    r"<invoke>\s*+<tool_name>\s*+(?P<name>[^<>\s]{1,128}+)\s*+</tool_name>\s*+(?:<(?:parameters|input)>)?+"
)
_BLANK = re.compile(r"\s*+")
_LONGEST_TAG = 2000


class Shape(Struct, frozen=True):
    """One family of tags. `opening` begins a call and `key` an argument; `ending` is where the argument's value ends.

    A call without arguments counts only when it is closed. The shape is tried only in a text that has one of the cues.
    """

    cues: tuple[str, ...]
    opening: re.Pattern[str]
    key: re.Pattern[str]
    ending: re.Pattern[str]
    closer: re.Pattern[str]


ATTRIBUTED = Shape(
    cues=("<function", "invoke"),
    opening=re.compile(
        rf"<{_PREFIX}(?:function|invoke){_ATTRIBUTE}(?P<name>[^\s\"'<>=]{{1,128}}+)[\"']?\s*+/?>", re.IGNORECASE
    ),
    key=re.compile(
        rf"\s*+<{_PREFIX}param(?:eter)?{_ATTRIBUTE}(?P<key>[^\s\"'<>=]{{1,128}}+)[\"']?"
        r"(?:\s++string\s*+=\s*+\"(?P<text>true|false)\")?[^<>]{0,100}+>"
    ),
    ending=re.compile(rf"</{_PREFIX}param(?:eter)?\s*+>|(?=<{_PREFIX}param(?:eter)?[\s=])|(?={_CLOSER})"),
    closer=re.compile(rf"\s*+{_CLOSER}"),
)
GLM = Shape(
    cues=("<arg_key>", "tool_call>"),
    opening=re.compile(r"(?<![\w.\-:])(?P<name>[\w.\-:]{1,128}+)(?=\s*+(?:<arg_key>|</tool_call>))"),
    key=re.compile(r"\s*+<arg_key>(?P<key>[^<>]{1,128}+)</arg_key>\s*+<arg_value>(?P<text>)"),
    ending=re.compile(r"</arg_value>|(?=<arg_key>)|(?=</tool_call>)"),
    closer=re.compile(r"\s*+</tool_call>"),
)
SHAPES = (ATTRIBUTED, GLM)
#: How many characters around a call are looked at.
_NEAR = 40


class _Body(Struct, frozen=True):
    """What stands between the name of a call and its end: an object, or texts by key.

    `cut`: the text breaks it off. `closed`: its end is in the text. A text is marked True when the schema is not needed
    to type it.
    """

    end: int
    cut: bool
    closed: bool = True
    value: JSON = None
    texts: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    repaired: bool = False


def read_tags(text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None) -> Reading:
    """Read every call whose name and keys are in tags."""
    budget = budget or WorkBudget(len(text))
    shapes = [shape for shape in SHAPES if any(cue in text for cue in shape.cues)]
    return merge_readings((_read(shape, text, offer, complete, budget) for shape in shapes), len(text))


def _read(shape: Shape, text: str, offer: Offer, complete: bool, budget: WorkBudget) -> Reading:
    candidates: list[Candidate] = []
    position = 0
    while (match := shape.opening.search(text, position)) and budget.attempt():
        position = match.end()
        body = _object(text, position, budget, complete) or _pairs(shape, text, position, complete)
        if body.cut:
            return Reading(tuple(candidates), cut=match.start())
        if draft := _draft(match, body, offer):
            position = body.end
            candidates.append(Candidate(match.start(), body.end, (draft,), body.repaired))
    return Reading(tuple(candidates))


def _object(text: str, at: int, budget: WorkBudget, complete: bool) -> _Body | None:
    brace = _BRACE.match(text, at)
    value = value_at(text, brace.end(), budget, complete=complete) if brace else None
    return _Body(value.end, value.cut, value=value.value, repaired=value.repaired) if value else None


def _pairs(shape: Shape, text: str, at: int, complete: bool) -> _Body:
    texts: dict[str, tuple[str, bool]] = {}
    open_text = ""
    while key := shape.key.match(text, at):
        ending = shape.ending.search(text, key.end())
        at = ending.end() if ending else len(text)
        value = text[key.end() : ending.start() if ending else at]
        texts[clean_text(key["key"].strip())] = value, key["text"] == "true"
        open_text = "" if ending else value
    if closer := shape.closer.match(text, at):
        return _Body(closer.end(), cut=False, texts=texts)
    at_end = not text[at : at + _NEAR].strip() and not text[at:].strip()
    cut = (bool(texts) or at_end) and not complete
    return _Body(at, cut or "\n" in open_text.strip(), closed=at_end, texts=texts)


def _draft(match: re.Match[str], body: _Body, offer: Offer) -> Draft | None:
    """Return the call, its texts typed by the tool's schema, or None when nothing shows that it is a call."""
    name = match["name"]
    if body.texts:
        done = {key: clean_text(text) for key, (text, is_done) in body.texts.items() if is_done}
        texts = {key: text for key, (text, is_done) in body.texts.items() if not is_done}
        return offer.draft(name, {**offer.convert(name, texts), **done})
    if body.value is not None:
        return offer.draft(name, body.value)
    tagged = match.group().startswith("<") or _is_opened(match)
    return offer.draft(name, {}) if body.closed and (tagged or offer.match(name)) else None


def _is_opened(match: re.Match[str]) -> bool:
    start = match.start()
    return match.string[max(0, start - _NEAR) : start].rstrip().endswith("<tool_call>")


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
        if draft := _element_draft(match["name"], text[match.end() : end], offer):
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
            draft = _element_draft(name, text[start + 1 : closing], offer, attributes)
        if draft:
            candidates.append(Candidate(match.start(), end, (draft,)))
            position = end
    return Reading(tuple(candidates))


def _attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag, and the place where the tag should end."""
    given: dict[str, str] = {}
    while match := _TAG_ATTRIBUTE.match(text, at, at + _LONGEST_TAG):
        given[match["key"]] = match["double"] if match["single"] is None else match["single"]
        at = match.end()
    blank = _BLANK.match(text, at)
    return given, blank.end() if blank else at


def _element_draft(name: str, body: str, offer: Offer, attributes: dict[str, str] | None = None) -> Draft | None:
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
