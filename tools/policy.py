"""Whether a call may happen. Pure: the decision depends on these values only, and no text can change it."""

from __future__ import annotations

from dataclasses import dataclass

from tools.tool import Category, Tool

#: How many calls of category DANGEROUS one run may make.
MAX_DANGEROUS = 1


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may happen."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call may not happen; `reason` is a sentence for the model."""

    reason: str


Decision = Allowed | Refused


def decide(tool: Tool, *, grant: frozenset[str], dangerous_done: int) -> Decision:
    """The decision on one call of `tool` by an assistant with `grant`, after `dangerous_done` dangerous calls."""
    if tool.name not in grant:
        return Refused(f"You may not use {tool.name}.")
    if tool.category is Category.DANGEROUS and dangerous_done >= MAX_DANGEROUS:
        return Refused(f"You have already changed the game this turn. Do not use {tool.name} again now.")
    return Allowed()
