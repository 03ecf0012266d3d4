"""The tool `recall`: notes made earlier."""

from __future__ import annotations

from pydantic import BaseModel, Field

from tools.clean import clean_heard, one_line
from tools.context import ToolContext
from tools.tool import Arguments, Category, Labelled, Tool
from tools.trust import TOP, Source

MAX_RECALLED = 5


class RecallArguments(Arguments):
    """What to look for."""

    query: str = Field(default="", max_length=200, description="a few words to search for")


class Recalled(BaseModel):
    """One note; `heard_from` is who it came from, empty for nobody."""

    note: str
    heard_from: str


class Memories(BaseModel):
    """The notes that fit best, best first."""

    notes: list[Recalled]


async def recall(arguments: RecallArguments, context: ToolContext) -> Labelled:
    """The notes that fit the query, the newest when it is empty; trusted as the least trusted of them.

    Only notes that came from the requester or from nobody: what Ann told is not for Bob.
    """
    whose = context.requester.id if context.requester else ""
    found = await context.notes.search(one_line(arguments.query), MAX_RECALLED, about_id=whose)
    notes = [Recalled(note=clean_heard(note.text), heard_from=one_line(note.about_name)) for note in found]
    return Labelled(Memories(notes=notes), min((note.trust for note in found), default=TOP))


RECALL = Tool(
    name="recall",
    description="Search what you remembered earlier.",
    arguments=RecallArguments,
    category=Category.SAFE_CHAIN,
    execute=recall,
    source=Source.MEMORY,
)
