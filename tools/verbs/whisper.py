"""The tool `whisper`: speech that one person hears."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.text.clean import one_line
from tools.text.wrapping import MAX_WORDS, Words, strip_speech_label
from tools.tool import Arguments, Category, Reach, Tool


class WhisperArguments(Arguments):
    """To whom, and what."""

    target: str = Field(min_length=1, max_length=100, description="name of the person")
    text: Words = Field(min_length=1, max_length=MAX_WORDS, description="the words you whisper")


async def whisper(arguments: WhisperArguments, context: ToolContext) -> str:
    """Whisper the words and confirm it. Raises ToolRetry when no word is left after cleaning."""
    words = one_line(strip_speech_label(arguments.text, context.actor.name))
    if not words:
        raise ToolRetry("There were no words in 'text'. Whisper something.")
    target = one_line(arguments.target)
    await context.world.whisper(target, " ".join(context.cite(words).split()))
    return f"You whispered it to {target}. Nobody else heard it."


WHISPER = Tool(
    name="whisper",
    description="Say something to one person in the room. Nobody else hears it.",
    arguments=WhisperArguments,
    category=Category.TERMINAL,
    execute=whisper,
    targets=("target",),
    reach=Reach.NEARBY,
)
