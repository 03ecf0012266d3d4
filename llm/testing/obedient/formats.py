"""Writes a call in every text format that the JSON fallback reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from llm.messages import JSON
from llm.testing.script import Call

_SEP = "<\uff5ctool\u2581sep\uff5c>"


def _encode(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else orjson.dumps(call.arguments).decode()


def _pairs(call: Call) -> list[tuple[str, JSON]]:
    return [] if isinstance(call.arguments, str) else list(call.arguments.items())


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _ours(call: Call) -> str:
    return f'{{"tool": "{call.name}", "parameters": {_encode(call)}}}'


def _openai(call: Call) -> str:
    function = {"name": call.name, "arguments": _encode(call)}
    return orjson.dumps({"tool_calls": [{"id": "1", "type": "function", "function": function}]}).decode()


def _python(call: Call) -> str:
    return f"{call.name}({', '.join(f'{key}={value!r}' for key, value in _pairs(call))})"


def _quote_arguments(call: Call) -> str:
    return str({"name": call.name, "arguments": dict(_pairs(call))})


def _tags(opening: str, key: str, closing: str, end: str) -> Callable[[Call], str]:
    """Make a writer that puts each argument between tags."""

    def write(call: Call) -> str:
        body = "".join(f"{key.format(name)}{_text(value)}{closing.format(name)}" for name, value in _pairs(call))
        return f"{opening.format(call.name)}{body}{end.format(call.name)}"

    return write


def _gemma(call: Call) -> str:
    body = ",".join(
        f"{key}:<escape>{value}<escape>" if isinstance(value, str) else f"{key}:{_text(value)}"
        for key, value in _pairs(call)
    )
    return f"<start_function_call>call:{call.name}{{{body}}}<end_function_call>"


#: The writer of a call, by the name of the format.
FORMATS: Mapping[str, Callable[[Call], str]] = {
    "json": _ours,
    "fenced-json": lambda call: f"```json\n{_ours(call)}\n```",
    "single-quoted-json": _quote_arguments,
    "json-list": lambda call: f'[{{"name": "{call.name}", "arguments": {_encode(call)}}}]',
    "openai": _openai,
    "hermes": lambda call: f'<tool_call>\n{{"name": "{call.name}", "arguments": {_encode(call)}}}\n</tool_call>',
    "qwen-coder": _tags("<tool_call>\n<function={}>", "<parameter={}>", "</parameter>", "</function>\n</tool_call>"),
    "glm": _tags("<tool_call>{}\n", "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>\n", "</tool_call>"),
    "mistral": lambda call: f"[TOOL_CALLS]{call.name}[ARGS]{_encode(call)}",
    "llama": lambda call: f'<|python_tag|>{{"name": "{call.name}", "parameters": {_encode(call)}}}',
    "pythonic": lambda call: f"[{_python(call)}]",
    "tool-code": lambda call: f"```tool_code\n{_python(call)}\n```",
    "deepseek": lambda call: f"function{_SEP}{call.name}\n```json\n{_encode(call)}\n```",
    "kimi": lambda call: f"<|tool_call_begin|>functions.{call.name}:0<|tool_call_argument_begin|>{_encode(call)}",
    "invoke": _tags('<function_calls><invoke name="{}">', '<parameter name="{}">', "</parameter>", "</invoke>"),
    "claude-2": _tags("<invoke><tool_name>{}</tool_name><parameters>", "<{}>", "</{}>", "</parameters></invoke>"),
    "harmony": lambda call: f"<|channel|>commentary to=functions.{call.name} <|message|>{_encode(call)}<|call|>",
    "cohere": lambda call: f'<|START_ACTION|>[{{"tool_name": "{call.name}", "parameters": {_encode(call)}}}]',
    "gemma": _gemma,
    "functionary": lambda call: f">>>{call.name}\n{_encode(call)}",
    "react": lambda call: f"Action: {call.name}\nAction Input: {_encode(call)}\n",
    "keyed": lambda call: f'{{"{call.name}": {_encode(call)}}}',
    "element": _tags("<{}>", "<{}>", "</{}>", "</{}>"),
}


def in_prose(call: Call) -> str:
    """Return the call as JSON at the end of a sentence."""
    return f"Very well, I shall do as I was told at once: {_ours(call)}"
