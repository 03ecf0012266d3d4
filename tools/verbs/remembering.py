"""The tools of a character's memory: `remember` makes a note for later, `recall` gives back notes made earlier."""

from __future__ import annotations

from pydantic import BaseModel, Field

from tools.context import ToolContext
from tools.errors import ToolRetry
from tools.notes import MAX_NOTES, Note
from tools.policy.decide import level_of
from tools.text.clean import clean_heard, one_line
from tools.tool import Arguments, Category, Labelled, Tool
from tools.trust import TOP, Source

MAX_RECALLED = 5


class RememberArguments(Arguments):
    """What to remember."""

    text: str = Field(min_length=1, max_length=500, description="one fact, as a full sentence")


async def remember(arguments: RememberArguments, context: ToolContext) -> str:
    """Store a note as learned from the requester, and confirm it. The confirmation says when old notes were dropped.

    It is trusted as little as the least trusted text in view, and never more than the requester. Its sources are all
    whose words it repeats, and its audience is only those who may be told of all that was in view.
    """
    text = one_line(arguments.text, max_chars=500)
    if not text:
        raise ToolRetry("There was no fact in 'text'. Write one sentence to remember.")
    trust = context.trust
    level = min(trust.min_level, level_of(context.requester))
    added = await context.notes.add(
        text, context.requester, level, sources=trust.sources_of(text), audience=trust.audience
    )
    if added.dropped:
        return f"You will remember it. To make room you forgot your {len(added.dropped)} oldest note(s)."
    return "You will remember it."


REMEMBER = Tool(
    name="remember",
    description="Remember one fact for later.",
    arguments=RememberArguments,
    category=Category.SAFE_CHAIN,
    execute=remember,
    source=Source.OPERATOR,
)


class RecallArguments(Arguments):
    """What to look for."""

    query: str = Field(default="", max_length=200, description="a few words to search for")


class Recalled(BaseModel):
    """One note; `heard_from` is who it was written down for, empty for nobody."""

    note: str
    heard_from: str


class Memories(BaseModel):
    """The notes that fit best, best first."""

    notes: list[Recalled]


class SomeMemories(Memories):
    """The same when there are more, which somebody else would hear of."""

    withheld: str


async def recall(arguments: RecallArguments, context: ToolContext) -> Labelled:
    """Return the notes that fit the query, the newest when it is empty; trusted as the least trusted of them.

    Only notes that came from the requester or from nobody: what Ann told is not for Bob. Notes that only Ann may hear
    come back when she is answered in private; otherwise only their number is told.
    """
    requester = context.requester
    whose = requester.id if requester else ""
    fitting = await context.notes.search(one_line(arguments.query), MAX_NOTES, about_id=whose)
    found = [note for note in fitting if note.is_for(context.trust.audience)]
    withheld = len(fitting) - len(found)
    del found[MAX_RECALLED:]
    notes = [Recalled(note=clean_heard(note.text), heard_from=_from(note)) for note in found]
    memories = Memories(notes=notes)
    if withheld and requester:
        more = f"{withheld} more are private: {one_line(requester.name, max_chars=60)} must whisper to you to hear them"
        memories = SomeMemories(notes=notes, withheld=more)
    sources = frozenset(who for note in found for who in (*note.sources, note.about_id) if who)
    return Labelled(memories, min((note.trust for note in found), default=TOP), sources)


def _from(note: Note) -> str:
    name = one_line(note.about_name)
    return f"{name} and others" if note.sources and name else name


RECALL = Tool(
    name="recall",
    description="Search what you remembered earlier.",
    arguments=RecallArguments,
    category=Category.SAFE_CHAIN,
    execute=recall,
    source=Source.MEMORY,
)
