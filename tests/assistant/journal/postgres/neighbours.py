"""Processes that share a database, as their stores: with a session of their own, by which the others see them live."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from twisted.internet.defer import Deferred

from mud_assistant.assistant.journal.postgres.sharing.listener import Listener
from mud_assistant.assistant.journal.postgres.store import PostgresStore
from tests.assistant.journal.postgres.outage import opened


@asynccontextmanager
async def living(
    url: str, reactor: Any, name: str, on_notice: Callable[[str], None] = lambda _: None
) -> AsyncIterator[PostgresStore]:
    """An open store of a process that listens."""
    listens: Deferred[None] = Deferred()

    def hear(words: str) -> None:
        if not words and not listens.called:
            listens.callback(None)
        on_notice(words)

    async with opened(url, reactor, name=name) as store:
        listener = Listener(store.connect, store.process, reactor, hear)
        listener.start()
        await listens
        try:
            yield store
        finally:
            listener.stop()
