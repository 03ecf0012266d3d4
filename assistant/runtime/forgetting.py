"""Lets nothing that is under way outlive what is forgotten: no night that has read it, nothing shown to watchers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from assistant.loop.run import RunContext
from assistant.runtime.sleeping import Sleep


@asynccontextmanager
async def forgetting(context: RunContext, sleep: Sleep, principal_id: str) -> AsyncIterator[None]:
    """Forget this principal, or everybody for "", in this context. Raises JournalError."""
    await sleep.forgotten(principal_id)  # before the file is rewritten: it holds what a model said of them
    try:
        yield
    finally:
        context.watchers.forget(context.me.id)
        context.questions.forget(principal_id)
        context.talk.forget_turns()
    await sleep.forgotten(principal_id)
