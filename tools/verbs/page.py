"""The tool `page`: speech to one person, wherever in the game they are."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.text.clean import one_line
from tools.text.wrapping import MAX_WORDS, Words, strip_speech_label
from tools.tool import Arguments, Category, Reach, Tool


class PageArguments(Arguments):
    """To whom, and what."""

    target: str = Field(min_length=1, max_length=100, description="name of the person")
    text: Words = Field(min_length=1, max_length=MAX_WORDS, description="the words you send")


async def page(arguments: PageArguments, context: ToolContext) -> str:
    """Send the words and confirm it. Raises ToolRetry when no word is left after cleaning."""
    words = one_line(strip_speech_label(arguments.text, context.actor.name))
    if not words:
        raise ToolRetry("There were no words in 'text'. Page something.")
    target = one_line(arguments.target)
    await context.world.page(target, " ".join(context.cite(words).split()))
    return f"You paged it to {target}. Nobody else heard it."


PAGE = Tool(
    name="page",
    description="Say something to one person who is elsewhere in the game. Use this to answer a page.",
    arguments=PageArguments,
    category=Category.TERMINAL,
    execute=page,
    targets=("target",),
    reach=Reach.PERSON,
)
