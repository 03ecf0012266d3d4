"""What a player may do towards an assistant: not be heard, see what it remembers of them, and be forgotten.

A player may be several to an assistant, such as each of their characters and their account: `people` are all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from mud_assistant.assistant.journal import Forgotten
from mud_assistant.assistant.memory.rights import Remembered
from mud_assistant.assistant.runtime.character import Assistant
from mud_assistant.assistant.service.operations.operated import Operated
from mud_assistant.assistant.service.operations.operators import InvalidInput, Operator, VisitorRole
from mud_assistant.tools import Principal
from mud_assistant.tools.memories import MAX_TEXT, Memory, MemoryKind, describe_age
from mud_assistant.tools.text.clean import clean_heard, one_line

#: How many memories are listed, the newest.
_MOST_LISTED = 60


async def mute(there: Assistant, people: Sequence[Principal], *, again: str = "") -> str:
    """Let an assistant neither hear nor remember a player, and say so. `again` is what to type to end that.

    Raises JournalError, as all of these do.
    """
    for who in people:
        await there.mute(who)
    how = f" To end that: {again}" if again else ""
    return f"{there.context.body.me.name} neither hears nor remembers you from now on.{how}"


async def unmute(there: Assistant, people: Sequence[Principal]) -> str:
    """Let an assistant hear a player again, and say so."""
    for who in people:
        await there.rights.unmute(who)
    return f"{there.context.body.me.name} hears you again."


async def forget(there: Assistant, people: Sequence[Principal]) -> str:
    """Delete what an assistant keeps of a player, and say what that was."""
    gone = _summed([await there.forget(who) for who in people])
    waiting = f"; {gone.waiting} things you said wait for an answer: do this again after it" if gone.waiting else ""
    return (
        f"{there.context.body.me.name} has forgotten {gone.memories} things of you and {gone.entries} of its latest "
        f"experiences with you, and the records of {gone.runs} answers are deleted{waiting}."
    )


async def forget_one(there: Assistant, people: Sequence[Principal], number: int, listed_by: str) -> str:
    """Delete one thing by the number it is listed under, and say so. Raises InvalidInput for a number of nothing.

    `listed_by` is what to type to see the numbers.
    """
    memories, name = (await _seen(there, people)).memories, there.context.body.me.name
    if not 1 <= number <= len(memories):
        raise InvalidInput(f"{name} remembers no number {number}. See: {listed_by}")
    for who in people:
        await there.drop(who, memories[number - 1].id)
    return f"{name} has forgotten number {number}; the numbers after it are one less now."


async def remembered(there: Assistant, people: Sequence[Principal], delete: str) -> str:
    """Say what an assistant remembers of a player, by number. `delete` is what to type before one of them."""
    name, now, seen = there.context.body.me.name, there.context.process.clock.seconds(), await _seen(there, people)
    entries = f"{name} has {seen.entries} of its latest experiences with you in mind"
    if (met := seen.met) is not None:
        times = "once" if met.visits == 1 else f"{met.visits} times"
        entries = f"{name} has met you {times}, first {describe_age(now - met.first_at)}. {entries}"
    if not seen.memories:
        return f"{entries}, and remembers nothing of you besides"
    numbered = list(enumerate(seen.memories, 1))
    lines = [f"  {number}. {_told(name, memory, now)}" for number, memory in numbered[:_MOST_LISTED]]
    more = f"\n  and {len(numbered) - _MOST_LISTED} older ones" if len(numbered) > _MOST_LISTED else ""
    return f"{entries}, and remembers of you:\n" + "\n".join(lines) + f"{more}\nTo delete one: {delete} <number>\n"


async def forget_everywhere(there: Operated, who: Operator, player: Principal) -> str:
    """Delete what every running assistant keeps of a player: the owner's deed. Say what that was, and who is left."""
    who.check(VisitorRole.OWNER)
    awake = [runner.assistant for runner in there.service.runners.values()]
    total = _summed([await one.forget(player) for one in awake if one is not None])
    who.log(f"lets all assistants forget {player.id}")
    said = (
        f"Forgotten: {total.memories} memories, {total.entries} entries of what assistants have in mind, the records "
        f"of {total.runs} answers."
    )
    if total.waiting:
        said += f" {total.waiting} things they said wait for an answer: do this again after it."
    runners = there.service.runners
    off = [one.name for one in there.known() if one.id not in runners or runners[one.id].assistant is None]
    if off:
        said += f" These do not run, and forget nobody until they do: {', '.join(off)}. Do this again then."
    return said


def _summed(each: Sequence[Forgotten]) -> Forgotten:
    """Add the counts."""
    names = [name for name in Forgotten.__struct_fields__ if name != "erased"]
    return Forgotten(**{name: sum(getattr(one, name) for one in each) for name in names})


async def _seen(there: Assistant, people: Sequence[Principal]) -> Remembered:
    """Return what the assistant remembers of all the people that a player is."""
    seen = [await there.rights.see(who) for who in people]
    memories = {memory.id: memory for one in seen for memory in one.memories}
    met = next((one.met for one in seen if one.met is not None), None)
    return Remembered(tuple(memories.values()), sum(one.entries for one in seen), met)


def _told(name: str, memory: Memory, now: float) -> str:
    """Tell a player one thing that the assistant `name` remembers of them."""
    age, text = describe_age(now - memory.at), clean_heard(memory.text, MAX_TEXT)
    match memory.kind:
        case MemoryKind.HEARD:
            how = (memory.how or "said").replace(" you", f" {name}")
            return f'{age}, {one_line(memory.name)} {how}: "{text}"'
        case MemoryKind.SEEN | MemoryKind.LORE:
            return f"{age}: {text.replace(' you ', f' {name} ')}"
        case MemoryKind.REFLECTION:
            return f"{age}, {name} concluded: {text}"
        case MemoryKind.FACT | MemoryKind.NOTE:
            return f"{age}, {name} noted: {text}"
        case _:
            assert_never(memory.kind)
