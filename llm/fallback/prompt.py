"""Tools for models without tool support: described in the system text, called and answered as JSON.

The form asked for is `{"tool": …, "parameters": …}`. Measured on small models: a schema makes the answer valid,
examples make it right. So both are used where they can be.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from mud_assistant.llm.messages import Block, JSONObject, Message, Role, Text, ToolCall, ToolResult, ToolSpec
from mud_assistant.llm.packing.packed import Joined, parts_of, with_first


def instructions(tools: Sequence[ToolSpec]) -> str:
    """Return what to add to the system text so that the model calls tools as JSON."""
    listed = "\n".join(f"- {tool.name}: {tool.description} parameters: {_parameters(tool)}" for tool in tools)
    return (
        "You act only by calling tools. Tools:\n"
        f"{listed}\n"
        "Answer with one JSON object and nothing else, in this form:\n"
        '{"tool": "TOOL NAME", "parameters": {...}, "reasoning": "one short sentence"}'
    )


def call_schema(tools: Sequence[ToolSpec]) -> JSONObject:
    """Return a JSON Schema that only a call of one of the tools matches."""
    return {"anyOf": [_one_call(tool) for tool in tools]}


def as_text(message: Message) -> Message:
    """Return the message with its tool calls and results written as text, for a model that supports neither."""
    if message.role is Role.ASSISTANT and message.tool_calls:
        blocks: list[Block] = [Text("\n".join(_call_text(call) for call in message.tool_calls))]
        return Message(Role.ASSISTANT, tuple(blocks))
    if message.role is Role.TOOL:
        return Message(Role.USER, (Text("\n".join(_result_text(result) for result in message.tool_results)),))
    return message


def with_instructions(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Sequence[Message]:
    """Return the messages with the tool instructions at the end of the first system message."""
    told = Text("\n\n" + instructions(tools))
    if messages and messages[0].role is Role.SYSTEM:
        return with_first(messages, Message(Role.SYSTEM, (*messages[0].blocks, told)))
    return Joined((Message(Role.SYSTEM, (Text(told.text.strip()),)), *parts_of(messages)))


def _parameters(tool: ToolSpec) -> str:
    return orjson.dumps(tool.parameters.get("properties") or {}).decode()


def _one_call(tool: ToolSpec) -> JSONObject:
    return {
        "type": "object",
        "properties": {
            "tool": {"const": tool.name},
            "parameters": {**tool.parameters, "additionalProperties": False},
            "reasoning": {"type": "string", "maxLength": 120},
        },
        "required": ["tool", "parameters"],
        "additionalProperties": False,
    }


def _call_text(call: ToolCall) -> str:
    return orjson.dumps({"tool": call.name, "parameters": call.arguments}).decode()


def _result_text(result: ToolResult) -> str:
    word = "failed" if result.failed else "result"
    return f"[{word} of {result.name}] {result.text}"
