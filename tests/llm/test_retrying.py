"""One call over a real socket, tried again where that may help and never where it does not."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest
from twisted.internet.defer import CancelledError
from twisted.internet.task import deferLater

from mud_assistant.llm import (
    BadCredential,
    CircuitOpenError,
    ContextOverflow,
    LLMError,
    ModelNotFound,
    ProtocolError,
    QuotaExhausted,
    RateLimited,
    Rejected,
    StreamBroken,
    Unavailable,
)
from mud_assistant.llm.response import StreamEvent
from mud_assistant.llm.testing import DieMidStream, EndEarly, ErrorInStream, Garbage, Hang, HttpError, Reply, Step
from mud_assistant.resilience import BreakerConfig, CircuitState, Deadline, RetryConfig, UpstreamConfig
from tests.llm.calling import ASKED, Desk, desk, reactor

HELLO = Reply("Hello.")
pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def ask(here: Desk, error: type[LLMError] | None = None, **options: Any) -> Any:
    """The answer of one call, or the error that it must fail with."""
    client = here.client(**options)
    if error is None:
        return (await client.chat_completion(ASKED)).content
    with pytest.raises(error) as caught:
        await client.chat_completion(ASKED)
    assert caught.type is error
    return caught.value


@pytest.mark.parametrize(
    "fault",
    [
        HttpError(500),
        HttpError(503, "busy"),
        HttpError(529, "overloaded"),
        HttpError(408, "too slow"),
        HttpError(409, "conflict"),
        HttpError(429, "slow down"),
        HttpError(400, "odd", {"x-should-retry": "true"}),
        DieMidStream(1),
        EndEarly(1),
        ErrorInStream("the runner crashed"),
        Garbage(),
        Hang("headers"),
    ],
)
async def test_what_may_pass_is_tried_again(fault: Step) -> None:
    async with desk([fault, HELLO]) as here:
        assert await ask(here) == "Hello."
        assert len(here.fake.chats) == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (HttpError(400, "no such field"), Rejected),
        (HttpError(400, "maximum context length is 10 tokens"), ContextOverflow),
        (HttpError(404, "model 'sage' not found"), ModelNotFound),
        (HttpError(422, "no"), Rejected),
        (HttpError(401, "no"), BadCredential),
        (HttpError(403, "no"), BadCredential),
        (HttpError(402, "no"), QuotaExhausted),
        (HttpError(429, "insufficient_quota"), QuotaExhausted),
        (HttpError(500, "broken for good", {"x-should-retry": "false"}), Unavailable),
        (HttpError(429, "slow down", {"x-should-retry": "false"}), RateLimited),
    ],
)
async def test_what_does_not_pass_is_not(fault: Step, error: type[LLMError]) -> None:
    async with desk([fault, HELLO]) as here:
        await ask(here, error)
        assert len(here.fake.chats) == 1


async def test_three_attempts_are_made_and_the_last_failure_is_told() -> None:
    async with desk([HttpError(500, f"number {number}") for number in (1, 2, 3)]) as here:
        assert "number 3" in str(await ask(here, Unavailable))
        assert len(here.fake.chats) == 3


async def test_one_attempt_may_be_all_there_are() -> None:
    async with desk([HttpError(500), HELLO], retry=RetryConfig(max_attempts=1)) as here:
        await ask(here, Unavailable)
        assert len(here.fake.chats) == 1


async def test_an_answer_that_is_none_is_tried_once_more_and_no_further() -> None:
    async with desk([Garbage(), Garbage(), HELLO]) as here:
        await ask(here, ProtocolError)
        assert len(here.fake.chats) == 2


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    "retry_after", [{"retry-after-ms": "150"}, {"retry-after-ms": "0", "retry-after": "0.15"}, {"Retry-After": "0.15"}]
)
async def test_it_is_not_before_the_servers_wish(status: int, retry_after: dict[str, str]) -> None:
    async with desk([HttpError(status, "wait", retry_after), HELLO]) as here:
        assert await ask(here) == "Hello."
        first, second = here.fake.chats
        assert second.at - first.at >= 0.15


async def test_a_wish_may_be_a_date() -> None:
    dates = {"Date": formatdate(1000, usegmt=True), "Retry-After": formatdate(1001, usegmt=True)}
    async with desk([HttpError(429, "wait", dates), HELLO]) as here:
        assert await ask(here) == "Hello."
        first, second = here.fake.chats
        assert second.at - first.at >= 1.0


async def test_a_wish_for_more_than_a_minute_fails_at_once_and_is_kept() -> None:
    async with desk([HttpError(429, "wait", {"Retry-After": "61"}), HELLO, HELLO]) as here:
        before = reactor.seconds()
        told = await ask(here, RateLimited)
        assert before + 61 <= told.retry_at <= reactor.seconds() + 61
        again = await ask(here, RateLimited)
        assert again.retry_at == told.retry_at
        assert "wait" in str(again)
        assert len(here.fake.chats) == 1
        assert await ask(here, model="other") == "Hello."


@pytest.mark.parametrize("fault", [HttpError(402, "no credit"), HttpError(429, "insufficient_quota")])
async def test_an_empty_account_cools_its_model_and_no_other(fault: Step) -> None:
    async with desk([fault, HELLO]) as here:
        await ask(here, QuotaExhausted)
        assert (await ask(here, RateLimited)).retry_at > reactor.seconds() + 60
        assert len(here.fake.chats) == 1
        assert await ask(here, model="other") == "Hello."


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_not_shown_again_until_it_changes(status: int) -> None:
    async with desk([HttpError(status, "who are you?"), HELLO, HELLO]) as here:
        await ask(here, BadCredential, key="planted-one")
        for model in ("sage", "other"):
            assert "who are you?" in str(await ask(here, BadCredential, key="planted-one", model=model))
        assert len(here.fake.chats) == 1
        assert await ask(here, key="planted-two") == "Hello."
        here.pipeline.configuration_changed(here.url)
        assert await ask(here, key="planted-one") == "Hello."


async def test_those_who_wait_for_a_server_go_at_once_when_its_settings_are_new() -> None:
    async with desk([HttpError(429, "wait", {"Retry-After": "50"}), HELLO]) as here:
        waits_to_try_again = here.client().chat_completion(ASKED)
        while not here.pipeline.quota(next(iter(here.pipeline._quotas))).cool_until:
            await deferLater(reactor, 0.01)
        waits_in_the_queue = here.client().chat_completion(ASKED)
        assert here.pipeline.snapshot().upstreams[0].waiting == 1
        here.pipeline.configuration_changed(here.url)
        assert here.pipeline.snapshot().upstreams[0].waiting == 0
        assert (await waits_in_the_queue).content == "Hello."
        waits_to_try_again.cancel()
        with pytest.raises(CancelledError):
            await waits_to_try_again


async def test_new_settings_of_one_server_lift_nothing_of_another() -> None:
    async with desk([HttpError(401, "no"), HELLO]) as here:
        await ask(here, BadCredential)
        here.pipeline.configuration_changed("http://127.0.0.1:1")
        await ask(here, BadCredential)
        assert len(here.fake.chats) == 1


@pytest.mark.parametrize("fault", [DieMidStream(2), EndEarly(2), ErrorInStream("the runner crashed", 2)])
async def test_it_is_not_tried_again_after_the_listener_heard_something(fault: Step) -> None:
    heard: list[StreamEvent] = []
    async with desk([fault, HELLO]) as here:
        with pytest.raises((StreamBroken, Unavailable)):
            await here.client().chat_completion(ASKED, listener=heard.append)
        assert heard
        assert len(here.fake.chats) == 1


async def test_it_is_tried_again_before_the_listener_heard_anything() -> None:
    heard: list[StreamEvent] = []
    async with desk([HttpError(500), HELLO]) as here:
        answer = await here.client().chat_completion(ASKED, listener=heard.append)
        assert answer.content == "Hello."
        assert heard


async def test_the_attempts_share_one_deadline() -> None:
    slow = RetryConfig(base_delay=30.0)
    async with desk([HttpError(500, "down"), HELLO], retry=slow) as here:
        with pytest.raises(Unavailable, match="down"):
            await here.client().chat_completion(ASKED, deadline=Deadline.after(reactor, 2.0))
        assert len(here.fake.chats) == 1


async def test_cancelling_between_attempts_leaves_nothing() -> None:
    async with desk([HttpError(503, "wait", {"Retry-After": "30"})]) as here:
        running = here.client().chat_completion(ASKED)
        reactor.callLater(0.1, running.cancel)
        with pytest.raises(CancelledError):
            await running
        [upstream] = here.pipeline.snapshot().upstreams
        assert (upstream.in_flight, upstream.waiting, upstream.permits_out) == (0, 0, 0)


async def test_a_server_that_fails_call_after_call_is_left_alone() -> None:
    config = UpstreamConfig(BreakerConfig(failure_threshold=2))
    async with desk([HttpError(500)] * 9, upstream=config) as here:
        for _ in range(2):
            await ask(here, Unavailable)
        assert len(here.fake.chats) == 3 + 1  # the second call opened the circuit with its first attempt
        told = await ask(here, CircuitOpenError)
        assert len(here.fake.chats) == 3 + 1
        assert told.name == here.url
        assert 0 < told.retry_after <= 30
        assert told.retry_at == pytest.approx(reactor.seconds() + told.retry_after, abs=5)
        assert told.retryable
        await ask(here, CircuitOpenError, model="other")


@pytest.mark.parametrize("fault", [HttpError(429, "slow down"), HttpError(400, "odd"), HttpError(409, "conflict")])
async def test_what_is_no_failure_of_the_server_opens_nothing(fault: Step) -> None:
    config = UpstreamConfig(BreakerConfig(failure_threshold=1))
    async with desk(lambda _: fault, upstream=config) as here:
        with pytest.raises(LLMError):
            await here.client().chat_completion(ASKED)
        [upstream] = here.pipeline.snapshot().upstreams
        assert upstream.state is CircuitState.CLOSED
        assert upstream.failures_in_a_row == 0


async def test_a_call_that_waits_when_the_circuit_opens_is_told_what_it_met() -> None:
    """The call that failed itself says how; only a call that was never made says that the circuit is open."""
    config = UpstreamConfig(BreakerConfig(failure_threshold=1))
    async with desk([HttpError(500, "the cause")], upstream=config) as here:
        assert "the cause" in str(await ask(here, Unavailable))
        assert len(here.fake.chats) == 1
