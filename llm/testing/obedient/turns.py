"""Reads a request, of any protocol, as what was heard, called and answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from llm.testing.script import RecordedRequest

_WRITTEN_RESULT = re.compile(r"\[(?:result|failed) of (\w+)\] ?")


@dataclass(frozen=True, slots=True)
class Turn:
    """One piece of the conversation. `tool` is the tool that a result comes from, where the protocol says so."""

    kind: Literal["told", "heard", "said", "called", "result"]
    text: str
    tool: str = ""


def turns_of(request: RecordedRequest) -> list[Turn]:
    """Return every text of the request in order, the system's first. Calls are given as JSON."""
    turns = list(_content("told", request.body.get("system"), {}))
    names: dict[str, str] = {}
    for message in request.messages:
        turns += _message(message, names)
    return turns


def _message(message: Mapping[str, Any], names: dict[str, str]) -> Iterator[Turn]:
    """Yield the turns of one message. `names` records which call asked for which tool."""
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        tool = str(message.get("tool_name") or names.get(str(message.get("tool_call_id")), ""))
        yield Turn("result", _plain(content), tool)
        return
    kind: Literal["told", "heard", "said"] = "heard" if role == "user" else "said" if role == "assistant" else "told"
    yield from _content(kind, content, names)
    for call in message.get("tool_calls") or []:
        function = call.get("function") or {}
        names[str(call.get("id"))] = str(function.get("name"))
        yield Turn("called", _plain(function.get("arguments")), str(function.get("name")))


def _content(kind: Literal["told", "heard", "said"], content: object, names: dict[str, str]) -> Iterator[Turn]:
    """Yield the turns of a message's content: a text, or blocks as Anthropic and Chat Completions have them."""
    for block in content if isinstance(content, list) else [content]:
        match block:
            case {"type": "tool_use", "id": call_id, "name": str(name), "input": given}:
                names[str(call_id)] = name
                yield Turn("called", _plain(given), name)
            case {"type": "tool_result", "tool_use_id": call_id, **rest}:
                yield Turn("result", _plain(rest.get("content")), names.get(str(call_id), ""))
            case None | "":
                continue
            case _:
                yield from _read_written(kind, _plain(block))


def _read_written(kind: Literal["told", "heard", "said"], text: str) -> Iterator[Turn]:
    """Yield a text. It is a result when the JSON fallback wrote one as text."""
    written = _WRITTEN_RESULT.match(text) if kind == "heard" else None
    yield Turn("result", text[written.end() :], written[1]) if written else Turn(kind, text)


def _plain(content: object) -> str:
    """Return a value that stands for text as text, and any other value as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return str(content["text"])
    if isinstance(content, list):
        return "".join(map(_plain, content))
    return orjson.dumps(content).decode() if content is not None else ""
