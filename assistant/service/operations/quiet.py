"""Lets assistants keep still: all or one, as their owner wants it, and for a player who does not want to be met first.

What an assistant was asked for is done all the same: it answers, and keeps its promises.
"""

from __future__ import annotations

from collections.abc import Sequence

from mud_assistant.assistant.life.peace import EVERYBODY, OwnersQuiet, Stillness
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.operators import Operator, VisitorRole
from mud_assistant.tools import Principal


async def want_quiet(there: Operated, who: Operator, assistant: str, *, quiet: bool) -> str:
    """Let an assistant, or `EVERYBODY`, do nothing of itself from now on, or the other way, and say so.

    It need not run. It holds over restarts and for every process of the journal. Raises NotFound and JournalError.
    """
    name = await _want(there, who, Stillness.QUIET, assistant, is_so=quiet)
    if quiet:
        does, its = ("do", "their") if assistant == EVERYBODY else ("does", "its")
        return f"{name} {does} nothing of {its} own accord from now on. Talk goes on, and promises are kept."
    if assistant == EVERYBODY:
        return "All assistants may do things of their own accord again, but for those that are quiet by themselves."
    still = wanted(there).why(assistant)
    return f"{name} may do things of its own accord again{f', but not now: {still}' if still else ''}."


async def send_away(there: Operated, who: Operator, assistant: str, *, away: bool) -> str:
    """Let an assistant be away, or be back, and say so. Raises NotFound and JournalError.

    One that is away does nothing of itself and greets nobody. Spoken to, it answers.
    """
    name = await _want(there, who, Stillness.AWAY, assistant, is_so=away)
    if away:
        return f"{name} is away: it greets nobody and does nothing of its own accord. Spoken to, it answers."
    return f"{name} is back."


def wanted(there: Operated) -> OwnersQuiet:
    """Return what owners want: who is quiet, who is away, and why an assistant does nothing of itself."""
    return there.service.parts.quiet.state


async def want_peace(assistants: Sequence[Assistant], people: Sequence[Principal], *, peace: bool, again: str) -> str:
    """Let these assistants speak to a player only when spoken to, or also first, and say so. Raises JournalError.

    `people` is all that the player is to them, `again` is what to type to end it.
    """
    for one in assistants:
        await one.peace.wish([who.id for who in people], quiet=peace)
    names = ", ".join(one.context.body.me.name for one in assistants)
    if peace:
        return f"{names} will not speak to you first. To end that: {again}"
    return f"{names} may speak to you first again."


async def _want(there: Operated, who: Operator, stillness: Stillness, assistant: str, *, is_so: bool) -> str:
    """Want something of an assistant, and return its name."""
    who.check(VisitorRole.OPERATOR)
    there.check_own()
    name = "All assistants" if assistant == EVERYBODY else there.find(assistant).name
    await there.service.parts.ready()
    await there.service.parts.quiet.want(stillness, assistant, is_so=is_so)
    who.log(f"wants {name} {stillness}: {'on' if is_so else 'off'}")
    return name
