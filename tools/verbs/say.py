"""The tool `say`: speech that the whole room hears."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.errors import ToolRetry, Unheard
from tools.text.clean import clean_speech, one_line
from tools.text.wrapping import MAX_WORDS, Words, strip_speech_label
from tools.tool import Arguments, Category, Tool
from tools.trust import Kind, Source

#: The kinds that may have gone away before the answer came. For the game's own people and assistants this is not
#: checked.
_PEOPLE = frozenset({Kind.PLAYER, Kind.OPERATOR})


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
    if requester is None or requester.kind not in _PEOPLE:
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
