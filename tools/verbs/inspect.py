"""The tool `inspect`: one thing, person or exit, seen closely."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.text.clean import one_line
from tools.tool import Arguments, Category, Tool


class InspectArguments(Arguments):
    """What to look at."""

    target: str = Field(min_length=1, max_length=100, description="name of the thing or person")


async def inspect(arguments: InspectArguments, context: ToolContext) -> str:
    """Return the description of the target."""
    return await context.world.inspect(one_line(arguments.target))


INSPECT = Tool(
    name="inspect",
    description="Look closely at one thing or person in the room.",
    arguments=InspectArguments,
    category=Category.SAFE_CHAIN,
    execute=inspect,
    targets=("target",),
)
