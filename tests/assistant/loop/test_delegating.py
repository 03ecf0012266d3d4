"""A question is looked into by a child of the run: on the run's own budget, by reading alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mud_assistant.assistant.loop.delegating import CHILD_TOOLS, NO_ANSWER, ONE_AT_A_TIME, REPORT_TOKENS
from mud_assistant.assistant.models.choose import EMBEDDED_WITHHELD
from mud_assistant.llm.testing import Call, FakeOllama, HttpError, RecordedRequest, Reply, Step, serve
from mud_assistant.tools import Category, Registry, Tool, ToolContext
from mud_assistant.tools.verbs import DELEGATE, WORLD_TOOLS
from mud_assistant.tools.verbs.looking import InspectArguments
from tests.assistant.living import ANN, Life, living, reactor
from tests.assistant.service.village import village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
TASK = "What is the old map a map of?"
CHILD = "You look into one question"


async def strange(_: Any, __: ToolContext) -> str:
    return "Strangers say: it is a map of the sea."


FAR = Tool("web_search", "Ask strangers.", InspectArguments, Category.ASYNC_REQUIRED, strange)
TOOLS = Registry((*WORLD_TOOLS, DELEGATE, FAR))


def is_child(request: RecordedRequest) -> bool:
    return CHILD in str(request.messages[0]["content"])


def last(request: RecordedRequest) -> str:
    return str(request.messages[-1]["content"])


def asks(child: Callable[[RecordedRequest], Step], times: int = 1) -> Callable[[RecordedRequest], Step]:
    """A model that has the question looked into by `child` first, and says then what it was told."""

    def script(request: RecordedRequest) -> Step:
        if is_child(request):
            return child(request)
        if request.messages[-1]["role"] == "tool":
            return Reply(calls=(Call("say", {"text": f"I was told: {last(request)}"}),))
        return Reply(calls=tuple(Call("delegate", {"task": f"{TASK} {number}"}) for number in range(times)))

    return script


def reads(*calls: Call) -> Callable[[RecordedRequest], Step]:
    """A child that makes these calls at once, and reports then."""

    def child(request: RecordedRequest) -> Step:
        return Reply("It shows the hamlet.") if request.messages[-1]["role"] == "tool" else Reply(calls=calls)

    return child


async def heard(life: Life) -> str:
    await life.say("Sage, what is that map of?")
    return life.witness.heard[-1]


async def test_it_reads_and_reports_on_the_runs_own_budget() -> None:
    async with living(asks(reads(Call("inspect", {"target": "old map"}))), registry=TOOLS) as life:
        assert await heard(life) == "Sage: I was told: It shows the hamlet."
        first, child, again, end = life.fake.chats
        assert [is_child(one) for one in (first, child, again, end)] == [False, True, True, False]
        assert [message["role"] for message in child.messages] == ["system", "user"]
        assert TASK in last(child)
        assert "what is that map of" not in str(child.messages)
        assert {tool["function"]["name"] for tool in child.body["tools"]} <= CHILD_TOOLS
        ledger = life.pipeline.ledger
        assert ledger is not None
        assert ledger.spent(ANN.id).calls == 4
        assert life.witness.steps[-1].step == 4


@pytest.mark.parametrize("most", [2, 3, 5])
async def test_it_never_takes_the_call_that_the_run_needs_to_answer(most: int) -> None:
    def endless(_: RecordedRequest) -> Step:
        return Reply(calls=(Call("look", {}),))

    async with living(asks(endless), {"max_steps": most}, registry=TOOLS) as life:
        assert "I was told: " in await heard(life)
        assert len(life.fake.chats) == most
        assert [is_child(one) for one in life.fake.chats] == [False, *([True] * (most - 2)), False]


async def test_it_may_do_nothing_and_have_no_child_of_its_own() -> None:
    tried = (Call("say", {"text": "Boo."}), Call("take", {"thing": "old map"}), Call("delegate", {"task": "More."}))
    async with living(asks(reads(*tried)), registry=TOOLS) as life:
        assert await heard(life) == "Sage: I was told: It shows the hamlet."
        told = str(life.fake.chats[2].messages[-3:])
        assert all(f"You may not use {name}." in told for name in ("say", "take", "delegate"))
        assert not any("Boo" in line for line in life.witness.heard)
        assert (await life.home.look()).carried == ()


async def test_there_is_one_at_a_time() -> None:
    async with living(asks(lambda _: Reply("It shows the hamlet."), times=2), registry=TOOLS) as life:
        await heard(life)
        assert sum(is_child(one) for one in life.fake.chats) == 1
        told = str(life.fake.chats[-1].messages[-2:])
        assert ONE_AT_A_TIME in told
        assert "It shows the hamlet." in told


async def test_a_report_is_short() -> None:
    async with living(asks(lambda _: Reply("It shows a wood and a mill. " * 200)), registry=TOOLS) as life:
        await heard(life)
        report = last(life.fake.chats[-1])
        assert 0 < life.assistant.context.model.client.provider.count_tokens(report) <= REPORT_TOKENS
        assert report.startswith("It shows a wood")


@pytest.mark.parametrize(("calls", "level"), [((), 1), ((Call("web_search", {"target": "map"}),), 0)])
async def test_a_report_is_trusted_as_little_as_what_was_read_for_it(calls: tuple[Call, ...], level: int) -> None:
    child = reads(*calls) if calls else lambda _: Reply("It shows the hamlet.")
    async with living(asks(child), registry=TOOLS) as life:
        await heard(life)
        [entry] = [one for one in life.assistant.context.memory.history.entries() if "delegate" in str(one.messages)]
        assert (entry.authority, ANN.id in entry.sources) == (level, True)


async def test_the_run_answers_also_when_nothing_comes_of_it() -> None:
    async with living(asks(lambda _: HttpError()), registry=TOOLS) as life:
        assert await heard(life) == f"Sage: I was told: {NO_ANSWER}"


@pytest.mark.parametrize("delegates", [False, True])
async def test_it_is_offered_where_the_owner_says_so(tmp_path: Any, delegates: bool) -> None:
    model = FakeOllama(reactor, lambda _: Reply(calls=(Call("say", {"text": "Hush."}),)))
    async with serve(model, reactor) as url, village(tmp_path) as there:
        asking = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1}
        runner = there.start({"model": asking, "assistant": {"delegates": delegates}})
        await runner.settled()
        assert runner.assistant is not None
        assert ("delegate" in runner.assistant.context.rules.grant) is delegates
    assert "delegate" in EMBEDDED_WITHHELD
