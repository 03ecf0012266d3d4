"""Loads the owner's own tools: from modules that are named, and from packages that are installed.

Imports code that is not ours, so it is for a composition root, before its reactor runs. Whatever is wrong with a tool
becomes one sentence, and the tool is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct
from msgspec.json import encode
from twisted.internet.defer import CancelledError

from mud_assistant.tools import Arguments, Category, Reach, Registry, Source, Tool
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS, DELEGATE

#: The entry points by which an installed package offers tools: each is a tool, a list of tools, or a module of them.
GROUP = "mud_assistant.tools"
#: The name of the list in a module that says which tools it offers; without it, all that stand at its top.
LIST = "TOOLS"
_OURS = (*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS, DELEGATE)
#: The web's tools, whose modules need packages that may be absent, and those that a provider may run itself.
_OF_THE_WEB = ("web_search", "open_page", "web_fetch")
_TAKEN = frozenset({*_OF_THE_WEB, *(tool.name for tool in _OURS)})
#: The argument that says whom a tool of this reach speaks to.
_ADDRESSEES = {Reach.NEARBY: "target", Reach.PERSON: "target", Reach.CHANNEL: "channel"}
_MAX_PERMISSION = 5
#: The most characters of an error's text.
_CAUSE = 200


class OwnTools(Struct, frozen=True):
    """The owner's own tools, with one sentence, without a full stop, for each that is left out."""

    tools: tuple[Tool, ...] = ()
    problems: tuple[str, ...] = ()


def load_tools(named: Iterable[str | Tool], folder: Path | None = None) -> OwnTools:
    """Return the tools of installed packages, then those that are named. Raises nothing. Blocks.

    A name is that of a module, or `module:NAME` for one thing in it. `folder` is where modules are looked for after all
    other places, so that none of its own hides another.
    """
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    found = _Found()
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        found.take(f"the entry point {entry.name} ({entry.value})", entry.load)
    for one in named:
        if isinstance(one, str):
            found.take(one, partial(_load, one))
        else:
            found.add(one, "the list of tools")
    return OwnTools(tuple(found.tools), tuple(found.problems))


class _Found:
    """What was found so far."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []
        self.problems: list[str] = []

    def take(self, place: str, load: Callable[[], object]) -> None:
        """Take all tools that `load` brings from this place."""
        try:
            thing = load()
            tools = _tools_in(thing)
        except CancelledError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the border: the module of an owner may do anything)
            self.problems.append(f"{place} cannot be loaded, and its tools are left out: {_cause(error)}")
            return
        if not tools:
            kind = "it" if isinstance(thing, ModuleType) else f"{type(thing).__name__} it"
            self.problems.append(f"{place} has no tool: {kind} needs a Tool at its top, or a list {LIST} of them")
        for tool in tools:
            self.add(tool, place)

    def add(self, tool: object, place: str) -> None:
        """Add one tool from this place, unless something is wrong with it."""
        if any(tool is known for known in self.tools):
            return
        name = repr(tool.name) if isinstance(tool, Tool) else repr(tool)[:60]
        if wrong := self._fault(tool):
            self.problems.append(f"{name} of {place} is left out: {wrong}")
        elif isinstance(tool, Tool):
            self.tools.append(tool)

    def _fault(self, tool: object) -> str:
        """Say what keeps a thing from being one of the tools; empty for nothing."""
        if not isinstance(tool, Tool):
            return f"it is {_a(type(tool).__name__)}, not a Tool"
        try:
            wrong = _mistake(tool)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  (the border: pydantic raises many kinds for arguments it cannot read)
            return f"its arguments cannot be described: {_cause(error)}"
        if not wrong and (tool.name in _TAKEN or any(tool.name == known.name for known in self.tools)):
            return "there is a tool of that name already"
        return wrong


def _load(name: str) -> object:
    """Import what this name says. Raises whatever the import does."""
    module, _, attribute = name.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def _tools_in(thing: object) -> Sequence[object]:
    """Return the tools that a module, a list or a single thing offers; also what is no tool in a list."""
    if isinstance(thing, ModuleType):
        listed = getattr(thing, LIST, None)
        if listed is None:
            return [one for one in vars(thing).values() if isinstance(one, Tool) and one not in _OURS]
        thing = listed
    return list(thing) if isinstance(thing, Iterable) and not isinstance(thing, str) else [thing]


def _mistake(tool: Tool) -> str:
    """Say which part of a tool is not what the contract asks for; empty for none. Raises what its schema raises."""
    if wrong := next((sentence for is_well, sentence in _parts(tool) if not is_well), ""):
        return wrong
    try:
        Registry([tool])
    except ValueError as error:
        return str(error)
    encode(tool.spec.parameters)
    fields, reach = tool.arguments.model_fields, tool.reach
    if unknown := [name for name in tool.targets if name not in fields]:
        return f"its targets name {unknown[0]!r}, which is none of its arguments"
    if reach in _ADDRESSEES and _ADDRESSEES[reach] not in fields:
        return f"its reach {reach} needs an argument {_ADDRESSEES[reach]!r} that says who hears it"
    return ""


# Any: a tool whose author need not have checked its types.
def _parts(tool: Any) -> Iterator[tuple[bool, str]]:
    """Yield whether each part has the type that the contract asks for, and what to say when it has not."""
    needed = tool.required_permission
    yield isinstance(tool.name, str), "its name must be a string"
    yield isinstance(tool.description, str) and bool(tool.description), "its description must be a text"
    yield (
        isinstance(tool.arguments, type) and issubclass(tool.arguments, Arguments),
        ("its arguments must be a subclass of Arguments"),
    )
    yield isinstance(tool.category, Category), "its category must be one of Category"
    yield isinstance(tool.source, Source), "its source must be one of Source"
    yield tool.reach is None or isinstance(tool.reach, Reach), "its reach must be one of Reach"
    yield isinstance(tool.targets, tuple), "its targets must be a tuple of names"
    yield (
        isinstance(tool.timeout_seconds, int | float) and tool.timeout_seconds > 0,
        ("its timeout_seconds must be above 0"),
    )
    yield (
        needed is None or (isinstance(needed, int) and 0 <= needed <= _MAX_PERMISSION),
        (f"its required_permission must be from 0 to {_MAX_PERMISSION}"),
    )
    for name in ("execute", "resolve", "reconcile"):
        work = getattr(tool, name)
        yield callable(work) or (work is None and name != "execute"), f"its {name} must be a function"


def _cause(error: BaseException) -> str:
    """Return kind and text of an error on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:_CAUSE]}" if text else type(error).__name__


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
