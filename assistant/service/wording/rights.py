"""The texts for a player about their rights. Pure."""

from __future__ import annotations

from typing import assert_never

from assistant.journal import Cleared, Forgotten
from assistant.memory.rights import Remembered
from tools.memories import MAX_TEXT, Memory, MemoryKind, describe_age
from tools.text.clean import clean_heard, one_line

#: How many memories are listed, the newest.
_MOST_LISTED = 60


def remembered_text(name: str, remembered: Remembered, now: float, command: str = "") -> str:
    """Say what the assistant remembers of a player, by number. `command` deletes one of them, empty for none."""
    entries = f"{name} has {remembered.entries} of its latest experiences with you in mind"
    if (met := remembered.met) is not None:
        times = "once" if met.visits == 1 else f"{met.visits} times"
        entries = f"{name} has met you {times}, first {describe_age(now - met.first_at)}. {entries}"
    if not remembered.memories:
        return f"{entries}, and remembers nothing of you besides"
    numbered = list(enumerate(remembered.memories, 1))
    lines = [f"  {number}. {_told(name, memory, now)}" for number, memory in numbered[:_MOST_LISTED]]
    more = f"\n  and {len(numbered) - _MOST_LISTED} older ones" if len(numbered) > _MOST_LISTED else ""
    how = f"\nTo delete one: {command} <number>" if command else ""
    return f"{entries}, and remembers of you:\n" + "\n".join(lines) + more + how + "\n"


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


def forgotten_text(name: str, forgotten: Forgotten) -> str:
    """Say what was deleted of a player."""
    waiting = f"; {forgotten.waiting} things you said wait for an answer: do this again after it"
    kept = waiting if forgotten.waiting else ""
    return (
        f"{name} has forgotten {forgotten.memories} things of you and {forgotten.entries} of its latest experiences "
        f"with you, and the records of {forgotten.runs} answers are deleted{kept}"
    )


def cleared_text(name: str, cleared: Cleared, *, memories: bool) -> str:
    """Say what was deleted of an assistant's mind, and what was not."""
    left = "" if memories else " What it remembers of people is still there."
    gone = f", and {cleared.memories} memories" if memories else ""
    erased = "" if cleared.erased else " The bytes are removed from the file later, at the next start at the latest."
    return f"{name} has forgotten what it had in mind: {cleared.entries} entries{gone}.{left}{erased}"
