"""The tool `who`: everybody who is in the game."""

from __future__ import annotations

from pydantic import BaseModel

from tools.context import ToolContext
from tools.tool import Category, Labelled, NoArguments, Tool
from tools.verbs.sight import Somebody, show_person


class Present(BaseModel):
    """Who is in the game."""

    people: list[Somebody]


async def who(_: NoArguments, context: ToolContext) -> Present | Labelled:
    """Return everybody in the game, AIs marked; trusted as the least trusted author of these names."""
    people = await context.world.who()
    present = Present(people=[show_person(person) for person in people])
    levels = [person.authority for person in people if person.authority is not None]
    return Labelled(present, min(levels)) if levels else present


WHO = Tool(
    name="who",
    description="List everybody who is in the game now.",
    arguments=NoArguments,
    category=Category.SAFE_CHAIN,
    execute=who,
)
