"""The tool `say`: speech that the whole room hears."""

from __future__ import annotations

from pydantic import Field

from tools.clean import clean_speech
from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.tool import Arguments, Category, Tool
from tools.trust import Source
from tools.wrapping import spoken


class SayArguments(Arguments):
    """What to say."""

    text: str = Field(min_length=1, max_length=2000, description="the words you speak")


async def say(arguments: SayArguments, context: ToolContext) -> str:
    """Confirmation; ToolRetry when no word is left after cleaning."""
    words = clean_speech(spoken(arguments.text, context.actor.name))
    if not words:
        raise ToolRetry("There were no words in 'text'. Say something.")
    await context.world.say(context.cited(words))
    return "You said it. Everybody in the room heard you."


SAY = Tool(
    name="say",
    description="Say something out loud to the people in the room. Use this to answer.",
    arguments=SayArguments,
    category=Category.TERMINAL,
    execute=say,
    source=Source.OPERATOR,
)
