"""A call that fails leaves nothing behind that only the garbage collector can free."""

from __future__ import annotations

from collections import Counter

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.python.failure import Failure

from mud_assistant.llm import BadCredential, LLMDeadlineExceeded, LLMError, LLMResponse, StreamBroken, Unavailable
from mud_assistant.llm.errors import CircuitOpenError, Rejected
from mud_assistant.llm.testing import EndEarly, Hang, HttpError, Reply, Step
from mud_assistant.resilience import BreakerConfig, Deadline, RetryConfig, UpstreamConfig
from tests.garbage import garbage
from tests.llm.calling import ASKED, PAYER, desk, reactor

#: As many calls fail, so that what one leaves is not overlooked among what the process needs once.
CALLS = 5
ONCE = RetryConfig(max_attempts=1)
TWICE = RetryConfig(max_attempts=2, base_delay=0.001)
#: A circuit that stays closed.
PATIENT = UpstreamConfig(BreakerConfig(failure_threshold=1000))
pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def outcome_of(call: Deferred[LLMResponse]) -> type:
    """The type of the answer or of the error. Awaiting a Deferred that has failed already would make a cycle itself."""
    known: Deferred[type] = Deferred()

    def tell(result: LLMResponse | Failure) -> None:
        known.callback(type(result.value if isinstance(result, Failure) else result))

    call.addBoth(tell)
    return await known


@pytest.mark.parametrize("retry", [ONCE, TWICE], ids=["once", "twice"])
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (HttpError(500), Unavailable),
        (HttpError(400), Rejected),
        (HttpError(401), BadCredential),
        (EndEarly(3, Reply("one two three four")), StreamBroken),
        (Hang("headers"), Unavailable),
        (Hang("mid", 3), Unavailable),
    ],
    ids=["500", "400", "401", "ends early", "no head", "hangs midway"],
)
async def test_an_answer_that_fails_leaves_no_cycle(step: Step, expected: type[LLMError], retry: RetryConfig) -> None:
    async with desk([step] * 100, retry=retry, upstream=PATIENT) as here:
        left = Counter[str]()
        for calls in (1, CALLS):
            with garbage(left):
                for _ in range(calls):
                    assert await outcome_of(here.client().chat_completion(ASKED, caller=PAYER)) is expected
        assert not left


async def test_a_connection_that_fails_leaves_no_cycle() -> None:
    async with desk([], retry=TWICE, upstream=PATIENT) as here:
        left = Counter[str]()
        for calls in (1, CALLS):
            with garbage(left):
                for _ in range(calls):
                    nowhere = here.client(url="http://127.0.0.1:1")
                    assert await outcome_of(nowhere.chat_completion(ASKED, caller=PAYER)) is Unavailable
        assert not left


async def test_a_call_that_is_cancelled_leaves_no_cycle() -> None:
    async with desk([Hang("mid", 3)] * 100, upstream=PATIENT) as here:
        left = Counter[str]()
        for calls in (1, CALLS):
            with garbage(left):
                for _ in range(calls):
                    running = here.client().chat_completion(ASKED, caller=PAYER)
                    reactor.callLater(0.05, running.cancel)
                    assert await outcome_of(running) is CancelledError
        assert not left


async def test_a_call_that_takes_too_long_leaves_no_cycle() -> None:
    async with desk([Hang("mid", 3)] * 100, upstream=PATIENT) as here:
        left = Counter[str]()
        for calls in (1, CALLS):
            with garbage(left):
                for _ in range(calls):
                    late = here.client().chat_completion(ASKED, caller=PAYER, deadline=Deadline.after(reactor, 0.05))
                    assert await outcome_of(late) is LLMDeadlineExceeded
        assert not left


async def test_a_call_that_is_refused_leaves_no_cycle() -> None:
    tripped = UpstreamConfig(BreakerConfig(failure_threshold=1))
    async with desk([HttpError(500)], upstream=tripped, retry=ONCE) as here:
        left = Counter[str]()
        for calls in (1, CALLS):
            with garbage(left):
                for _ in range(calls):
                    refused = await outcome_of(here.client().chat_completion(ASKED, caller=PAYER))
                    assert refused in {Unavailable, CircuitOpenError}
        assert not left


async def test_a_call_that_is_answered_leaves_no_cycle() -> None:
    async with desk([Reply("Hello.")] * 100) as here:
        left = Counter[str]()
        for calls in (1, CALLS):
            with garbage(left):
                for _ in range(calls):
                    assert await outcome_of(here.client().chat_completion(ASKED, caller=PAYER)) is LLMResponse
        assert not left
