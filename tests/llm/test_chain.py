"""Several models in a row, each at a server of its own: the first that can answer does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

import pytest
from msgspec.structs import replace
from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock, deferLater
from twisted.logger import capturedLogs

from mud_assistant.llm import (
    BadCredential,
    BudgetReached,
    CircuitOpenError,
    ContextOverflow,
    LLMDeadlineExceeded,
    LLMError,
    QuotaExhausted,
    RateLimited,
    Rejected,
    Unavailable,
)
from mud_assistant.llm.chain import Link, ModelChain
from mud_assistant.llm.response import StreamEvent
from mud_assistant.llm.testing import (
    DieMidStream,
    EndEarly,
    FakeChat,
    Garbage,
    Hang,
    HttpError,
    Reply,
    Script,
    Step,
    serve,
)
from mud_assistant.resilience import (
    Account,
    Allowance,
    BreakerConfig,
    Caller,
    Deadline,
    HttpExchange,
    Ledger,
    Pipeline,
    RetryConfig,
    UpstreamConfig,
)
from tests.llm.calling import ASKED, Desk, reactor

HELLO = Reply("Hello from A.")
OTHER = Reply("Hello from B.")
#: One failure opens a circuit, for a short while; one success closes it.
TOUCHY = UpstreamConfig(BreakerConfig(failure_threshold=1, reset_timeout=20.0, success_threshold=1))
pytestmark = pytest.mark.usefixtures("reactor_baseline")


@dataclass(frozen=True)
class Row:
    """A chain of two or three, and the servers that its models are at."""

    chain: ModelChain
    fakes: list[FakeChat]

    @property
    def asked(self) -> list[int]:
        """How often each model was asked."""
        return [len(fake.chats) for fake in self.fakes]

    async def ask(self, error: type[LLMError] | None = None) -> LLMError | str:
        """The answer, or the error that there must be instead."""
        if error is None:
            return (await self.chain.chat_completion(ASKED)).content
        with pytest.raises(error) as caught:
            await self.chain.chat_completion(ASKED)
        assert caught.type is error
        return caught.value


@asynccontextmanager
async def row(
    a: Script, b: Script, upstream: UpstreamConfig | None = None, clock: IReactorTime = reactor
) -> AsyncIterator[Row]:
    """Model `a` at one server and model `b` at another, each asked once a call. Circuits go by `clock`."""
    fakes = [FakeChat(reactor, a), FakeChat(reactor, b)]
    exchange = HttpExchange(reactor)
    pipeline = Pipeline(clock, Random(1), Ledger(reactor.seconds, lambda: 0.0))  # noqa: S311  (jitter)
    async with serve(fakes[0], reactor) as first, serve(fakes[1], reactor) as second:
        once = RetryConfig(max_attempts=1)
        desks = [
            Desk(url, fake, exchange, pipeline, upstream or UpstreamConfig(), once)
            for url, fake in zip((first, second), fakes, strict=True)
        ]
        links = [
            Link(desk.client(name), {"max_tokens": size})
            for desk, name, size in zip(desks, "ab", (11, 22), strict=True)
        ]
        try:
            yield Row(ModelChain(links, reactor), fakes)
        finally:
            await exchange.close()


async def test_the_first_answers_while_it_can() -> None:
    async with row([HELLO], []) as models:
        answer = await models.chain.chat_completion(ASKED)
        assert (answer.content, answer.model) == ("Hello from A.", "a")
        assert models.asked == [1, 0]
        assert models.chain.record is models.chain.links[0].client.record
        assert models.chain.provider.model == "a"


@pytest.mark.parametrize(
    "fault",
    [
        HttpError(500),
        HttpError(429, "slow down"),
        HttpError(402, "no credit"),
        HttpError(401, "wrong key"),
        HttpError(404, "model 'a' not found"),
        HttpError(500, "output that does not match the expected format"),
        DieMidStream(1),
        EndEarly(1),
        Garbage(),
        Hang("headers"),
    ],
)
async def test_the_next_answers_when_the_first_cannot(fault: Step) -> None:
    async with row([fault], [OTHER]) as models:
        with capturedLogs() as logged:
            answer = await models.chain.chat_completion(ASKED)
        assert (answer.content, answer.model) == ("Hello from B.", "b")
        assert models.asked == [1, 1]
        assert models.chain.record is models.chain.links[1].client.record
        assert [event["log_event"] for event in logged if event.get("log_event") == "fallback"] == ["fallback"]


async def test_each_model_is_asked_as_its_own_settings_say() -> None:
    async with row([HttpError(500)], [OTHER]) as models:
        await models.ask()
        assert [fake.chats[0].body["max_tokens"] for fake in models.fakes] == [11, 22]


async def test_the_callers_options_come_before_those_of_the_model() -> None:
    async with row([HELLO], []) as models:
        await models.chain.chat_completion(ASKED, max_tokens=7)
        assert models.fakes[0].chats[0].body["max_tokens"] == 7


async def test_the_first_is_left_alone_while_it_is_sick_and_used_again_when_it_is_well() -> None:
    clock = Clock()
    async with row([HttpError(500), HELLO], lambda _: OTHER, TOUCHY, clock) as models:
        assert await models.ask() == "Hello from B."
        assert await models.ask() == "Hello from B."
        assert models.asked == [1, 2]
        clock.advance(30.0)
        assert await models.ask() == "Hello from A."
        assert models.asked[0] == 2
        assert models.chain.record is models.chain.links[0].client.record


async def test_a_first_one_that_hangs_leaves_half_of_the_time() -> None:
    async with row([Hang("headers")], [OTHER]) as models:
        deadline = Deadline.after(reactor, 0.8)
        answer = await models.chain.chat_completion(ASKED, deadline=deadline)
        assert answer.content == "Hello from B."
        assert models.fakes[1].chats[0].at >= deadline.at - 0.4


async def test_when_all_hang_the_time_is_over_for_all() -> None:
    async with row([Hang("headers")], [Hang("headers")]) as models:
        with pytest.raises(LLMDeadlineExceeded):
            await models.chain.chat_completion(ASKED, deadline=Deadline.after(reactor, 0.8))
        assert models.asked == [1, 1]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (HttpError(400, "maximum context length is 10 tokens"), ContextOverflow),
        (HttpError(400, "no such field"), Rejected),
    ],
)
async def test_what_is_wrong_with_the_question_is_wrong_everywhere(fault: Step, error: type[LLMError]) -> None:
    async with row([fault], [OTHER]) as models:
        await models.ask(error)
        assert models.asked == [1, 0]


async def test_an_empty_purse_is_empty_for_all() -> None:
    broke = Caller("sage", accounts=(Account("ann", Allowance(calls=0)),))
    async with row([HELLO], [OTHER]) as models:
        with pytest.raises(BudgetReached) as caught:
            await models.chain.chat_completion(ASKED, caller=broke)
        assert (caught.value.account, caught.value.what) == ("ann", "calls")
        assert caught.value.retry_at is not None
        assert models.asked == [0, 0]


async def test_no_other_is_asked_once_something_was_heard() -> None:
    heard: list[StreamEvent] = []
    async with row([EndEarly(2)], [OTHER]) as models:
        with pytest.raises(Unavailable):
            await models.chain.chat_completion(ASKED, listener=heard.append)
        assert heard
        assert models.asked == [1, 0]


async def test_another_is_asked_while_nothing_was_heard() -> None:
    heard: list[StreamEvent] = []
    async with row([HttpError(500)], [OTHER]) as models:
        answer = await models.chain.chat_completion(ASKED, listener=heard.append)
        assert answer.content == "Hello from B."
        assert heard


async def test_cancelling_asks_no_other() -> None:
    async with row([Hang("headers")], [OTHER]) as models:
        running = models.chain.chat_completion(ASKED)
        while not models.fakes[0].chats:
            await deferLater(reactor, 0.01)
        running.cancel()
        with pytest.raises(CancelledError):
            await running
        assert models.asked == [1, 0]


@pytest.mark.parametrize(
    ("a", "b", "error"),
    [
        (HttpError(500, "A is down"), HttpError(503, "B is busy"), Unavailable),
        (HttpError(401, "A is down"), HttpError(503, "B is busy"), Unavailable),
        (HttpError(500, "A is down"), HttpError(401, "B is busy"), Unavailable),
        (HttpError(402, "A is down"), HttpError(401, "B is busy"), BadCredential),
    ],
)
async def test_when_none_can_the_error_is_of_one_that_may_again_and_tells_of_all(
    a: Step, b: Step, error: type[LLMError]
) -> None:
    async with row([a], [b]) as models:
        told = await models.ask(error)
        assert "A is down" in str(told)
        assert "B is busy" in str(told)
        assert "\n" not in str(told)


@pytest.mark.parametrize(
    ("a", "b", "error", "seconds"),
    [
        (HttpError(429, "A", {"Retry-After": "70"}), HttpError(503, "B", {"Retry-After": "90"}), RateLimited, 70),
        (HttpError(503, "A", {"Retry-After": "90"}), HttpError(429, "B", {"Retry-After": "70"}), Unavailable, 70),
        (HttpError(429, "A", {"Retry-After": "70"}), HttpError(401, "B"), RateLimited, 70),
        (HttpError(429, "A", {"Retry-After": "70"}), HttpError(500, "B"), RateLimited, None),
        (HttpError(402, "A", {"Retry-After": "70"}), HttpError(401, "B"), BadCredential, None),
    ],
)
async def test_the_time_of_all_is_the_earliest_and_unknown_when_one_of_them_is(
    a: Step, b: Step, error: type[LLMError], seconds: float | None
) -> None:
    async with row([a], [b]) as models:
        told = await models.ask(error)
        assert isinstance(told, LLMError)
        if seconds is None:
            assert told.retry_at is None
        else:
            assert told.retry_at == pytest.approx(reactor.seconds() + seconds, abs=5)


async def test_the_time_of_all_is_that_of_the_first_circuit_to_be_tried_again() -> None:
    config = UpstreamConfig(BreakerConfig(failure_threshold=1, reset_timeout=20.0))
    async with row([HttpError(500)], [HttpError(429, "B", {"Retry-After": "70"})], config) as models:
        await models.ask(Unavailable)
        told = await models.ask(CircuitOpenError)
        assert isinstance(told, LLMError)
        assert told.retry_at == pytest.approx(reactor.seconds() + 20, abs=5)
        assert models.asked == [1, 1]


async def test_a_lasting_cause_is_told_even_when_the_next_one_has_no_credit() -> None:
    async with row([HttpError(401, "wrong key")], [HttpError(402, "no credit")]) as models:
        told = await models.ask(QuotaExhausted)
        assert isinstance(told, LLMError)
        assert not told.retryable


def test_a_chain_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ModelChain([], reactor)


@pytest.mark.parametrize("vary", [False, True])
async def test_each_model_is_asked_with_its_own_parameters(vary: bool) -> None:
    """A fallback gets neither the first model's own parameters nor what varies the answers of its server."""
    async with row([HttpError(503)], [OTHER]) as models:
        first, second = models.chain.links
        own = [
            replace(first, options={"extra_params": {"top_k": 7}}),
            replace(second, options={"extra_params": {"seed": 3}}),
        ]
        answer = await ModelChain(own, reactor).chat_completion(ASKED, vary=vary)
        assert answer.content == "Hello from B."
        one, other = (fake.chats[0].body for fake in models.fakes)
        assert (one["top_k"], other["seed"]) == (7, 3)
        assert "seed" not in one
        assert "top_k" not in other
        assert ("min_p" in one, "min_p" in other) == (vary, vary)
