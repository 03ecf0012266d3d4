"""Embedders with a pipeline of their own before fake servers on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

from mud_assistant.llm import get_provider
from mud_assistant.llm.embeddings.ollama import OllamaEmbeddings
from mud_assistant.llm.embeddings.openai import OpenAIEmbeddings
from mud_assistant.llm.embeddings.remote import RemoteEmbedder
from mud_assistant.llm.testing import FakeServer, serve
from mud_assistant.resilience import HttpExchange, Limits, Pipeline, RetryConfig
from tests.llm.calling import reactor

QUICK = RetryConfig(base_delay=0.01)


@asynccontextmanager
async def embedder(
    fake: FakeServer,
    api: str = "openai",
    model: str = "sage",
    *,
    key: str = "",
    reread_key: Callable[[], Awaitable[str]] | None = None,
    context_tokens: int | None = None,
    dimensions: int | None = None,
    seconds: float = 5.0,
) -> AsyncIterator[RemoteEmbedder]:
    """An embedder of a server that is up for the block."""
    exchange = HttpExchange(reactor)
    async with serve(fake, reactor) as url:
        if api == "ollama":
            dialect: OllamaEmbeddings | OpenAIEmbeddings = OllamaEmbeddings(get_provider("ollama", url, model, key=key))
        else:
            dialect = OpenAIEmbeddings(get_provider("local", f"{url}/v1", model, key=key))
        try:
            yield RemoteEmbedder(
                dialect,
                exchange,
                Pipeline(reactor, Random(1)),  # noqa: S311  (jitter)
                limits=Limits(2, 2, 2),
                retry=QUICK,
                reread_key=reread_key,
                context_tokens=context_tokens,
                dimensions=dimensions,
                seconds=seconds,
            )
        finally:
            await exchange.close()
