"""What an attempt costs, what it gives away, and what of the response it tells whoever paces the next ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from msgspec.structs import replace
from twisted.internet.defer import CancelledError
from twisted.logger import capturedLogs
from twisted.protocols.policies import WrappingFactory
from twisted.web.server import Site

from mud_assistant.llm import (
    LLMDeadlineExceeded,
    LLMError,
    Prices,
    RateLimited,
    StreamBroken,
    Unavailable,
    UnifiedLLMClient,
    get_provider,
)
from mud_assistant.llm.testing import (
    EndEarly,
    FakeAnthropic,
    FakeChat,
    Hang,
    HttpError,
    Raw,
    Reply,
    Script,
    Step,
    serve,
)
from mud_assistant.resilience import BreakerConfig, CircuitState, Deadline, RetryConfig, UpstreamConfig
from tests.llm.calling import ASKED, PAYER, desk, reactor
from tests.resilience.http.test_tls import HERE, certificate, server_options

KEY = "planted-key"
ONCE = RetryConfig(max_attempts=1)
#: An answer whose end mark comes without any usage.
SILENT = Raw(
    200,
    {"Content-Type": "text/event-stream"},
    [b'data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'],
)
pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def paid(script: Script, **options: Any) -> Any:
    """What PAYER has paid for one call, whatever became of it."""
    async with desk(script, **options) as here:
        with suppress(LLMError):
            await here.client().chat_completion(ASKED, caller=PAYER)
        return here.paid


async def test_what_the_server_reports_is_paid() -> None:
    assert await paid([Reply("Hello.", usage=(900, 100))]) == (1, 1000, 0.0)


async def test_what_the_server_reports_is_paid_at_the_configured_prices() -> None:
    assert await paid([Reply("Hello.", usage=(1000, 100))], prices=Prices(2.0, 10.0)) == (1, 1100, 0.003)


async def test_what_it_does_not_report_is_estimated() -> None:
    calls, tokens, money = await paid([SILENT], prices=Prices(1_000_000.0, 0.0))
    assert calls == 1
    assert 10 < tokens < 100
    assert 10 < money < 100


async def test_an_answer_that_broke_off_was_paid_for() -> None:
    calls, tokens, _ = await paid([EndEarly(3, Reply("one two three four"))], retry=ONCE)
    assert calls == 1
    assert tokens > 10


async def test_an_answer_that_was_given_up_in_its_middle_was_paid_for() -> None:
    calls, tokens, _ = await paid([Hang("mid", 3)], retry=ONCE)
    assert calls == 1
    assert tokens > 10


async def test_the_whole_text_of_an_answer_that_broke_off_was_paid_for_whatever_was_reported_before_it() -> None:
    """Anthropic's first event reports one token of output, its last one the rest."""
    fake = FakeAnthropic(reactor, [EndEarly(150, Reply("word " * 200, usage=(1000, 200)))])
    async with desk([], retry=ONCE) as here, serve(fake, reactor) as url:
        provider = get_provider("anthropic", url, "m")
        client = UnifiedLLMClient(provider, here.exchange, reactor, pipeline=here.pipeline, retry=ONCE)
        with pytest.raises(StreamBroken) as caught:
            await client.chat_completion(ASKED, caller=PAYER)
        calls, tokens, _ = here.paid
        assert calls == 1
        assert tokens >= 1000 + len(caught.value.partial) // 8 > 1050


async def test_an_error_costs_nothing() -> None:
    assert await paid([HttpError(500)], retry=ONCE) == (0, 0, 0.0)


async def test_every_answer_that_began_is_paid_and_no_failed_attempt() -> None:
    assert await paid([HttpError(500), HttpError(500), Reply("x", usage=(9, 1))]) == (1, 10, 0.0)
    calls, tokens, _ = await paid([EndEarly(3, Reply("one two three four")), Reply("x", usage=(9, 1))])
    assert calls == 2
    assert tokens > 20


async def test_nothing_is_paid_when_there_is_nobody_to_ask() -> None:
    async with desk([], retry=ONCE) as here:
        with pytest.raises(Unavailable, match="cannot connect"):
            await here.client(url="http://127.0.0.1:1").chat_completion(ASKED, caller=PAYER)
        assert here.paid == (0, 0, 0.0)


