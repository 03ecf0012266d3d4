"""The tools of a character's memory: `remember` writes a fact down for later, `recall` searches all it remembers."""

from __future__ import annotations

from pydantic import BaseModel, Field

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import ToolRetry
from mud_assistant.tools.memories import MAX_NAME, Memory, MemoryKind, describe_memory, memory_id
from mud_assistant.tools.policy.decide import level_of
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.tool import Arguments, Category, Labelled, Tool
from mud_assistant.tools.trust import TOP, Source

#: How important a fact is that the model itself chose to remember.
IMPORTANCE = 9


class RememberArguments(Arguments):
    """What to remember."""

    text: str = Field(min_length=1, max_length=500, description="one fact, as a full sentence")


async def remember(arguments: RememberArguments, context: ToolContext) -> str:
    """Write a fact down as learned from the requester, and confirm it. Says when something old made room for it.

    It is trusted as little as the least trusted text in view, and never more than the requester. Its sources are all
    whose words it repeats, and its audience is only those who may be told of all that was in view.
    """
    text = one_line(arguments.text, max_chars=500)
    if not text:
        raise ToolRetry("There was no fact in 'text'. Write one sentence to remember.")
    trust, requester = context.trust, context.requester
    who, name = (requester.id, one_line(requester.name, max_chars=MAX_NAME)) if requester else ("", "")
    kept = await context.memories.keep(
        Memory(
            memory_id(MemoryKind.FACT, who, text, trust.audience),
            text,
            MemoryKind.FACT,
            context.now(),
            who,
            name,
            importance=IMPORTANCE,
            authority=min(trust.level, level_of(requester)),
            sources=trust.sources_of(text) | ({who} if who else frozenset()),
            audience=trust.audience,
        )
    )
    if kept.dropped:
        return f"You will remember it. To make room you forgot {len(kept.dropped)} old thing(s)."
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


class RecallResult(BaseModel):
    """What fits best, best first, each with its origin."""

    memories: list[str]


class PartialRecall(RecallResult):
    """The same when more fits that others here may not hear."""

    withheld: str


async def recall(arguments: RecallArguments, context: ToolContext) -> Labelled:
    """Return what fits the query, the newest when it is empty; trusted as the least trusted of it.

    Only what all who will hear the answer may be told. Of what only the requester may hear, the number is told.
    """
    requester, now = context.requester, context.now()
    asker = requester.id if requester else ""
    query = one_line(arguments.query)
    found = await context.memories.recall(
        query, hearers=context.trust.audience, asker=asker, limit=context.shown_memories
    )
    shown = [describe_memory(memory, now) for memory in (*found.memories, *context.lore(query))]
    result = RecallResult(memories=shown)
    if found.withheld and requester:
        result = PartialRecall(memories=shown, withheld=withheld_text(found.withheld, requester.name))
    sources = frozenset(who for memory in found.memories for who in memory.sources)
    return Labelled(result, min((memory.authority for memory in found.memories), default=TOP), sources)


def withheld_text(count: int, name: str) -> str:
    """Say that more is remembered which only this person may hear, and how they can."""
    return f"{count} more are private: {one_line(name, max_chars=60)} must whisper to you to hear them"


RECALL = Tool(
    name="recall",
    description="Search what you remembered earlier.",
    arguments=RecallArguments,
    category=Category.SAFE_CHAIN,
    execute=recall,
    source=Source.MEMORY,
)
