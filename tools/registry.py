"""The tools by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from llm.messages import ToolSpec
from tools.tool import Tool

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Registry:
    """An ordered set of tools, fixed once built.

    Raises ValueError for a name that is taken or that a provider would refuse: a bug in the wiring of the tools.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
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
