"""What all readers of tool calls in text share: the offered tools, drafts of calls, and their places in the text.

A tool is found by the name the model wrote. Untyped text values, as XML-like formats have them, are typed by the tool's
schema; that never raises.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Protocol

from msgspec import Struct

from mud_assistant.llm.loose_json.repair import UnreadableJSON, clean_text, parse_value
from mud_assistant.llm.loose_json.tokens import WorkBudget
from mud_assistant.llm.messages import JSON, ToolSpec

_WORDS: dict[str, JSON] = {"true": True, "false": False}
_NULLS = frozenset({"null", "none", ""})
_INTEGER = re.compile(r"[+-]?\d{1,18}(?:\.0{1,18})?")
_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?")
_FEW_LEVELS = 4
_MAX_CHARS = 200
_RECIPIENT = re.compile(r"\bto=(\S+)")
_MARK = re.compile(r"<\|[^|<>]{0,40}\|>")
_EMPTY_CALL = re.compile(r"\s*\(\s*\)\s*\Z")
_CALL_NUMBER = re.compile(r":\d+\Z")
_NAMESPACE = re.compile(r"\A(?:functions?|tools?|default_api|api)[.:]", re.IGNORECASE)
_WRAPPING = " \t\r\n\"'`\u201c\u201d\u2018\u2019"
_TYPE_NAMES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


class Absent(Enum):
    """A mark that a call names no arguments at all, which is not the same as null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class Draft(Struct, frozen=True):
    """A call as it was found. `known` is False for a tool that was not offered."""

    name: str
    arguments: dict[str, JSON]
    problem: str = ""
    reasoning: str = ""
    known: bool = True


class Candidate(Struct, frozen=True):
    """A value in the text from `start` to `end`, and the calls in it. JSON that is not a call has none."""

    start: int
    end: int
    drafts: tuple[Draft, ...]
    repaired: bool = False


class Reading(Struct, frozen=True):
    """What one reader found, in order. `cut` is where a value begins that the text breaks off, or None."""

    candidates: tuple[Candidate, ...] = ()
    cut: int | None = None


class Reader(Protocol):
    """A reader of the calls of one family of formats."""

    def __call__(self, text: str, offer: Offer, complete: bool, budget: WorkBudget | None = None, /) -> Reading:
        """Read the text. `complete` is False when the token limit ended it; `budget` counts the effort."""


class Offer:
    """The tools a model was offered. Turns what the model wrote into a call of one of them."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tuple(tools)
        self._tools = {tool.name: tool for tool in tools}

    def match(self, name: str) -> str | None:
        """Return the offered tool that the name stands for."""
        return match_name(name, self._tools)

    def sole_required(self, name: str) -> str | None:
        """Return the one required parameter of an offered tool, or None when it has none or several."""
        required = self._tools[name].parameters.get("required")
        if isinstance(required, list | tuple) and len(required) == 1 and isinstance(required[0], str):
            return required[0]
        return None

    def properties(self, name: str) -> dict[str, JSON]:
        """Return the schemas of an offered tool's parameters, by name."""
        properties = self._tools[name].parameters.get("properties")
        return dict(properties) if isinstance(properties, Mapping) else {}

    def convert(self, name: str, texts: Mapping[str, str]) -> dict[str, JSON]:
        """Convert texts to the types of a tool's parameters. For an unknown tool they stay as they are."""
        known = self.match(name)
        schemas = self.properties(known) if known else {}
        return {clean_text(key): convert_text(clean_text(text), schemas.get(key)) for key, text in texts.items()}

    @property
    def names(self) -> Collection[str]:
        """The names of the offered tools."""
        return self._tools.keys()

    def draft(self, name: str, arguments: JSON | Absent, reasoning: str = "") -> Draft | None:
        """Return the call, or None when the name is unknown and there is no object of arguments."""
        known = self.match(name)
        if known is None:
            if not name.strip() or not isinstance(arguments, dict):
                return None
            return Draft(clean_text(name.strip()), arguments, reasoning=reasoning, known=False)
        value, problem = self._arguments(known, arguments)
        return Draft(known, value, problem, reasoning)

    def _arguments(self, name: str, given: JSON | Absent) -> tuple[dict[str, JSON], str]:
        """Read the arguments in any form small models use. Return them and what is wrong with them."""
        if isinstance(given, str):
            given = _decode(clean_text(given))
        if given is ABSENT or given is None or isinstance(given, list) or given == "":
            return {}, ""
        if isinstance(given, dict):
            if _echoes_schema(given, self.properties(name)):
                return {}, "the arguments repeat the tool's schema; give values instead"
            return given, ""
        sole = self.sole_required(name)
        if sole is not None and isinstance(given, str | int | float):
            return {sole: given}, ""
        return {}, "" if not self.properties(name) else "the arguments must be a JSON object"


