"""The tool `who`: everybody who is in the game."""

from __future__ import annotations

from pydantic import BaseModel

from tools.context import ToolContext
from tools.tool import Category, NoArguments, Tool
from tools.world.sight import Somebody, somebody


class Present(BaseModel):
    """Who is in the game."""

    people: list[Somebody]


async def who(_: NoArguments, context: ToolContext) -> Present:
    """Everybody in the game, AIs marked."""
    return Present(people=[somebody(person) for person in await context.world.who()])


WHO = Tool(
    name="who",
    description="List everybody who is in the game now.",
    arguments=NoArguments,
    category=Category.SAFE_CHAIN,
    execute=who,
)
