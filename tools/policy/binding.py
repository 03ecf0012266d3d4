"""What an approval is bound to: the place, and everything the call acts on, by identity and not by name.

It is looked up when the call asks for approval, when a person approves, and again in the same turn of the reactor as
the call is made. Where the three differ the call is not made, and `difference` says why in one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.arguments import parse_arguments
from mud_assistant.tools.context import Requirement, ToolContext
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import Person, Scene, Target, Thing
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.text.lenient import candidates
from mud_assistant.tools.tool import Arguments, Tool
from mud_assistant.tools.trust import clamp_level

#: The reason given when the game understands the line itself differently.
MEANS_SOMETHING_ELSE = "the game takes it for something else now"
#: Longest name in a sentence, in characters.
_MAX_NAME = 80


async def bind(tool: Tool, arguments: Arguments, found: Requirement, context: ToolContext) -> Requirement:
    """Add to `found` the place, and what the call would act on now where the game can tell.

    Raises ToolError.
    """
    if found.affects is not None:
        return replace(found, covers=_sort(found.affects()))
    scene = await context.world.look()
    names = [str(getattr(arguments, argument)) for argument in tool.targets]
    return replace(found, covers=_sort(in_scene(scene, names)))


async def find_requirement(tool: Tool, call: ToolCall, context: ToolContext) -> Requirement:
    """Find what this call would need and act on now. Raises ToolError."""
    arguments = parse_arguments(tool, call)
    found = Requirement(0) if tool.resolve is None else await tool.resolve(arguments, context)
    return await bind(tool, arguments, found, context)


def in_scene(scene: Scene, names: Sequence[str]) -> tuple[Target, ...]:
    """List the place, then all in the scene that one of `names` may mean, or all exits when a name fits nothing."""
    exit_ids = scene.exit_ids if len(scene.exit_ids) == len(scene.exits) else ("",) * len(scene.exits)
    exits = [Target(exit_id, way, scene.id) for exit_id, way in zip(exit_ids, scene.exits, strict=True)]
    seen: tuple[Person | Thing, ...] = (*scene.people, *scene.things, *scene.carried)
    others = [Target(one.id, one.name, scene.id) for one in seen]
    found: dict[Target, None] = {Target(scene.id, scene.room): None}
    for name in names:
        meant = [one for group in (exits, others) for one in _find_meant(name, group)]
        found.update(dict.fromkeys(meant or exits))
    return tuple(found)


def difference(before: Requirement, now: Requirement) -> str:
    """Say why an approval of `before` does not cover `now`, without a full stop; empty when it does."""
    if (before.commands, before.shown) != (now.commands, now.shown) or clamp_level(now.permission) > before.permission:
        return MEANS_SOMETHING_ELSE
    if before.covers == now.covers:
        return ""
    if not before.covers or not now.covers:
        return MEANS_SOMETHING_ELSE
    if before.covers[0] != now.covers[0]:
        return f"it was for {name_target(before.covers[0])}, and the place is {name_target(now.covers[0])} now"
    there = {target.id: target for target in now.covers[1:]}
    for target in before.covers[1:]:
        found = there.pop(target.id, None)
        if found is None:
            return f"{name_target(target)} is not there any more"
        if found.name != target.name:
            return f"{name_target(target)} is called {one_line(found.name, max_chars=_MAX_NAME)} now"
        if found != target:
            return f"{name_target(target)} is somewhere else now"
    if there:
        return f"it would be done to {', '.join(map(name_target, there.values()))} too"
    return MEANS_SOMETHING_ELSE


def check_unchanged(before: Requirement, now: Requirement) -> None:
    """Raise ToolFailed when the call is no longer what was approved."""
    if why := difference(before, now):
        raise ToolFailed(f"The approval is void: {why}. It was not done.")


def name_target(target: Target) -> str:
    """Return the name of a target with its identity, on one line."""
    name = one_line(target.name, max_chars=_MAX_NAME)
    return f"{name} ({target.id})" if target.id else name


def _sort(covers: tuple[Target, ...]) -> tuple[Target, ...]:
    """Sort the targets after the place, so that their order does not depend on who came last."""
    return (*covers[:1], *sorted(covers[1:], key=lambda target: (target.id, target.name)))


def _find_meant(name: str, group: Sequence[Target]) -> list[Target]:
    return [group[at] for at in candidates(name, [one.name for one in group])]
