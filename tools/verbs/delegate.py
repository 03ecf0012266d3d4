"""The tool `delegate`: has a question looked into in several steps, by reading alone, and returns a short report.

Who looks into it is a child of the run (`assistant/loop/delegating.py`): it sees the task and nothing else, and what it
spends is taken from the run.
"""

from __future__ import annotations

from pydantic import Field

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import ToolFailed, ToolRetry
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.tool import Arguments, Category, Labelled, Tool
from mud_assistant.tools.trust import Source

MAX_TASK_CHARS = 600
NOBODY = "Nobody can look into it for you now. Look yourself."


class DelegateArguments(Arguments):
    """What to look into."""

    task: str = Field(
        min_length=1, max_length=MAX_TASK_CHARS, description="what to find out, with all that one must know for it"
    )


async def delegate(arguments: DelegateArguments, context: ToolContext) -> Labelled:
    """Return what was found out, trusted as the least trusted text that was read. Raises ToolFailed for nothing."""
    task = one_line(arguments.task, max_chars=MAX_TASK_CHARS)
    if not task:
        raise ToolRetry("There was nothing in 'task'. Write what is to be found out.")
    if context.look_into is None:
        raise ToolFailed(NOBODY)
    report = await context.look_into(task, context)
    return Labelled(report.text, report.authority, report.sources)


DELEGATE = Tool(
    name="delegate",
    description="Have one question looked into in several steps, by reading alone, and get a short report of it.",
    arguments=DelegateArguments,
    category=Category.SAFE_CHAIN,
    execute=delegate,
    timeout_seconds=120.0,
    source=Source.ASSISTANT,
)
