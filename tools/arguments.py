"""Turns a model's JSON arguments into a checked value, or into one sentence that says what to fix."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.errors import ToolRetry
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.tool import Arguments, Tool

#: Longest sentence a model gets about its arguments, in characters.
MAX_PROBLEM_CHARS = 400
#: The beginnings of pydantic's messages: "Input should be ...", "String should have ...", "Value error, ...".
_SUBJECT = re.compile(r"^(?:Value error, |\w+ (?=should ))")


def parse_arguments(tool: Tool, call: ToolCall) -> Arguments:
    """Return the arguments of `call` as `tool` takes them. Raises ToolRetry that names the field and what is allowed.

    Lenient about form (a number in a string is a number, and the reverse), strict about names and bounds.
    """
    if call.problem:
        raise ToolRetry(_sentence(f"The arguments of {tool.name} could not be read: {call.problem}"))
    try:
        return tool.arguments.model_validate(call.arguments)
    except ValidationError as invalid:
        problem = _problem(tool, invalid.errors(include_url=False, include_context=False, include_input=False)[0])
    raise ToolRetry(_sentence(problem))


def with_checked(call: ToolCall, arguments: Arguments) -> ToolCall:
    """Return `call` with its arguments as they were understood: what policy counts, compares and has approved."""
    return ToolCall(call.id, call.name, arguments.model_dump(mode="json"))


def _problem(tool: Tool, error: ErrorDetails) -> str:
    """Say what is wrong with one field, and what the tool takes."""
    field = one_line(".".join(str(part) for part in error["loc"]), max_chars=40)
    takes = _takes(tool.arguments)
    match error["type"]:
        case "missing":
            return f"{tool.name} needs '{field}'. {tool.name} takes {takes}."
        case "extra_forbidden":
            return f"{tool.name} has no '{field}'; leave it out. {tool.name} takes {takes}."
        case "model_type" | "dict_type":
            return f"The arguments of {tool.name} must be a JSON object. {tool.name} takes {takes}."
    wrong = _SUBJECT.sub("", error["msg"])
    return f"'{field}' of {tool.name} is wrong: it {wrong}. {tool.name} takes {takes}."


@cache
def _takes(arguments: type[Arguments]) -> str:
    """Return the fields a model may give, each with its type and bounds."""
    schema = arguments.model_json_schema()
    required = schema.get("required", ())
    fields = [_field(name, prop, needed=name in required) for name, prop in schema.get("properties", {}).items()]
    return ", ".join(fields) or "no arguments"


def _field(name: str, prop: Mapping[str, Any], *, needed: bool) -> str:
    """Describe one field in words, such as `'text' (string, 1 to 2000 characters)`."""
    facts = [str(prop.get("type", "value"))]
    if "enum" in prop:
        facts = ["one of " + ", ".join(str(value) for value in prop["enum"])]
    if "maxLength" in prop:
        facts.append(f"{prop.get('minLength', 0)} to {prop['maxLength']} characters")
    if "minimum" in prop and "maximum" in prop:
        facts.append(f"{prop['minimum']} to {prop['maximum']}")
    if not needed:
        facts.append("optional")
    return f"'{name}' ({', '.join(facts)})"


def _sentence(text: str) -> str:
    """Return `text` in a form a model may read: one line, bounded."""
    return one_line(text, max_chars=MAX_PROBLEM_CHARS)
