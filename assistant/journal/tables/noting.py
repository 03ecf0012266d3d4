"""Writes down what was heard, in the inbox's transaction. SQL only."""

from __future__ import annotations

from mud_assistant.assistant.journal.database import Database, PipelinedDatabase
from mud_assistant.assistant.journal.tables import memories
from mud_assistant.assistant.journal.tables.acquaintances import learn
from mud_assistant.assistant.journal.tables.memory_row import MARKS, NEW, values_of
from mud_assistant.tools.memories import Memory

_ROOM = f"""(SELECT count(*) < {memories.PERSON_ROWS} AND coalesce(sum(size), 0) + ? <= {memories.PERSON_BYTES}
    FROM memories WHERE assistant = ? AND who = ?)"""
#: One that is there already is made newer, as by `memories.keep`, when it is from the same people for the same ears.
_NEWER = ", ".join(
    f"{column} = excluded.{column}"
    for column in ["seq", "size", "kind", "text", "who", "name", "how", "place", "superseded_by", "expires", "event"]
)
_NOTE = f"""INSERT INTO {NEW.replace("(", "(seq, ")} SELECT ?, {MARKS} WHERE {_ROOM}
    ON CONFLICT (assistant, id) DO UPDATE SET {_NEWER}, at = greatest(memories.at, excluded.at),
        importance = greatest(memories.importance, excluded.importance),
        authority = least(memories.authority, excluded.authority)
    WHERE memories.origin = excluded.origin"""
_TOTAL = f"SELECT 1 FROM memories WHERE assistant = ? HAVING count(*) <= {memories.TOTAL_ROWS}"


def note(db: Database, assistant: str, memory: Memory) -> None:
    """Write a memory down as `memories.keep` does, which is done here when its person has room."""
    if not isinstance(db, PipelinedDatabase):
        memories.keep(db, assistant, memory)
        return
    number, room = db.next_number("memories"), (memory.size_bytes, assistant, memory.who)
    values = (number, *values_of(assistant, memory), *memories.UNUSED, *room)
    db.expect(db.execute(_NOTE, values), some=True)
    if memory.facts:
        learn(db, assistant, memory)
    if number % memories.COUNTED_EVERY == 0:
        db.expect(db.execute(_TOTAL, (assistant,)), some=True)