async def test_nothing_is_paid_for_a_call_that_is_not_made() -> None:
    async with desk([HttpError(429, "wait", {"Retry-After": "99"})]) as here:
        for _ in range(2):
            with pytest.raises(RateLimited):
                await here.client().chat_completion(ASKED, caller=PAYER)
        assert here.paid == (0, 0, 0.0)


async def test_a_call_that_is_cancelled_keeps_nothing_set_aside() -> None:
    async with desk([Hang("headers")]) as here:
        running = here.client().chat_completion(ASKED, caller=PAYER)
        reactor.callLater(0.1, running.cancel)
        with pytest.raises(CancelledError):
            await running
        assert here.paid == (0, 0, 0.0)


@pytest.mark.parametrize("in_time", [True, False])
async def test_a_deadline_blames_nobody_but_a_server_that_hangs_is_blamed_in_time(in_time: bool) -> None:
    config = UpstreamConfig(BreakerConfig(failure_threshold=1, hang_seconds=0.05 if in_time else 5.0))
    async with desk([Hang("headers")], upstream=config) as here:
        with pytest.raises(LLMDeadlineExceeded):
            await here.client().chat_completion(ASKED, deadline=Deadline.after(reactor, 0.4))
        [upstream] = here.pipeline.snapshot().upstreams
        assert upstream.state is (CircuitState.OPEN if in_time else CircuitState.CLOSED)


async def test_what_the_headers_say_of_limits_is_kept_for_the_model() -> None:
    headers = {
        "Content-Type": "text/event-stream",
        "x-ratelimit-limit-requests": "100",
        "x-ratelimit-remaining-requests": "60",
        "x-ratelimit-reset-requests": "6s",
        "x-ratelimit-remaining-tokens": "5000",
        "x-ratelimit-reset-tokens": "1s",
    }
    async with desk([replace(SILENT, headers=headers)]) as here:
        answer = await here.client().chat_completion(ASKED)
        assert answer.rate_limit_info is not None
        [quota] = here.pipeline.snapshot().quotas
        assert (quota.lane, quota.requests_left, quota.tokens_left) == ("sage", 60, 5000)


@pytest.mark.parametrize(
    "step",
    [
        HttpError(401, f"wrong key {KEY}"),
        HttpError(500, f"crashed with {KEY}"),
        HttpError(429, f"{KEY} is too fast", {"Retry-After": "99"}),
        HttpError(402, f"{KEY} is broke"),
        EndEarly(1, Reply(f"your key is {KEY}")),
    ],
)
async def test_a_key_is_in_no_log_line_and_in_no_status(step: Step) -> None:
    config = UpstreamConfig(BreakerConfig(failure_threshold=1))
    with capturedLogs() as logged:
        async with desk(lambda _: step, upstream=config) as here:
            for _ in range(2):
                with pytest.raises(LLMError) as caught:
                    await here.client(key=KEY).chat_completion(ASKED)
                assert KEY not in f"{caught.value} {caught.value!r}"
            snapshot = here.pipeline.snapshot()
    assert KEY not in str(snapshot)
    assert KEY not in str(logged)
    assert any(event.get("log_event") in {"circuit", "credential", "cool_down"} for event in logged)
    assert snapshot.quotas[0].credential


@asynccontextmanager
async def untrusted() -> AsyncIterator[tuple[str, FakeChat]]:
    """A server whose certificate nobody vouches for."""
    made = certificate(HERE)
    fake = FakeChat(reactor, [])
    port = reactor.listenSSL(0, WrappingFactory(Site(fake)), server_options(made), interface="127.0.0.1")
    try:
        yield f"https://127.0.0.1:{port.getHost().port}", fake
    finally:
        await port.stopListening()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_certificate_that_cannot_be_trusted_is_not_tried_again() -> None:
    async with desk([]) as here, untrusted() as (url, fake):
        with pytest.raises(Unavailable, match="cannot be trusted"):
            await here.client(url=url, key=KEY).chat_completion(ASKED, caller=PAYER)
        [upstream] = here.pipeline.snapshot().upstreams
        assert [ended.how for ended in upstream.recent] == ["failure"]
        assert fake.requests == []
        assert here.paid == (0, 0, 0.0)


async def test_a_broken_answer_that_was_heard_is_told_with_its_text_apart() -> None:
    async with desk([EndEarly(3, Reply("one two three four"))]) as here:
        with pytest.raises(StreamBroken) as caught:
            await here.client().chat_completion(ASKED, listener=lambda _: None)
        assert caught.value.partial.startswith("one")
        assert caught.value.should_retry is False
