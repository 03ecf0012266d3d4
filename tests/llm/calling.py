"""A client with a pipeline of its own, quick to try again, before a fake server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)

from mud_assistant.llm import Capabilities, LLMProvider, Prices, UnifiedLLMClient, get_provider, user
from mud_assistant.llm.testing import FakeChat, FakeServer, Script, serve
from mud_assistant.resilience import (
    Account,
    Allowance,
    Caller,
    HttpExchange,
    Ledger,
    Limits,
    Pipeline,
    RetryConfig,
    UpstreamConfig,
)

reactor: Any = _reactor
ASKED = (user("Ann says: hello"),)
QUICK = RetryConfig(base_delay=0.01)
#: Whoever pays has enough, and his account tells what he paid.
PAYER = Caller("sage", accounts=(Account("sage", Allowance()),))


@dataclass(frozen=True)
class Desk:
    """Where clients are made that share a pipeline, and the server they ask."""

    url: str
    fake: FakeServer
    exchange: HttpExchange
    pipeline: Pipeline
    upstream: UpstreamConfig
    retry: RetryConfig
    prices: Prices | None = None

    def provider(self, model: str = "sage", key: str = "", url: str = "") -> LLMProvider:
        """The provider for this server, or for another one at `url`."""
        return get_provider("local", f"{url or self.url}/v1", model, key=key)

    def client(self, model: str = "sage", key: str = "", url: str = "") -> UnifiedLLMClient:
        """A client of the shared pipeline."""
        return UnifiedLLMClient(
            self.provider(model, key, url),
            self.exchange,
            reactor,
            capabilities=Capabilities(),
            limits=Limits(2, 0.5, 0.5),
            prices=self.prices,
            wall=lambda: 0.0,
            pipeline=self.pipeline,
            retry=self.retry,
            upstream=self.upstream,
        )

    @property
    def paid(self) -> Any:
        """What PAYER has paid, as (calls, tokens, money); nothing is set aside for him any more."""
        ledger = self.pipeline.ledger
        assert ledger is not None
        assert ledger.reserved("sage").plain() == {"calls": 0, "tokens": 0, "money": 0.0}
        return tuple(ledger.spent("sage").plain().values())


@asynccontextmanager
async def desk(
    script: Script,
    *,
    upstream: UpstreamConfig | None = None,
    retry: RetryConfig = QUICK,
    prices: Prices | None = None,
    server_key: str | None = None,
) -> AsyncIterator[Desk]:
    """A desk before a fake Chat Completions server with this script."""
    fake = FakeChat(reactor, script, server_key)
    exchange = HttpExchange(reactor)
    pipeline = Pipeline(reactor, Random(1), Ledger(reactor.seconds, lambda: 0.0))  # noqa: S311  (jitter)
    async with serve(fake, reactor) as url:
        try:
            yield Desk(url, fake, exchange, pipeline, upstream or UpstreamConfig(), retry, prices)
        finally:
            await exchange.close()
