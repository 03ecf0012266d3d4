"""Types untyped text values, as XML-like formats have them, by the tool's schema. Never raises."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from llm.loose_json.repair import UnreadableJSON, parse_value
from llm.messages import JSON

_WORDS: dict[str, JSON] = {"true": True, "false": False}
_NULLS = frozenset({"null", "none", ""})
_INTEGER = re.compile(r"[+-]?\d{1,18}(?:\.0{1,18})?")
_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,2})?")
_FEW_LEVELS = 4


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
