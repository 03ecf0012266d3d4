"""Stops and starts assistants, lifts their emergency stop, deals with what was put aside, and clears their minds."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from mud_assistant.assistant.journal import Cleared
from mud_assistant.assistant.service.operations.operated import KnownAssistant, Operated
from mud_assistant.assistant.service.operations.operators import NotFound, Operator, VisitorRole
from mud_assistant.assistant.service.wording.status import parked_text


class Halted(Struct, frozen=True):
    """What came of a stop, in a sentence, and what was going on in each that ran."""

    sentence: str
    was: tuple[str, ...] = ()


def halt(there: Operated, who: Operator, assistants: Sequence[str]) -> Halted:
    """Stop these assistants at once, in memory; call `keep_off` for each behind it. Safe to repeat. Raises NotFound.

    The game's database may be slow or gone: they are stopped all the same.
    """
    who.check(VisitorRole.OPERATOR)
    was = [one for id_ in assistants for one in there.service.halt(id_)]
    if not assistants:
        return Halted("Nobody runs, so there was nothing to stop.")
    names = ", ".join(one.name for one in there.find_all(assistants))
    who.log(f"stops {names}")
    is_one = len(assistants) == 1
    how = f"{'does' if is_one else 'do'} not run" if not was else f"{'is' if is_one else 'are'} stopped"
    return Halted(f"{names} {how}, and {'stays' if is_one else 'stay'} so until started again.", tuple(was))


async def keep_off(there: Operated, assistant: str) -> None:
    """Keep an assistant that was halted off until it is started. No effect where a journal is only looked at."""
    if there.host.store is not None:
        await there.host.store.stay_off(assistant)


async def start(there: Operated, who: Operator, assistant: KnownAssistant) -> str:
    """Let an assistant live again, and say so. Raises what the store raises."""
    who.check(VisitorRole.OPERATOR)
    if assistant.id in there.service.runners:
        return f"{assistant.name} runs already."
    who.log(f"starts {assistant.name}")
    await there.store.start(assistant.id)
    return f"{assistant.name} starts."


def reset(there: Operated, who: Operator, assistant: str) -> str:
    """Lift the emergency stop that crashed runs set, and say so. Raises NotFound and Unavailable."""
    who.check(VisitorRole.OPERATOR)
    runner = there.runner(assistant)
    name = runner.embodiment.me.name
    if not runner.emergency:
        return f"{name} is not under an emergency stop, so nothing was done."
    runner.clear()
    who.log(f"lifts the emergency stop of {name}")
    return f"The emergency stop of {name} is lifted: it thinks again."


async def parked(there: Operated, assistant: str) -> list[tuple[str, str]]:
    """Return the ids of what was put aside because runs over it crashed, each with what was heard and why.

    Raises NotFound, Unavailable and JournalError.
    """
    return [(one.event_id, parked_text(one)) for one in await there.awake(assistant).context.memory.journal.parked()]


async def retry(there: Operated, who: Operator, assistant: str, events: Sequence[str], *, clear: bool = False) -> str:
    """Try again what was put aside, or clear it, and say so. Raises NotFound, Unavailable and JournalError."""
    who.check(VisitorRole.OPERATOR)
    awake, runner = there.awake(assistant), there.runner(assistant)
    journal, name = awake.context.memory.journal, runner.embodiment.me.name
    done = sum([await (journal.discard(one) if clear else journal.unpark(one)) for one in events])
    if not done:
        raise NotFound(f"{name} has put aside nothing of this id")
    await runner.alarms.look()
    who.log(f"{'clears' if clear else 'tries again'} what {name} had put aside")
    things = f"{done} thing{'' if done == 1 else 's'}"
    if clear:
        return f"{things} cleared: {name} does not deal with {'it' if done == 1 else 'them'}."
    awake.tick.wake()
    return f"{name} tries {things} again, and is stopped no sooner than by three more crashes."


async def clear_mind(there: Operated, who: Operator, assistant: str, *, memories: bool) -> str:
    """Delete what an assistant has in mind, its memories if told to, and say so.

    Raises NotFound, Unavailable and JournalError.
    """
    who.check(VisitorRole.OWNER)
    awake = there.awake(assistant)
    cleared = await awake.clear_mind(memories=memories)
    who.log(f"clears the mind of {awake.context.body.me.name}{' and its memories' if memories else ''}")
    return _cleared_text(awake.context.body.me.name, cleared, memories=memories)


def _cleared_text(name: str, cleared: Cleared, *, memories: bool) -> str:
    """Say what was deleted of an assistant's mind, and what was not."""
    left = "" if memories else " What it remembers of people is still there."
    gone = f", and {cleared.memories} memories" if memories else ""
    erased = "" if cleared.erased else " The bytes are removed from the file later, at the next start at the latest."
    return f"{name} has forgotten what it had in mind: {cleared.entries} entries{gone}.{left}{erased}"
