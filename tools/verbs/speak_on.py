"""The tool `channel`: speech on a channel, for everybody who listens to it."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.text.clean import one_line
from tools.text.wrapping import MAX_WORDS, Words, strip_speech_label
from tools.tool import Arguments, Category, Reach, Tool


class ChannelArguments(Arguments):
    """Which channel, and what."""

    channel: str = Field(min_length=1, max_length=100, description="name of the channel")
    text: Words = Field(min_length=1, max_length=MAX_WORDS, description="the words you send")


async def speak_on(arguments: ChannelArguments, context: ToolContext) -> str:
    """Speak on the channel and confirm it. Raises ToolRetry when no word is left after cleaning."""
    words = one_line(strip_speech_label(arguments.text, context.actor.name))
    if not words:
        raise ToolRetry("There were no words in 'text'. Say something.")
    channel = one_line(arguments.channel)
    await context.world.speak_on(channel, " ".join(context.cite(words).split()))
    return f"You said it on {channel}. Everybody who listens there heard it."


CHANNEL = Tool(
    name="channel",
    description="Say something on a channel. Use this to answer what was said on that channel.",
    arguments=ChannelArguments,
    category=Category.TERMINAL,
    execute=speak_on,
    reach=Reach.CHANNEL,
)
