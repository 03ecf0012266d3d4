"""The tool `look`: the scene around the character."""

from __future__ import annotations

from tools.context import ToolContext
from tools.tool import Category, Labelled, NoArguments, Tool
from tools.verbs.sight import SceneView, label_scene


async def look(_: NoArguments, context: ToolContext) -> SceneView | Labelled:
    """Return the room with its exits, people and things."""
    return label_scene(await context.world.look())


LOOK = Tool(
    name="look",
    description="Look around. Shows the room, its exits, the people and the things in it.",
    arguments=NoArguments,
    category=Category.SAFE_CHAIN,
    execute=look,
)
