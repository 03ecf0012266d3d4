"""The tools by which a character speaks: `say`, `emote`, `whisper`, `page` and `channel`, each heard by others.

The whole room hears `say` and sees `emote`; one person in the room hears `whisper`, one person anywhere in the game
hears `page`, and everybody who listens to a channel hears `channel`.
"""

from __future__ import annotations

from pydantic import Field

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import ToolRetry, Unheard
from mud_assistant.tools.text.clean import clean_speech, one_line
from mud_assistant.tools.text.lenient import MAX_WORDS, Words, strip_actor_name, strip_speech_label
from mud_assistant.tools.tool import Arguments, Category, Reach, Tool
from mud_assistant.tools.trust import PEOPLE, Source


class SayArguments(Arguments):
    """What to say."""

    text: Words = Field(min_length=1, max_length=MAX_WORDS, description="the words you speak")


async def say(arguments: SayArguments, context: ToolContext) -> str:
    """Speak and confirm it. Raises ToolRetry when no word is left after cleaning, or the answer belongs elsewhere.

    Raises Unheard when none of those who asked would hear it, and it cannot be told them where they are.
    """
    words = clean_speech(strip_speech_label(arguments.text, context.actor.name))
    if not words:
        raise ToolRetry("There were no words in 'text'. Say something.")
    _check_heard(context)
    await context.world.say(context.cite(words))
    return "You said it. Everybody in the room heard you."


def _check_heard(context: ToolContext) -> None:
    """Raise ToolRetry or Unheard when a person asked and none of those who asked would hear the answer.

    Unheard is not raised on an errand, that is when the run has changed the game.
    """
    requester = context.requester
    if requester is None or requester.kind not in PEOPLE:
        return
    if any(context.world.hears(who) for who in (requester, *context.askers)):
        return
    name = one_line(requester.name, max_chars=60)
    if context.answer_by:
        raise ToolRetry(f"{name} is not here and would not hear you, so it was not said. Use {context.answer_by}.")
    if not context.has_changed:
        raise Unheard(f"{name} is not here any more, so it was not said.")


SAY = Tool(
    name="say",
    description="Say something out loud to the people in the room. Use this to answer.",
    arguments=SayArguments,
    category=Category.TERMINAL,
    execute=say,
    source=Source.OPERATOR,
)


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
    said = " ".join(context.cite(words).split())
    await context.world.whisper(target, said, only=context.trust.audience)
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
    said = " ".join(context.cite(words).split())
    await context.world.page(target, said, only=context.trust.audience)
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
