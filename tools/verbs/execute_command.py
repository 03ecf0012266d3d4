"""The tool `execute_command`: a line as a player would type it.

The typed line does not count, but the command the game takes it for: the game resolves aliases, nicks and switches, and
policy decides on the resulting command (`tools/policy/decide.py`).
"""

from __future__ import annotations

from pydantic import Field

from mud_assistant.tools.context import Requirement, ToolContext
from mud_assistant.tools.errors import ToolFailed, ToolRetry
from mud_assistant.tools.game import GameCommand, Written
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.tool import Arguments, Category, Labelled, Tool

MAX_COMMAND_CHARS = 500
#: What a command prints is trusted at most as a player's words: it may show what any player wrote.
MOST_TRUST = 1
#: NFC makes at most three characters of one; the line must never be cut into another command.
_ROOM = 4 * MAX_COMMAND_CHARS


class ExecuteCommandArguments(Arguments):
    """The line."""

    command: str = Field(
        min_length=1, max_length=MAX_COMMAND_CHARS, description="one game command, for example: give map to Ann"
    )


async def execute_command(arguments: ExecuteCommandArguments, context: ToolContext) -> Labelled:
    """Run the line and return what the game printed.

    Raises ToolFailed when the line has become another command since it was allowed.
    """
    command = await _resolve(arguments, context)
    allowed = context.allowed
    if allowed is None or (allowed.commands, allowed.shown) != ((command.full_name,), command.line):
        raise ToolFailed("This command means something else now. It was not done.")
    if command.permission > allowed.permission:
        raise ToolFailed("This command needs more permission now. It was not done.")
    told = await context.world.execute(command)
    level = min(MOST_TRUST, told.authority) if isinstance(told, Written) else MOST_TRUST
    return Labelled(clean_heard(told, keep_newlines=True) or "Done. The game printed nothing.", level)


async def requirement(arguments: ExecuteCommandArguments, context: ToolContext) -> Requirement:
    """Return what the game requires for the command that this line is."""
    command = await _resolve(arguments, context)
    return Requirement(command.permission, (command.full_name,), command.line, affects=command.affects)


async def _resolve(arguments: ExecuteCommandArguments, context: ToolContext) -> GameCommand:
    """Return the command that the line is. Raises ToolRetry when it is more than one line or empty."""
    lines = arguments.command.strip().splitlines()
    if len(lines) > 1:
        raise ToolRetry("'command' must be one line: one command at a time.")
    line = one_line(arguments.command, max_chars=_ROOM)
    if not line:
        raise ToolRetry("There was no command in 'command'. Write one line.")
    return await context.world.resolve(line)


EXECUTE_COMMAND = Tool(
    name="execute_command",
    description="Run one game command, as a player would type it.",
    arguments=ExecuteCommandArguments,
    category=Category.DANGEROUS,
    execute=execute_command,
    resolve=requirement,
)
