"""The tool `noop`: does nothing, for a reason."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.tool import Arguments, Category, Tool
from mud_assistant.tools.trust import Source

MAX_REASON_CHARS = 2000


class NoopArguments(Arguments):
    """Why nothing is done; cut, never refused: a model's whole text may end up here."""

    reason: Annotated[str, AfterValidator(lambda text: text[:MAX_REASON_CHARS])] = Field(
        default="", description="why you do nothing"
    )


async def noop(_: NoopArguments, __: ToolContext) -> str:
    """Do nothing and confirm it."""
    return "You did nothing."


NOOP = Tool(
    name="noop",
    description="Do nothing. Use this when nobody needs you.",
    arguments=NoopArguments,
    category=Category.TERMINAL,
    execute=noop,
    source=Source.OPERATOR,
    idle=True,
)
