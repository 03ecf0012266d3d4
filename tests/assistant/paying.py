"""A client whose budget is kept in a journal on disk, as an assistant's is: for one process's life, or a test's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, DeferredList

from mud_assistant.assistant.journal import Store, StoredUsage
from mud_assistant.assistant.service.usage_store import UsageStore
from mud_assistant.llm import BudgetReached, Capabilities, UnifiedLLMClient, get_provider, user
from mud_assistant.resilience import Account, Allowance, Caller, HttpExchange, Keep, Ledger, Pipeline, UpstreamConfig
from mud_assistant.resilience.admission.capacity import InFlightConfig
from tests.assistant.journal.keeping import NOON

ACCOUNT = "all assistants"


def noon() -> float:
    return NOON


@dataclass(frozen=True)
class Payer:
    """Asks a model on somebody's account."""

    client: UnifiedLLMClient
    pipeline: Pipeline
    caller: Caller

    @property
    def ledger(self) -> Ledger:
        assert self.pipeline.ledger is not None
        return self.pipeline.ledger

    def calls(self) -> int:
        """What is spent."""
        return self.ledger.spent(ACCOUNT).calls

    async def ask(self, words: str) -> None:
        """One answer. Raises LLMError."""
        await self.client.chat_completion([user(words)], caller=self.caller)

    async def ask_until_spent(self, words: str) -> None:
        """Answer after answer."""
        while True:
            try:
                await self.ask(words)
            except BudgetReached:
                return

    async def all_ask_until_spent(self, many: int, words: str) -> None:
        """That many at the same time."""
        works = [Deferred.fromCoroutine(self.ask_until_spent(words)) for _ in range(many)]
        await DeferredList(works, fireOnOneErrback=True)


@asynccontextmanager
async def paying(
    path: Path,
    reactor: Any,
    url: str,
    allowance: Allowance,
    *,
    wall: Callable[[], float] = noon,
    slow: Callable[[Keep], Keep] = lambda keep: keep,
) -> AsyncIterator[Payer]:
    """One life of a process, ended cleanly. `slow` may put something between ledger and disk."""
    store, exchange = Store(path, reactor, wall), HttpExchange(reactor)
    await store.open()
    ledger = Ledger(reactor.seconds, wall)
    spending = UsageStore(ledger, StoredUsage(store))
    await spending.restore()
    pipeline = Pipeline(reactor, Random(1), ledger, slow(spending.keep))  # noqa: S311  (jitter)
    client = UnifiedLLMClient(
        get_provider("local", f"{url}/v1", "sage"),
        exchange,
        reactor,
        capabilities=Capabilities(),
        pipeline=pipeline,
        upstream=UpstreamConfig(in_flight=InFlightConfig(most=100, first=100), start_seconds=0.0),
    )
    try:
        yield Payer(client, pipeline, Caller("sage", accounts=(Account(ACCOUNT, allowance),)))
    finally:
        await pipeline.write_ledger()
        await store.close()
        await exchange.close()
