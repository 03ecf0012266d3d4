"""The tool contract: a name, a description, typed arguments, a category, a time-out, `execute`; and tools by name."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from mud_assistant.llm.messages import ToolSpec
from mud_assistant.tools.context import Requirement, ToolContext
from mud_assistant.tools.trust import Source

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Category(StrEnum):
    """How the loop treats a call."""

    SAFE_CHAIN = "safe_chain"  # reads; chain freely, may run concurrently
    TERMINAL = "terminal"  # speaks; the run ends after this step's calls
    DANGEROUS = "dangerous"  # changes the game; one per run, policy decides
    ASYNC_REQUIRED = "async_required"  # reads over a network, with a deadline of its own

    #: Whether calls of this category change nothing, so that neighbours may run at the same time.
    reads: bool

    def __init__(self, value: str) -> None:
        """Note what is asked of a category many times in every step."""
        self.reads = value in {"safe_chain", "async_required"}


class Reach(StrEnum):
    """The people who may notice what a call says."""

    NOBODY = "nobody"  # it says nothing
    NEARBY = "nearby"  # the person in the room whom its argument `target` names
    PERSON = "person"  # the person anywhere whom its argument `target` names
    CHANNEL = "channel"  # everybody who listens to the channel that its argument `channel` names
    EVERYBODY = "everybody"


class Arguments(BaseModel):
    """Base of every argument model: unknown names are refused, values are bounded by the subclass."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True, defer_build=True)


class NoArguments(Arguments):
    """A tool that takes nothing."""


#: An answer for a model: a pydantic model reaches it as JSON, a string as it is.
Answer = BaseModel | str


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer whose level is not that of the tool's source: notes have the level they were written under.

    `sources` are the ids of those whose words are in it.
    """

    answer: Answer
    authority: int
    sources: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing the model may do.

    `execute(arguments, context)` gets an instance of `arguments`; it is async or returns a Deferred. It raises
    `ToolRetry` when the model should try differently and `ToolFailed` when the world said no; any other error is a
    bug, logged and told to the model as a failure. `timeout_seconds` cancels it.

    `required_permission` is what any call needs, None for the default of its category; `resolve` says what one
    particular call needs beyond that. `targets` are the arguments that name a person or a thing here: an approval is
    bound to what they name. `source` is the author of the texts it answers with. `reconcile` gives the answer when it
    is not known whether the call happened, for a tool that can find out. An `idle` tool does nothing at all, so doing
    it again is never a repeat. `reach` is who may notice what a call says, None for the default of its category: nobody
    for a read, everybody else for the rest.
    """

    name: str
    description: str
    arguments: type[Arguments]
    category: Category
    # Any: each tool takes its own arguments model; dispatch validates before it calls.
    execute: Callable[[Any, ToolContext], Awaitable[Answer | Labelled]]
    timeout_seconds: float = 10.0
    required_permission: int | None = None
    source: Source = Source.WORLD
    resolve: Callable[[Any, ToolContext], Awaitable[Requirement]] | None = None
    reconcile: Callable[[Any, ToolContext], Awaitable[Answer]] | None = None
    idle: bool = False
    targets: tuple[str, ...] = ()
    reach: Reach | None = None

    @property
    def takes_turn(self) -> bool:
        """Whether the whole room hears a call, so that characters leave some time between two such calls."""
        return self.category is Category.TERMINAL and self.heard_by is Reach.EVERYBODY

    @property
    def heard_by(self) -> Reach:
        """The people who may notice what a call of this tool says."""
        if self.reach is not None:
            return self.reach
        return Reach.NOBODY if self.category.reads or self.idle else Reach.EVERYBODY

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return ToolSpec(self.name, self.description, _schema_of(self.arguments))


@cache
def _schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the schema, made only once for each type of arguments: pydantic is slow, and assistants are many."""
    return plain_schema(arguments.model_json_schema())


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without pydantic's titles and docstrings: fewer tokens, and byte-stable."""
    plain = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    plain["properties"] = {
        name: {key: value for key, value in prop.items() if key != "title"}
        for name, prop in schema.get("properties", {}).items()
    }
    return plain


class Registry:
    """An ordered set of tools, fixed once built.

    Raises ValueError for a name that is taken or that a provider would refuse: a bug in the wiring of the tools.
    """

    def __init__(self, tools: Iterable[Tool], *, lacks: bool = False) -> None:
        #: Whether there should be more: tools of the owner's could not be loaded, and their names are not known.
        self.lacks = lacks
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if not _NAME.fullmatch(tool.name):
                raise ValueError(
                    f"tool name {tool.name!r}: lower-case letters, digits and _, a letter first, at most 64"
                )
            if tool.name in self._tools:
                raise ValueError(f"tool name {tool.name!r} is used twice")
            self._tools[tool.name] = tool
        # Made once: a schema costs pydantic far more than a step may cost us. The same objects let the wire bytes be
        # cached.
        self._specs = {name: tool.spec for name, tool in self._tools.items()}
        self._granted: dict[frozenset[str], tuple[ToolSpec, ...]] = {}
        self._grants: dict[frozenset[str], frozenset[str]] = {}

    def get(self, name: str) -> Tool | None:
        """Return the tool called `name`, None when there is none."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """Return every tool's name, in the order given."""
        return tuple(self._tools)

    def same(self, grant: frozenset[str]) -> frozenset[str]:
        """Return a grant equal to this one: the same object for all who have it."""
        return self._grants.setdefault(grant, grant)

    def specs(self, grant: frozenset[str]) -> tuple[ToolSpec, ...]:
        """Return the granted tools as a model sees them, in the order given; the same object for the same grant."""
        specs = self._granted.get(grant)
        if specs is None:
            specs = tuple(spec for name, spec in self._specs.items() if name in grant)
            self._granted[grant] = specs
        return specs
