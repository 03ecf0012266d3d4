"""Reports of exchanges: each is told once, with how it ended; nothing is told where nobody listens."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest
from twisted.internet import reactor as _reactor  # noqa: TID251  (a test's composition root)
from twisted.internet.defer import CancelledError
from twisted.internet.task import deferLater

from mud_assistant.llm import CallReport, CallReports, LLMError, UnifiedLLMClient, get_provider, user
from mud_assistant.llm.response import Prices
from mud_assistant.llm.testing import FakeOllama, Hang, HttpError, Reply, Script, serve
from mud_assistant.resilience import Caller, HttpExchange, Pipeline, RetryConfig

reactor: Any = _reactor
pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def reports(script: Script, *, cancel: bool = False) -> list[CallReport]:
    """What is told of one call."""
    told: list[CallReport] = []
    listeners, exchange = CallReports(), HttpExchange(reactor)
    listeners.add(told.append)
    async with serve(FakeOllama(reactor, script), reactor) as url:
        client = UnifiedLLMClient(
            get_provider("ollama", url, "sage"),
            exchange,
            reactor,
            prices=Prices(1.0, 1.0),
            pipeline=Pipeline(reactor, Random(1)),  # noqa: S311  (jitter)
            retry=RetryConfig(base_delay=0.01),
            reports=listeners,
        )
        asked = client.chat_completion([user("Hello?")], caller=Caller("assistant:1"))
        if cancel:
            await deferLater(reactor, 0.05)
            asked.cancel()
        with suppress(LLMError, CancelledError):
            await asked
        await exchange.close()
    return told


async def test_an_answer_is_told_once_with_its_cost_although_it_was_tried_twice() -> None:
    (report,) = await reports([HttpError(500), Reply("Hello.")])
    assert (report.caller, report.provider, report.model, report.outcome) == (
        "assistant:1",
        "ollama",
        "sage",
        "Answered",
    )
    assert report.first_seconds is not None
    assert 0 < report.first_seconds <= report.seconds
    assert report.usage.cost is not None
    assert report.usage.cost > 0


async def test_a_failure_is_told_by_its_name_and_a_cancelled_call_as_that() -> None:
    (refused,) = await reports([HttpError(400)])
    (cancelled,) = await reports([Hang()], cancel=True)
    assert (refused.outcome, refused.first_seconds, refused.usage.cost) == ("Rejected", None, None)
    assert cancelled.outcome == "Cancelled"


def test_a_listener_that_was_removed_hears_no_more() -> None:
    told: list[CallReport] = []
    listeners = CallReports()
    listeners.add(told.append)
    listeners.tell(CallReport("", "ollama", "sage", "Answered", 1.0))
    listeners.remove(told.append)
    listeners.remove(told.append)
    assert not listeners.listeners
    assert len(told) == 1
