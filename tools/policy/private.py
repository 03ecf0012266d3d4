"""Tells whether a call would reveal private words to others. Pure, except that it asks the world who hears.

A query to the web is read by strangers as well: it may have the words of the question and public ones, and no others,
because a private word can be disguised in more ways than anybody can list.

In a run that answers a person in private, the model has private words in view. Whatever it says then is said to that
person alone, or not at all: this is never left to the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Literal, get_origin

from mud_assistant.llm.messages import ToolCall
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import NoAnswer, Status
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.text.lenient import plain
from mud_assistant.tools.tool import Category, Reach, Tool
from mud_assistant.tools.trust import channel_id

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
            return _keep_from_strangers(tool, call, context)
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


def _keep_from_strangers(tool: Tool, call: ToolCall, context: ToolContext) -> NoAnswer | None:
    """Return the result of a query that would tell strangers private words, None for one that may go on."""
    withheld = context.trust.withheld(" ".join(_free_texts(tool, call)))
    if withheld.known:
        text = f"You know this in private: {_listed(withheld.known)}. Strangers would read it. Ask without it."
    elif withheld.unheard:
        text = (
            f"These words are not in what you are asked, and nobody said them aloud: {_listed(withheld.unheard)}. "
            "Strangers would read them. Ask with the words of the question."
        )
    else:
        return None
    return NoAnswer(Status.FAILED, text)


def _free_texts(tool: Tool, call: ToolCall) -> Iterator[str]:
    """Yield the arguments in which anything can be written, but for those that are as the tool has them by itself."""
    for name, value in call.arguments.items():
        field = tool.arguments.model_fields.get(name)
        if field is not None and value != field.default and not _is_choice(field.annotation):
            values = value if isinstance(value, list) else [value]
            yield from (one for one in values if isinstance(one, str))


def _is_choice(annotation: object) -> bool:
    """Tell whether a value is one of a few that the tool names."""
    is_enum = isinstance(annotation, type) and issubclass(annotation, Enum)
    return is_enum or get_origin(annotation) is Literal


def _listed(words: frozenset[str]) -> str:
    return one_line(", ".join(sorted(words)), max_chars=_MAX_LISTED)


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
