"""Words a request as its mode wants it: what cannot be requested natively is put into the system text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llm.fallback.prompt import call_schema, with_instructions
from llm.messages import Message, ToolSpec
from llm.modes.mode import RequestMode
from llm.modes.structured import with_schema
from llm.request import CallOptions, ChatRequest


def apply_mode(request: ChatRequest, mode: RequestMode) -> tuple[Sequence[Message], Sequence[ToolSpec], CallOptions]:
    """Return the messages, native tools and options to send. What cannot be requested natively is put into words."""
    messages, tools, options = request.messages, request.tools, request.options
    schema = options.json_schema
    if not mode.thinks and options.think is not None:
        options = replace(options, think=None)
    if schema is not None and (mode.as_text or not mode.schema):
        messages, options = with_schema(messages, schema), replace(options, schema=None)
    if mode.as_text:
        messages = with_instructions(messages, tools)
        if mode.schema and schema is None:
            options = replace(options, schema=call_schema(tools))
            return messages, (), _in_json_mode(options) if options.structured == "json" else options
        tools = ()
    if options.structured == "json" and (schema := options.json_schema) is not None:
        messages = with_schema(messages, schema)
        options = _in_json_mode(options) if schema.get("type", "object") == "object" else replace(options, schema=None)
    return messages, tools, options


def _in_json_mode(options: CallOptions) -> CallOptions:
    """Return the options with JSON mode (any object) instead of the schema. The schema is put into words."""
    return replace(options, schema=None, json_object=True)
