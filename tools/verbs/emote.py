"""The tool `emote`: a visible act."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.text.clean import one_line
from tools.text.wrapping import strip_actor_name
from tools.tool import Arguments, Category, Tool
from tools.trust import Source


class EmoteArguments(Arguments):
    """What to do, as it follows the character's name."""

    text: str = Field(min_length=1, max_length=1000, description="what you do, for example: smiles and nods")


async def emote(arguments: EmoteArguments, context: ToolContext) -> str:
    """Act visibly and confirm it. Raises ToolRetry when nothing is left after cleaning."""
    act = one_line(strip_actor_name(arguments.text, context.actor.name))
    if not act:
        raise ToolRetry("There was no act in 'text'. Say what you do.")
    await context.world.emote(act)
    return "You did it. Everybody in the room saw it."


EMOTE = Tool(
    name="emote",
    description="Show a gesture or an action, like a smile or a nod. Do not speak with it.",
    arguments=EmoteArguments,
    category=Category.TERMINAL,
    execute=emote,
    source=Source.OPERATOR,
)
