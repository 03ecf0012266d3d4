"""What a player is told of his rights and of what the assistant asks leave to do. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.journal import Forgotten
from assistant.rights import Remembered
from tools import Pending
from tools.clean import one_line
from tools.policy import rank


def remembered_text(name: str, remembered: Remembered) -> str:
    """What the assistant remembers of a player."""
    entries = f"{name} has {remembered.entries} of its latest experiences with you in mind"
    if not remembered.notes:
        return f"{entries}, and has noted down nothing about you"
    notes = "\n".join(f"  - {one_line(note.text)}" for note in remembered.notes)
    return f"{entries}, and has noted down:\n{notes}\n"


def forgotten_text(name: str, forgotten: Forgotten) -> str:
    """What was deleted."""
    waiting = f"; {forgotten.waiting} things you said wait for an answer: do this again after it"
    kept = waiting if forgotten.waiting else ""
    return (
        f"{name} has forgotten {forgotten.notes} notes and {forgotten.entries} memories of you, and the records of "
        f"{forgotten.runs} answers are deleted{kept}"
    )


def approvals_text(pending: Sequence[Pending]) -> str:
    """What the assistant asks leave for, with the literal call."""
    lines = []
    for asked in pending:
        whose = one_line(asked.requester.name) if asked.requester else "nobody"
        lines.append(
            f"number {asked.number}: {one_line(asked.shown)} (for {whose}; {rank(asked.permission)} may allow it)"
        )
    return "\n".join(lines) or "(Nothing is asked for.)"
