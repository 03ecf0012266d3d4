"""The client and a server that misbehaves behind the fault proxy: real sockets, virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from mud_assistant.llm import (
    CircuitOpenError,
    Link,
    LLMResponse,
    ModelChain,
    UnifiedLLMClient,
    get_provider,
    user,
)
from mud_assistant.llm.testing import FakeOllama, OllamaModel, RecordedRequest, Reply, serve
from mud_assistant.resilience import (
    Caller,
    CircuitState,
    Deadline,
    HttpExchange,
    InFlightConfig,
    Limits,
    Pipeline,
    UpstreamConfig,
    origin_of,
)
from mud_assistant.resilience.testing import PASS, FaultProxy, Hang, Plan, Refuse, always, proxied
from tests.virtual import VirtualReactor, real


@dataclass
class Place:
    """A process with one pipeline and one exchange."""

    reactor: VirtualReactor
    exchange: HttpExchange
    pipeline: Pipeline

    def client(self, url: str, model: str = "sage", most: int = 32) -> UnifiedLLMClient:
        provider = get_provider("ollama", url, model)
        upstream = UpstreamConfig(in_flight=InFlightConfig(most=most, first=min(most, 8) if most < 100 else most))
        return UnifiedLLMClient(
            provider, self.exchange, self.reactor, pipeline=self.pipeline, upstream=upstream, limits=Limits()
        )


@asynccontextmanager
async def place() -> AsyncIterator[Place]:
    reactor = VirtualReactor()
    exchange = HttpExchange(reactor)
    found = Place(reactor, exchange, Pipeline(reactor, Random(5)))  # noqa: S311  (jitter)
    try:
        yield found
    finally:
        await exchange.close()
        assert reactor.getDelayedCalls() == []


@asynccontextmanager
async def server(plan: Plan) -> AsyncIterator[FaultProxy]:
    """A model that answers with its name, behind a proxy with this plan."""

    def brain(request: RecordedRequest) -> Reply:
        return Reply(f"I am {request.body['model']}.")

    async with (
        serve(FakeOllama(real, brain, {name: OllamaModel() for name in ("sage", "a", "b")}), real) as url,
        proxied(url, real, plan) as proxy,
    ):
        yield proxy


def ask(client: UnifiedLLMClient | ModelChain, name: str = "a", **more: Any) -> Deferred[LLMResponse]:
    return client.chat_completion([user("Who are you?")], caller=Caller(name), **more)


def quiet(asked: Deferred[LLMResponse], ended: list[Any]) -> Deferred[None]:
    """The call with its end noted, whatever it is."""

    def note(result: Any) -> None:
        ended.append(result.value if isinstance(result, Failure) else result)

    return asked.addBoth(note)


@pytest.mark.parametrize(("most", "sent"), [(32, 8), (4, 4), (1, 1)])
async def test_a_hung_server_opens_the_circuit_within_45_seconds(most: int, sent: int) -> None:
    """Five calls that hang do, and so do all that may be on their way when those are fewer."""
    async with server(always(Hang())) as proxy, place() as here:
        client = here.client(proxy.url, most=most)
        ended: list[Any] = []
        asked = [quiet(ask(client, f"assistant:{number}"), ended) for number in range(12)]
        await here.reactor.until(lambda: len(proxy.requests) == sent)
        breaker = here.pipeline.upstream(origin_of(proxy.url)).breaker
        await here.reactor.advance(29)
        assert breaker.state is CircuitState.CLOSED
        assert ended == []
        await here.reactor.advance(2)
        assert str(breaker.state) == "open"
        assert [type(error) for error in ended] == [CircuitOpenError] * (12 - sent)
        assert len(proxy.requests) == sent
        for call in asked:
            call.cancel()
        await here.reactor.until(lambda: proxy.open_connections == 0)
        assert breaker.permits_out == 0


async def test_a_hung_provider_leaves_the_latency_of_another_unchanged() -> None:
    async def seconds_of_twenty_calls(here: Place, url: str) -> float:
        client, started = here.client(url), here.reactor.seconds()
        done: list[Any] = []
        for number in range(20):
            quiet(ask(client, f"b:{number}"), done)
        while len(done) < 20:
            await here.reactor.advance(0.001, 0.001)
        assert all(isinstance(answer, LLMResponse) for answer in done)
        return here.reactor.seconds() - started

    async with server(always(PASS)) as alone, place() as here:
        expected = await seconds_of_twenty_calls(here, alone.url)
    async with server(always(Hang())) as hung, server(always(PASS)) as good, place() as here:
        ended: list[Any] = []
        stuck = [quiet(ask(here.client(hung.url), f"a:{number}"), ended) for number in range(50)]
        await here.reactor.until(lambda: len(hung.requests) == 8)
        assert abs(await seconds_of_twenty_calls(here, good.url) - expected) < 0.1
        for call in stuck:
            call.cancel()


async def test_the_second_model_answers_within_the_deadline_and_the_first_again_when_it_is_well() -> None:
    async with server(always(Refuse())) as first, server(always(PASS)) as second, place() as here:
        chain = ModelChain([Link(here.client(first.url, "a")), Link(here.client(second.url, "b"))], here.reactor)

        async def answer() -> str:
            done: list[Any] = []
            deadline = Deadline.after(here.reactor, 60)
            quiet(ask(chain, deadline=deadline), done)
            while not done:
                await here.reactor.advance(0.5)
            assert deadline.remaining() > 0
            return str(done[0].model)

        for _ in range(6):
            assert await answer() == "b"
        breaker = here.pipeline.upstream(origin_of(first.url)).breaker
        assert str(breaker.state) == "open"
        sent = len(first.requests)
        assert await answer() == "b"
        assert len(first.requests) == sent
        first.plan = always(PASS)
        await here.reactor.advance(31)
        assert await answer() == "a"
        assert await answer() == "a"
        assert str(breaker.state) == "closed"


async def test_a_hung_first_model_leaves_the_second_half_of_the_time() -> None:
    async with server(always(Hang())) as first, server(always(PASS)) as second, place() as here:
        chain = ModelChain([Link(here.client(first.url, "a")), Link(here.client(second.url, "b"))], here.reactor)
        done: list[Any] = []
        quiet(ask(chain, deadline=Deadline.after(here.reactor, 40)), done)
        await here.reactor.advance(19)
        assert done == []
        await here.reactor.advance(3)
        await here.reactor.until(lambda: bool(done))
        assert done[0].model == "b"
        assert here.reactor.seconds() < 40


async def test_stopping_with_a_hundred_calls_on_their_way_leaves_nothing_and_takes_no_time() -> None:
    async with server(always(Hang())) as proxy, place() as here:
        client = here.client(proxy.url, most=100)
        ended: list[Any] = []
        asked = [quiet(ask(client, f"assistant:{number}"), ended) for number in range(120)]
        await here.reactor.until(lambda: len(proxy.requests) == 100)
        before = here.reactor.seconds()
        upstream = here.pipeline.upstream(origin_of(proxy.url))
        assert (upstream.in_flight.used, len(upstream.queue), upstream.breaker.permits_out) == (100, 20, 100)
        for call in asked:
            call.cancel()
        await here.reactor.until(lambda: proxy.open_connections == 0, step=0)
        assert here.reactor.seconds() == before
        assert [type(error) for error in ended] == [CancelledError] * 120
        assert (upstream.in_flight.used, len(upstream.queue), upstream.breaker.permits_out) == (0, 0, 0)
        assert upstream.breaker.failures_in_a_row == 0
