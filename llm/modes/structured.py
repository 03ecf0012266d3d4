"""Answers that must match a JSON Schema: asked for in words where the provider cannot do it, and always checked.

Plain talk needs the check: its model chooses a deed from an `enum`, and a server may ignore the schema. A pydantic
model validates the value itself. For a schema that is plain JSON no dependency has a checker, so there is one here. It
knows the part of JSON Schema that pydantic writes; keywords it does not know match any value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
from msgspec.structs import replace

from mud_assistant.llm.errors import SchemaMismatch
from mud_assistant.llm.loose_json.repair import UnreadableJSON, parse_value
from mud_assistant.llm.messages import JSON, JSONObject, Message, Role, Text
from mud_assistant.llm.packing.packed import Joined, parts_of, with_first
from mud_assistant.llm.response import FinishReason, LLMResponse

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

#: How many levels of schema and value the checker follows.
MAX_DEPTH = 64
_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"[{\[]")
_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


def with_schema(messages: Sequence[Message], schema: JSONObject) -> Sequence[Message]:
    """Return the messages with a request for JSON of this schema at the end of the first system message."""
    retry_after = (
        "Answer with one JSON value and nothing else: no prose, no code fence. It must match this JSON Schema:\n"
        + orjson.dumps(schema).decode()
    )
    if messages and messages[0].role is Role.SYSTEM:
        return with_first(messages, Message(Role.SYSTEM, (*messages[0].blocks, Text("\n\n" + retry_after))))
    return Joined((Message(Role.SYSTEM, (Text(retry_after),)), *parts_of(messages)))


def parse_structured(response: LLMResponse, schema: JSONObject | type[BaseModel]) -> LLMResponse:
    """Return the response with its value in `structured`, or as it is when it calls tools or was filtered.

    Raises SchemaMismatch when the text is not JSON, was cut off, or does not match.
    """
    if response.has_tool_calls or response.finish_reason is FinishReason.FILTERED:
        return response
    text = response.content
    if response.finish_reason is FinishReason.LENGTH:
        raise _mismatch(response, "the answer was cut off by the length limit")
    try:
        value = _read_value(text)
    except UnreadableJSON as error:
        raise _mismatch(response, f"the answer is not JSON: {error}") from error
    if isinstance(schema, type):
        from pydantic import ValidationError  # noqa: PLC0415  (there already: the schema is a model of it)

        try:
            return replace(response, structured=schema.model_validate(value))
        except ValidationError as error:
            raise _mismatch(response, _first_problem(error)) from None
    if wrong := find_problem(value, schema):
        raise _mismatch(response, wrong)
    return replace(response, structured=value)


def find_problem(value: JSON, schema: JSONObject) -> str:
    """Say how and where the value violates this schema. Empty when it matches."""
    return next(_Checker(schema).problems(value, schema, "$", 0), "")


def is_strict(schema: object) -> bool:
    """Tell whether every object of the schema is closed and requires all its members, as strict vendors demand."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        runners = schema.get("properties") or {}
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(runners):
            return False
    return all(is_strict(part) for part in schema.values())


def _read_value(text: str) -> JSON:
    """Return the one JSON value of an answer. A fence around it and words before an object or list are allowed."""
    fenced = _FENCE.search(text)
    inner = fenced.group(1) if fenced else text
    try:
        parsed = parse_value(inner, complete=True)
    except UnreadableJSON:
        opening = _OPENING.search(inner)
        if opening is None:
            raise
        return parse_value(inner, opening.start(), complete=True).value
    if not isinstance(parsed.value, Mapping | list) and inner[parsed.end :].strip():
        raise UnreadableJSON("there are words behind it")
    return parsed.value


def _mismatch(response: LLMResponse, why: str) -> SchemaMismatch:
    return SchemaMismatch(why, response.provider, response.model, answer=response.content)


def _first_problem(error: ValidationError) -> str:
    """Return the first problem pydantic found, without the value."""
    found = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(["$", *(str(step) for step in found["loc"])])
    return f"{place}: {found['msg']}"


class _Checker:
    """A checker of values against one schema and its definitions."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root

    def problems(self, value: JSON, schema: object, at: str, depth: int) -> Iterator[str]:
        """Yield one sentence for each mismatch, the outermost first."""
        if depth > MAX_DEPTH:
            yield f"{at}: nested too deep"
        elif schema is False:
            yield f"{at}: not allowed"
        elif isinstance(schema, Mapping):
            yield from self._referred(value, schema, at, depth)
            yield from _of_type(value, schema, at)
            yield from self._of_choices(value, schema, at, depth)
            yield from _bounds(value, schema, at)
            if isinstance(value, Mapping):
                yield from self._members(value, schema, at, depth)
            elif isinstance(value, list):
                yield from self._items(value, schema, at, depth)

    def _referred(self, value: JSON, schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        name = schema.get("$ref")
        if isinstance(name, str):
            target: Any = self._root
            for step in name.removeprefix("#").split("/")[1:]:
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
            yield from self.problems(value, target, at, depth + 1)

    def _of_choices(self, value: JSON, schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
            yield f"{at}: not one of {_show(schema['enum'])}"
        if "const" in schema and not _same(value, schema["const"]):
            yield f"{at}: not {_show(schema['const'])}"
        for part in schema.get("allOf", ()):
            yield from self.problems(value, part, at, depth + 1)
        for key in ("anyOf", "oneOf"):
            if key in schema and all(any(self.problems(value, part, at, depth + 1)) for part in schema[key]):
                yield f"{at}: matches none of the {len(schema[key])} forms it may have"

    def _members(self, value: JSONObject, schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        known = schema.get("properties") or {}
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{at}: '{name}' is missing"
        for name, runner in value.items():
            rule = known[name] if name in known else schema.get("additionalProperties", True)
            yield from self.problems(runner, rule, f"{at}.{name[:40]}", depth + 1)

    def _items(self, value: list[JSON], schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
        first = schema.get("prefixItems") or ()
        for number, item in enumerate(value):
            rule = first[number] if number < len(first) else schema.get("items", True)
            yield from self.problems(item, rule, f"{at}[{number}]", depth + 1)


def _of_type(value: JSON, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted or []
    if names and not any(name not in _TYPES or _TYPES[name](value) for name in names):
        yield f"{at}: not of type {' or '.join(names)}"


def _bounds(value: JSON, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    """Yield what is too small, too large, too short, too long, or in the wrong form."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number_bounds(value, schema, at)
        return
    for kind, least, most in ((str, "minLength", "maxLength"), (list, "minItems", "maxItems")):
        if isinstance(value, kind):
            if len(value) < schema.get(least, 0):
                yield f"{at}: shorter than {schema[least]}"
            if most in schema and len(value) > schema[most]:
                yield f"{at}: longer than {schema[most]}"


def _number_bounds(value: float, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{at}: less than {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        yield f"{at}: more than {schema['maximum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield f"{at}: not more than {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        yield f"{at}: not less than {schema['exclusiveMaximum']}"


def _same(one: object, other: object) -> bool:
    """Tell whether two values are equal as JSON, where true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _show(value: object) -> str:
    return orjson.dumps(value).decode()[:200]