def merge_readings(readings: Iterable[Reading], length: int) -> Reading:
    """Merge what several readers found in one text of `length`. Of two that overlap, keep the one that begins first."""
    marks: list[tuple[int, int, Candidate | None]] = []
    for reading in readings:
        marks += [(found.start, -found.end, found) for found in reading.candidates]
        if reading.cut is not None:
            marks.append((reading.cut, -length, None))
    candidates: list[Candidate] = []
    behind = 0
    for start, _, found in sorted(marks, key=lambda mark: mark[:2]):
        if start < behind:
            continue
        if found is None:
            return Reading(tuple(candidates), cut=start)
        candidates.append(found)
        behind = found.end
    return Reading(tuple(candidates))


def match_name(name: str, known: Collection[str]) -> str | None:
    """Return the one known tool that `name` stands for. None when there is none, or more than one.

    Tried in turn: the name itself; without blanks, quotes and `<|marks|>`; without `()`, `:0` and `functions.`; and
    each of these in any case.
    """
    if name in known:
        return name
    if len(name) > _MAX_CHARS:
        return None
    for form in _forms(name):
        if form in known:
            return form
        same = [tool for tool in known if tool.casefold() == form.casefold()]
        if same:
            return same[0] if len(same) == 1 else None
    return None


def convert_text(text: str, schema: JSON) -> JSON:
    """Return the value that the text stands for by the schema of one property, or the text when it fits no type."""
    types = set(_types(schema, _FEW_LEVELS))
    bare = text.strip()
    if "null" in types and bare.lower() in _NULLS:
        return None
    if not types or "string" in types:
        return strip_line_breaks(text)
    if "integer" in types and _INTEGER.fullmatch(bare):
        return int(bare.partition(".")[0])
    if "number" in types and _NUMBER.fullmatch(bare):
        return int(bare) if _INTEGER.fullmatch(bare) and "." not in bare else float(bare)
    if "boolean" in types and bare.lower() in _WORDS:
        return _WORDS[bare.lower()]
    return _container(bare, types) if types & {"array", "object"} else strip_line_breaks(text)


def strip_line_breaks(text: str) -> str:
    """Return the text without one line break at its start and one at its end, where the tags are."""
    return text.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")


def _container(bare: str, types: set[str]) -> JSON:
    try:
        parsed = parse_value(bare, complete=True)
    except UnreadableJSON:
        return bare
    wanted = tuple(kind for name, kind in (("array", list), ("object", dict)) if name in types)
    return parsed.value if isinstance(parsed.value, wanted) and not bare[parsed.end :].strip() else bare


def _types(schema: JSON, levels: int) -> Iterator[str]:
    """Yield every type that the schema allows at its top level."""
    if not isinstance(schema, Mapping) or not levels:
        return
    kind = schema.get("type")
    yield from (name for name in (kind if isinstance(kind, list | tuple) else [kind]) if isinstance(name, str))
    for key in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(key)
        for branch in branches if isinstance(branches, list | tuple) else []:
            yield from _types(branch, levels - 1)


def _forms(name: str) -> Iterator[str]:
    """Yield ever barer forms of the name."""
    recipient = _RECIPIENT.search(name)
    form = recipient.group(1) if recipient else name
    parts = [part for part in _MARK.split(form) if part.strip(_WRAPPING)]
    form = parts[0].strip(_WRAPPING) if parts else ""
    yield form
    form = _EMPTY_CALL.sub("", form).strip(_WRAPPING)
    yield form
    form = _CALL_NUMBER.sub("", form)
    yield form
    yield _NAMESPACE.sub("", form).strip(_WRAPPING)


def _decode(text: str) -> JSON:
    """Return the object (or null) that the text holds as JSON, else the text."""
    try:
        value = parse_value(text, complete=True).value
        if isinstance(value, str):
            value = parse_value(value, complete=True).value
    except UnreadableJSON:
        return text.strip()
    return value if isinstance(value, dict) or value is None else text.strip()


def _echoes_schema(arguments: dict[str, JSON], properties: dict[str, JSON]) -> bool:
    """Tell whether the arguments are the tool's schema, whole or property by property."""
    if arguments.get("type") == "object" and isinstance(arguments.get("properties"), dict):
        return "properties" not in properties
    return bool(arguments) and all(
        _is_type(value) and not _is_object(properties.get(key)) for key, value in arguments.items()
    )


def _is_type(value: JSON) -> bool:
    return isinstance(value, dict) and value.get("type") in _TYPE_NAMES


def _is_object(schema: JSON) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "object"
