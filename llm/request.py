"""One request to a model as the caller made it, and how its wording changes with the request mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

from llm.fallback.prompt import call_schema, with_instructions
from llm.messages import Message, Role, Text, ToolSpec
from llm.modes.mode import RequestMode
from llm.modes.structured import with_schema
from llm.options import CallOptions, ToolChoice
from llm.stream import ActingListener
from resilience import Caller


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One logical call."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    tool_choice: ToolChoice | None
    options: CallOptions
    listener: ActingListener | None
    caller: Caller


def apply_mode(ask: ChatRequest, way: RequestMode) -> tuple[Sequence[Message], Sequence[ToolSpec], CallOptions]:
    """Return the messages, native tools and options to send. What cannot be requested natively is put into words."""
    messages, tools, options = ask.messages, ask.tools, ask.options
    schema = options.json_schema
    if not way.thinks and options.think is not None:
        options = replace(options, think=None)
    if schema is not None and (way.as_text or not way.schema):
        messages, options = with_schema(messages, schema), replace(options, schema=None)
    if way.as_text:
        messages = with_instructions(messages, tools)
        if way.schema and schema is None:
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


def inputs_of(messages: Sequence[Message]) -> Sequence[str]:
    """Return the untrusted text of the conversation: a call quoted from it is not the model's own."""
    return _Inputs(messages)


class _Inputs(Sequence[str]):
    """The untrusted text, gathered on first use: a history is long, and few answers hold a call to compare with it."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        return self._texts[at]

    def __len__(self) -> int:
        return len(self._texts)

    @cached_property
    def _texts(self) -> list[str]:
        spoken: list[str] = []
        heard: list[str] = []
        for message in self._messages:
            if message.role is Role.USER:
                spoken += [block.text for block in message.blocks if isinstance(block, Text)]
            heard += [result.text for result in message.tool_results]
        return spoken + heard
