"""The tool `remember`: a note for later."""

from __future__ import annotations

from pydantic import Field

from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.policy.decide import level_of
from tools.text.clean import one_line
from tools.tool import Arguments, Category, Tool
from tools.trust import Source


class RememberArguments(Arguments):
    """What to remember."""

    text: str = Field(min_length=1, max_length=500, description="one fact, as a full sentence")


async def remember(arguments: RememberArguments, context: ToolContext) -> str:
    """Store a note as learned from the requester, and confirm it. The confirmation says when old notes were dropped.

    It is trusted as little as the least trusted text in view, and never more than the requester. Its sources are all
    whose words it repeats, and its audience is only those who may be told of all that was in view.
    """
    text = one_line(arguments.text, max_chars=500)
    if not text:
        raise ToolRetry("There was no fact in 'text'. Write one sentence to remember.")
    trust = context.trust
    level = min(trust.min_level, level_of(context.requester))
    added = await context.notes.add(
        text, context.requester, level, sources=trust.sources_of(text), audience=trust.audience
    )
    if added.dropped:
        return f"You will remember it. To make room you forgot your {len(added.dropped)} oldest note(s)."
    return "You will remember it."


REMEMBER = Tool(
    name="remember",
    description="Remember one fact for later.",
    arguments=RememberArguments,
    category=Category.SAFE_CHAIN,
    execute=remember,
    source=Source.OPERATOR,
)
