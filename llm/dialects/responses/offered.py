"""Reads the tools of a request, and gives each the one flat name by which any model can call it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mud_assistant.llm.dialects.fields import RequestFields
from mud_assistant.llm.dialects.tools import check_names, read_choice, read_tool
from mud_assistant.llm.messages import JSON, JSONObject, ToolSpec
from mud_assistant.llm.request import ToolChoice

#: The longest name of a tool that every provider takes, in characters.
_LONGEST_NAME = 64
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_FUNCTION = frozenset({"type", "name", "description", "parameters", "strict"})
_CUSTOM = frozenset({"type", "name", "description", "format"})
_TOOL_HINTS = frozenset({"defer_loading", "output_schema", "allowed_callers"})
#: The one argument of a custom tool, whose input is free text.
CUSTOM_ARGUMENT = "input"
_FREE_TEXT: JSONObject = {
    "type": "object",
    "properties": {CUSTOM_ARGUMENT: {"type": "string", "description": "The whole input of the tool, as plain text."}},
    "required": [CUSTOM_ARGUMENT],
    "additionalProperties": False,
}


@dataclass(slots=True)
class OfferedTools:
    """The tools that may be called, and how names in namespaces were joined to flat ones."""

    specs: list[ToolSpec] = field(default_factory=list)
    #: The namespace and the name, by the joined name.
    namespaces: dict[str, tuple[str, str]] = field(default_factory=dict)

    def joined(self, namespace: str, name: str) -> str:
        """Return the flat name. For a tool that is not offered it is the usual one."""
        if not namespace:
            return name
        known = (flat for flat, parts in self.namespaces.items() if parts == (namespace, name))
        return next(known, _usual_name(namespace, name))


def read_offered(body: RequestFields, dropped: list[str]) -> OfferedTools:
    """Return the tools of a request; hints are added to `dropped`. Raises RequestRefused."""
    offered = OfferedTools()
    spaces = []
    for tool in body.objects("tools"):
        match kind := tool.text("type"):
            case "function":
                offered.specs.append(_function(tool, dropped))
            case "custom":
                dropped += tool.hints(_CUSTOM, _TOOL_HINTS)
                offered.specs.append(_custom(tool))
            case "namespace":
                dropped += tool.hints({"type", "name", "description", "tools"}, _TOOL_HINTS)
                spaces.append(tool)
            case _:
                said = f"{kind!r} runs at OpenAI, and only a request passed on to it may use it; switch it off"
                raise tool.unsupported("type", said)
    check_names(offered.specs)
    for space in spaces:
        _add_namespace(offered, space, dropped)
    return offered


def custom_names(body: JSONObject) -> frozenset[str]:
    """Return the names of the custom tools of a request that was read."""
    tools = body.get("tools")
    found = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    return frozenset(str(tool.get("name")) for tool in found if tool.get("type") == "custom")


def choose(body: RequestFields, offered: OfferedTools) -> tuple[ToolChoice | None, list[ToolSpec]]:
    """Return the choice of tools, and the tools it allows. Raises RequestRefused."""
    said = body.get("tool_choice")
    choice = body.object("tool_choice") if isinstance(said, Mapping) else None
    if choice is None:
        return read_choice(body, offered.specs), offered.specs
    match choice.text("type"):
        case "allowed_tools":
            allowed = set(_allowed(choice, offered))
            specs = [tool for tool in offered.specs if tool.name in allowed]
            mode = choice.text("mode", "auto")
            return read_choice(RequestFields({"tool_choice": mode}), specs), specs
        case "custom":
            named: JSON = {"type": "function", "name": choice.name("name")}
        case "function" if choice.has("namespace"):
            flat = offered.joined(choice.name("namespace"), choice.name("name"))
            named = {"type": "function", "name": flat}
        case _:
            named = said
    return read_choice(RequestFields({"tool_choice": named}), offered.specs), offered.specs


def _allowed(choice: RequestFields, offered: OfferedTools) -> Iterator[str]:
    """Yield the flat names that `allowed_tools` lists. Raises RequestRefused for one that is not offered."""
    known = {tool.name for tool in offered.specs}
    for tool in choice.objects("tools"):
        flat = offered.joined(tool.text("namespace", ""), tool.name("name"))
        if flat not in known:
            raise tool.invalid("name", f"no tool is named {flat!r}")
        yield flat


def _function(tool: RequestFields, dropped: list[str]) -> ToolSpec:
    dropped += tool.hints(_FUNCTION, _TOOL_HINTS)
    return read_tool(tool, "parameters")


def _custom(tool: RequestFields) -> ToolSpec:
    """Return a tool with one argument for its free text. A grammar is put into words."""
    said = tool.text("description", "")
    form = tool.object("format")
    if form is not None and form.text("type") == "grammar":
        grammar = f"The input must match this grammar ({form.text('syntax', 'lark')}):\n{form.text('definition')}"
        said = f"{said}\n\n{grammar}" if said else grammar
    return ToolSpec(tool.name("name"), said, _FREE_TEXT)


def _add_namespace(offered: OfferedTools, space: RequestFields, dropped: list[str]) -> None:
    """Add the tools of a namespace under flat names that no other tool has. Its description goes to the first."""
    namespace, about = space.name("name"), space.text("description", "")
    taken = {tool.name for tool in offered.specs}
    for tool in space.objects("tools"):
        if (kind := tool.text("type")) != "function":
            raise tool.unsupported("type", f"{kind!r} in a namespace cannot be carried to this model")
        spec = _function(tool, dropped)
        if (namespace, spec.name) in offered.namespaces.values():
            raise tool.invalid("name", f"two tools of the namespace are named {spec.name!r}")
        flat = _free_name(_usual_name(namespace, spec.name), taken)
        taken.add(flat)
        offered.namespaces[flat] = (namespace, spec.name)
        said = f"{about}\n\n{spec.description}".strip() if about else spec.description
        offered.specs.append(ToolSpec(flat, said, spec.parameters))
        about = ""


def _usual_name(namespace: str, name: str) -> str:
    return _NOT_IN_A_NAME.sub("_", f"{namespace}__{name}")[:_LONGEST_NAME]


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name, or the first of it with a number that no tool has."""
    if name not in taken:
        return name
    number = 2
    while (free := f"{name[: _LONGEST_NAME - 4]}_{number}") in taken:
        number += 1
    return free
