"""Tells whether a call would reveal private words to others. Pure, except that it asks the world who hears.

A query to the web is read by strangers as well: it may have the words of the question, and none from private talk
before.

In a run that answers a person in private, the model has private words in view. Whatever it says then is said to that
person alone, or not at all: this is never left to the model.
"""

from __future__ import annotations

from llm.messages import ToolCall
from tools.context import ToolContext
from tools.errors import NoAnswer, Status
from tools.text.clean import one_line
from tools.text.lenient import plain
from tools.tool import Category, Reach, Tool
from tools.trust import channel_id

#: The longest list of private words that the model is shown, in characters.
_MAX_LISTED = 200


def keep_private(tool: Tool, call: ToolCall, context: ToolContext, *, changed: bool = False) -> NoAnswer | None:
    """Return the result of a call that would reveal private words to others, None for a call that may go on.

    `call` has its checked arguments. `changed` says that the run has changed the game: it may be on an errand.
    """
    audience = context.trust.audience
    match tool.heard_by:
        case _ if audience is None:
            return None
        case _ if tool.category is Category.ASYNC_REQUIRED:
            return _keep_from_strangers(call, context)
        case Reach.NOBODY:
            return None
        case Reach.CHANNEL if channel_id(one_line(str(call.arguments.get("channel", "")))) in audience:
            return None
        case Reach.PERSON | Reach.NEARBY:
            target = plain(str(call.arguments.get("target", "")))
            meant = [who for who in context.people if who.id in audience and plain(who.name) == target]
            if len(meant) == 1 and (tool.heard_by is Reach.PERSON or context.world.hears(meant[0])):
                return None
        case _:
            pass
    return _refuse(context, changed=changed or context.has_changed)


def _keep_from_strangers(call: ToolCall, context: ToolContext) -> NoAnswer | None:
    """Return the result of a query that would tell strangers private words, None for one that may go on."""
    words = context.trust.private_words(" ".join(str(value) for value in call.arguments.values()))
    if not words:
        return None
    listed = one_line(", ".join(sorted(words)), max_chars=_MAX_LISTED)
    return NoAnswer(Status.FAILED, f"You know this in private: {listed}. Strangers would read it. Ask without it.")


def _refuse(context: ToolContext, *, changed: bool) -> NoAnswer:
    """Return how a call that is not made ends, and what the model reads."""
    requester = context.requester
    if requester is None:
        return NoAnswer(Status.FAILED, "Others would notice this, and you know it in private. It was not done.")
    name = one_line(requester.name, max_chars=60)
    if not any(context.world.hears(who) for who in context.people):
        if context.answer_by:
            text = f"{name} is not here and would not hear you, so it was not said. Use {context.answer_by}."
            return NoAnswer(Status.FAILED, text)
        if not changed:
            return NoAnswer(Status.UNHEARD, f"{name} is not here any more, so it was not said.")
    way = context.answer_by or "whisper"
    return NoAnswer(Status.FAILED, f"{name} spoke to you in private, and others would notice this. Use {way}.")
