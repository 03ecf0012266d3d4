"""What a step costs in things that can be counted exactly: these fail first, on any machine and however busy it is."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from types import FunctionType
from urllib.parse import urlsplit

import pytest

from benchmarks.village import ENDLESS, Tenant, Village, past
from mud_assistant.llm.packing.packed import Packed
from mud_assistant.llm.testing import Call, Reply
from tests.benchmarks.counting import calls_of, own_calls, real, sends_to, village_of_one
from tests.benchmarks.weighing import reached, weight

LOOK = Reply(calls=(Call("inspect", {"target": "astrolabe"}),))
SAY = Reply(calls=(Call("say", {"text": "A brass astrolabe."}),))
QUESTION = "What is that on the desk?"
#: Timers of a run with two model calls and a tool call in each. The tick: this run, and the next. A model call: the
#: deadline, and one for the head and then the body. A tool call: none, when it is over at once.
TIMERS = 2 + 2 * 2
#: Function calls of `assistant` and `tools` in such a run, coroutines that were taken up again among them. Some 300 of
#: them see to who may be told what, to whose words lower what it may do, to what an approval covers, to company, and to
#: answers that only repeat; another 150 to what is remembered, of which a journal on disk makes half on its own thread.
MOST_CALLS = 1045
#: The same of `llm` and `resilience`, for two streamed answers. Five of them lead the search in the memories from one
#: thread to the next, where there are threads.
MOST_CLIENT_CALLS = 1067


@pytest.mark.parametrize("messages", [20, 400])
async def test_no_message_is_encoded_twice(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 4, messages) as one:
        for _ in range(4):
            await one.house.ask(QUESTION)
        times = Counter(id(message) for message in one.provider.encoded)
        assert set(times.values()) == {1}


@pytest.mark.parametrize("messages", [20, 400])
async def test_a_run_encodes_only_what_is_new(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 2, messages) as one:
        await one.house.ask(QUESTION)
        before = len(one.provider.encoded)
        await one.house.ask(QUESTION)
        # The question, an answer with its results, and another answer with its.
        assert len(one.provider.encoded) - before == 5


@pytest.mark.parametrize("messages", [20, 400])
async def test_a_run_makes_no_message_again_of_what_is_packed(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 4, messages) as one:
        await one.house.ask(QUESTION)
        assert all(isinstance(part, Packed) for part in one.house.assistant.context.memory.history.parts())
        assert isinstance(Packed.span, FunctionType)
        with calls_of(Packed.span) as calls:
            for _ in range(3):
                await one.house.ask(QUESTION)
            assert calls.count == 0
            assert len(one.house.assistant.context.memory.history.messages()) == messages - 2 + 4 * 5
        assert calls.count > messages - 2


@pytest.mark.parametrize(("messages", "most"), [(20, 20_900), (500, 124_100)])
async def test_what_an_idle_assistant_holds_for_itself(messages: int, most: int) -> None:
    village = Village(real, 2)
    try:
        tenants = [Tenant("http://127.0.0.1:1/v1", ENDLESS, stream=past(messages)) for _ in range(2)]
        one, other = [(await village.settle(*numbered)).assistant for numbered in enumerate(tenants)]
        await one.settled()
        await other.settled()
        assert weight(one, real, village.world, *reached(other, real, village.world)) < most
    finally:
        await village.close()


async def test_every_request_begins_with_the_whole_of_the_one_before() -> None:
    async with village_of_one([LOOK, SAY] * 4) as one:
        for _ in range(4):
            await one.house.ask(QUESTION)
        bodies = [request.raw for request in one.fake.chats]
        assert len(bodies) == 8
        for before, after in pairwise(bodies):
            assert after.startswith(before.removesuffix(b"]}"))


@pytest.mark.parametrize("messages", [20, 400])
async def test_a_request_is_one_send(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 2, messages) as one:
        await one.house.ask(QUESTION)
        with sends_to(urlsplit(one.provider.api_url).port or 0) as sends:
            await one.house.ask(QUESTION)
        assert sends.count == 2


@pytest.mark.parametrize("messages", [20, 400])
async def test_the_timers_of_a_run_are_these_and_no_more(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 2, messages) as one:
        await one.house.ask(QUESTION)
        before = one.reactor.timers
        await one.house.ask(QUESTION)
        assert one.reactor.timers - before == TIMERS


async def test_runs_leave_no_timer_behind() -> None:
    async with village_of_one([LOOK, SAY] * 5) as one:
        await one.house.ask(QUESTION)
        before = len(one.reactor.getDelayedCalls())
        for _ in range(4):
            await one.house.ask(QUESTION)
        assert len(one.reactor.getDelayedCalls()) == before


@pytest.mark.parametrize("messages", [20, 400])
async def test_the_tokens_of_a_message_are_estimated_once(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 2, messages) as one:
        await one.house.ask(QUESTION)
        before = len(one.provider.estimated)
        await one.house.ask(QUESTION)
        # The question, an answer with its results, and another answer with its: nothing that stood there before.
        assert len(one.provider.estimated) - before == 5


@pytest.mark.parametrize("messages", [20, 400])
async def test_a_run_makes_no_more_calls_of_our_own_than_this(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 3, messages) as one:
        await one.house.ask(QUESTION)
        with own_calls("assistant", "tools") as calls:
            await one.house.ask(QUESTION)
        assert 0 < calls.count <= MOST_CALLS
        assert calls.replaced == 0


@pytest.mark.parametrize("messages", [20, 400])
async def test_its_model_calls_make_no_more_than_this(messages: int) -> None:
    async with village_of_one([LOOK, SAY] * 3, messages) as one:
        await one.house.ask(QUESTION)
        with own_calls("llm", "resilience") as calls:
            await one.house.ask(QUESTION)
        assert 0 < calls.count <= MOST_CLIENT_CALLS
        assert calls.replaced == 0
