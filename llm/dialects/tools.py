"""Reads what a request says of tools: which may be called, and which result answers which call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from mud_assistant.llm.dialects.failures import RequestRefused, invalid
from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.messages import JSON, Message, Role, ToolCall, ToolResult, ToolSpec, tool_results
from mud_assistant.llm.request import ToolChoice

_WORDS = {"auto": "auto", "none": "none", "required": "required", "any": "required"}
#: The schema of a tool that says nothing of its arguments.
ANY_OBJECT: Mapping[str, JSON] = {"type": "object", "properties": {}}


def read_tool(fields: RequestFields, schema: str) -> ToolSpec:
    """Return a tool; `schema` is the field with the schema of its arguments. Raises RequestRefused."""
    parameters = fields.object(schema)
    spec = ANY_OBJECT if parameters is None or not parameters.value else parameters.value
    return ToolSpec(fields.name("name"), fields.text("description", ""), spec)


def check_names(tools: Iterable[ToolSpec]) -> None:
    """Raise RequestRefused when two tools have one name."""
    seen: set[str] = set()
    for tool in tools:
        if tool.name in seen:
            raise invalid(f"tools: two tools are named {tool.name!r}", "tools")
        seen.add(tool.name)


def read_choice(body: RequestFields, tools: Collection[ToolSpec]) -> ToolChoice | None:
    """Return `tool_choice`, which every dialect spells in its own way, None where it is absent.

    All spellings are read in every dialect: a word, `{type: function, function: {name}}`, `{type: function, name}`, and
    `{type: any | tool | auto | none}`. Raises RequestRefused for anything else, and for a tool that is not offered.
    """
    said = body.get("tool_choice")
    if said is None:
        return None
    choice = said if isinstance(said, str) else _object_choice(body)
    if isinstance(said, str) and said not in _WORDS:
        raise body.invalid("tool_choice", f"one of {', '.join(_WORDS)}, or an object, is required")
    if not tools:
        if choice in {"auto", "none"}:
            return None
        raise body.invalid("tool_choice", "there are no tools to choose from")
    if choice in _WORDS:
        return _WORDS[choice]
    if not any(tool.name == choice for tool in tools):
        raise body.invalid("tool_choice", f"no tool is named {choice!r}")
    return choice


def forbids_parallel(body: RequestFields) -> bool:
    """Tell whether the request allows one call at a time, in either spelling. Raises RequestRefused."""
    said = body.get("tool_choice")
    choice = RequestFields(said, body.at("tool_choice")) if isinstance(said, Mapping) else RequestFields({})
    return choice.flag("disable_parallel_tool_use") or not body.flag("parallel_tool_calls", default=True)


def paired(turns: Iterable[tuple[str, Message]]) -> list[Message]:
    """Return the messages, given with their paths, with the results of each turn's calls in one message right after it.

    Results in another order, and results after something that was said meanwhile, are moved to their place. A single
    result without an id answers the single call that waits. Raises RequestRefused for a call without a result, and for
    a result without a call.
    """
    pairing = _Pairing()
    for path, message in turns:
        pairing.add(path, message)
    pairing.close()
    return pairing.messages


class _Pairing:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._calls: tuple[ToolCall, ...] = ()
        self._found: dict[str, ToolResult] = {}
        self._path = ""
        self._place = 0

    def add(self, path: str, message: Message) -> None:
        """Take the next message."""
        if message.role is Role.TOOL:
            for result in message.tool_results:
                self._answer(path, result)
            return
        if message.role is Role.ASSISTANT:
            self.close()
        self.messages.append(message)
        if message.tool_calls:
            self._path, self._calls, self._place = path, message.tool_calls, len(self.messages)
            if len({call.id for call in self._calls}) < len(self._calls):
                raise invalid(f"{path}: two tool calls have one id", path)

    def close(self) -> None:
        """Raise RequestRefused when a call has no result."""
        if self._calls:
            missing = ", ".join(call.id for call in self._calls if call.id not in self._found)
            raise invalid(f"{self._path}: these tool calls have no result after them: {missing}", self._path)

    def _answer(self, path: str, result: ToolResult) -> None:
        waiting = {call.id: call for call in self._calls if call.id not in self._found}
        call = waiting.get(result.call_id)
        if call is None and not result.call_id and len(waiting) == 1:
            call = next(iter(waiting.values()))
        if call is None:
            raise self._unasked(path, result)
        self._found[call.id] = replace(result, call_id=call.id, name=call.name)
        if len(waiting) == 1:
            results = [self._found[asked.id] for asked in self._calls]
            self.messages.insert(self._place, tool_results(results))
            self._calls, self._found = (), {}

    def _unasked(self, path: str, result: ToolResult) -> RequestRefused:
        named = f"the tool result for {result.call_id!r}" if result.call_id else "a tool result without an id"
        return invalid(f"{path}: {named} answers no tool call of the assistant's turn before it", path)


def _object_choice(body: RequestFields) -> ToolChoice:
    choice = body.object("tool_choice")
    if choice is None:
        return "auto"
    kind = choice.text("type")
    if kind in {"auto", "none", "any"}:
        return kind
    if kind == "tool":
        return choice.name("name")
    if kind == "function":
        inner = choice.object("function")
        return (inner or choice).name("name")
    raise choice.unsupported("type", f"{kind!r} is not supported by this gateway")
