"""The tool `move`: through an exit into the next room."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.text.clean import one_line
from tools.tool import Arguments, Category, Labelled, Reach, Tool
from tools.verbs.sight import SceneView, label_scene, show_scene


class MoveArguments(Arguments):
    """Which way to go."""

    direction: str = Field(min_length=1, max_length=100, description="name of an exit, for example: north")


async def move(arguments: MoveArguments, context: ToolContext) -> SceneView | Labelled:
    """Walk through the exit and return the scene at the other end."""
    there = await context.world.move(one_line(arguments.direction))
    if context.following is not None:
        context.following.look_for_leader(there.people)
    return label_scene(there)


async def reconcile(_: MoveArguments, context: ToolContext) -> str:
    """Tell where the character is now, when it is not known whether it walked."""
    there = show_scene(await context.world.look())
    return f"You were interrupted while walking. Now you see:\n{there.model_dump_json()}"


MOVE = Tool(
    name="move",
    description="Walk to another room through an exit.",
    arguments=MoveArguments,
    category=Category.DANGEROUS,
    execute=move,
    reconcile=reconcile,
    targets=("direction",),
    reach=Reach.NOBODY,
)
