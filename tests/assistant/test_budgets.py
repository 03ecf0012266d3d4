"""What happens when the budget of the day is used up: to the player, to the operator, to everybody else."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.logger import capturedLogs

from mud_assistant.assistant.events.outcome import Answered, Limit, LimitReached
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from mud_assistant.tools import Principal
from tests.assistant.living import Life, Witness, living

HELLO = Reply(calls=(Call("say", {"text": "Hello."}),))
DAY = 86_400.0
pytestmark = pytest.mark.usefixtures("reactor_baseline")


def hello(_: RecordedRequest) -> Step:
    return HELLO


def tired(life: Life) -> str:
    """What everybody sees of it."""
    return f"Sage {life.assistant.context.settings.budget_line}"


def done(life: Life) -> list[str]:
    """What Ann saw and heard Sage do."""
    return [line for line in life.witness.heard if line.startswith("Sage")]


def spent(life: Life, name: str) -> dict[str, Any]:
    """What somebody spent today."""
    ledger = life.pipeline.ledger
    assert ledger is not None
    return ledger.spent(name).plain()


async def test_a_player_whose_calls_are_used_up_is_told_in_character_once_and_the_operator_why() -> None:
    async with living(hello, budget={"player": {"calls": 1}}) as life:
        for number in range(3):
            await life.say(f"Sage, line {number}")
        assert done(life) == ["Sage: Hello.", tired(life)]
        assert len(life.fake.chats) == 1
        assert [limit.limit for limit in life.witness.limits] == [Limit.BUDGET] * 2
        assert "the calls of player:1 are used up for today" in life.witness.limits[0].cause
        assert life.witness.failures == []
        assert life.witness.outcomes == [Answered(("say",)), *life.witness.limits]


async def test_the_lines_of_a_player_without_budget_are_dealt_with_and_the_tick_does_not_pause() -> None:
    async with living(hello, budget={"player": {"calls": 0}}) as life:
        await life.say("Sage, hello")
        assert await life.journal.pending() == ()
        assert not life.assistant.tick.paused
        assert life.fake.chats == []


async def test_nothing_of_it_enters_what_the_model_sees() -> None:
    day = [0.0]
    async with living(hello, budget={"player": {"calls": 1}}, wall=lambda: day[0]) as life:
        await life.say("Sage, one")
        await life.say("Sage, two")
        day[0] += DAY
        await life.say("Sage, three")
        seen = str(life.fake.chats[-1].messages)
        assert "used up" not in seen
        assert life.assistant.context.settings.budget_line not in seen


async def test_the_next_day_it_goes_on() -> None:
    day = [0.0]
    async with living(hello, budget={"player": {"calls": 1}}, wall=lambda: day[0]) as life:
        await life.say("Sage, one")
        day[0] = DAY - 1
        await life.say("Sage, two")
        assert len(life.fake.chats) == 1
        day[0] = DAY
        await life.say("Sage, three")
        assert done(life) == ["Sage: Hello.", tired(life), "Sage: Hello."]


async def test_another_player_of_the_same_moment_is_still_answered() -> None:
    async with living(hello, budget={"player": {"calls": 1}}) as life:
        bea = life.world.add(Principal("player:2", "Bea"), listener=Witness())
        await life.say("Sage, hello")
        await bea.say("Sage, are you there?")
        await life.ann.whisper("Sage", "Me first!")  # a whisper is no more important than a name, but it is the last
        with capturedLogs() as logged:
            await life.say("Sage, me!")
        assert [event["log_event"] for event in logged if event.get("log_event") == "budget"] == ["budget"] * 2
        assert len(life.fake.chats) == 2
        assert life.witness.outcomes == [Answered(("say",)), Answered(("say",)), *life.witness.limits]
        assert done(life) == ["Sage: Hello.", "Sage: Hello.", tired(life)]
        assert (spent(life, "player:1")["calls"], spent(life, "player:2")["calls"]) == (1, 1)
        assert await life.journal.pending() == ()


async def test_when_it_is_used_up_within_a_run_the_next_run_is_for_another_who_waits() -> None:
    script = [Reply(calls=(Call("look"),)), HELLO]
    async with living(script, budget={"player": {"calls": 1}}) as life:
        bea = life.world.add(Principal("player:2", "Bea"), listener=Witness())
        await bea.say("Sage, are you there?")
        await life.say("Sage, look round and tell me")
        assert life.witness.outcomes == [*life.witness.limits, Answered(("say",))]
        assert [(step.run_id, step.step) for step in life.witness.steps] == [("run-1", 1), ("run-2", 1)]
        assert done(life) == [tired(life), "Sage: Hello."]
        assert (spent(life, "player:1")["calls"], spent(life, "player:2")["calls"]) == (1, 1)


async def test_one_who_spams_without_budget_keeps_nobody_from_an_answer_and_costs_nothing() -> None:
    async with living(hello, budget={"player": {"calls": 3}}) as life:
        witness = Witness()
        bea = life.world.add(Principal("player:2", "Bea"), listener=witness)
        for _ in range(3):
            await life.say("Sage, hello")
        for number in range(3):
            for _ in range(10):
                await life.ann.say("Sage! Sage! Sage!")
            await bea.say(f"Sage, question {number}")
            for _ in range(10):
                await life.ann.say("Sage! Sage! Sage!")
            await life.assistant.settled()
        assert len(life.fake.chats) == 6
        assert done(life).count("Sage: Hello.") == 6
        assert done(life).count(tired(life)) == 1
        assert spent(life, "player:1")["calls"] == 3


async def test_what_is_used_up_within_a_run_ends_it() -> None:
    async with living([Reply(calls=(Call("look"),))], budget={"player": {"calls": 1}}) as life:
        await life.say("Sage, look round and tell me")
        assert len(life.witness.steps) == 1
        assert isinstance(life.witness.outcomes[0], LimitReached)
        assert life.witness.outcomes[0].limit is Limit.BUDGET
        assert done(life) == [tired(life)]
        assert await life.journal.pending() == ()


@pytest.mark.parametrize(
    ("whose", "name"), [("assistant", "assistant:1"), ("total", "all assistants"), ("player", "player:1")]
)
@pytest.mark.parametrize(
    ("what", "allowed"), [("calls", 1), ("tokens", 9000), ("money", 0.009)], ids=["calls", "tokens", "money"]
)
async def test_every_budget_ends_with_each_of_its_limits(whose: str, name: str, what: str, allowed: float) -> None:
    """The first call uses 8000 tokens at a millionth each; another one like it has no room."""
    reply = Reply(calls=(Call("say", {"text": "Hello."}),), usage=(7000, 1000))
    prices = {"prices": {"input": 1.0, "output": 1.0}}
    async with living(lambda _: reply, model=prices, budget={whose: {what: allowed}}) as life:
        await life.say("Sage, one")
        await life.say("Sage, two")
        assert done(life) == ["Sage: Hello.", tired(life)]
        assert f"the {what} of {name} are used up" in life.witness.limits[0].cause
        assert spent(life, name) == {"calls": 1, "tokens": 8000, "money": 0.008}


async def test_the_assistants_budget_is_used_up_for_everybody() -> None:
    async with living(hello, budget={"assistant": {"calls": 1}}) as life:
        bea = life.world.add(Principal("player:2", "Bea"), listener=Witness())
        await life.say("Sage, hello")
        await bea.say("Sage, hello")
        await life.assistant.settled()
        assert done(life) == ["Sage: Hello.", tired(life)]
        assert len(life.fake.chats) == 1


async def test_everything_goes_to_all_three_accounts_and_is_counted_for_the_model() -> None:
    async with living([Reply(calls=(Call("say", {"text": "Hello."}),), usage=(90, 10))]) as life:
        await life.say("Sage, hello")
        paid = {state.name: state.spent.plain() for state in life.pipeline.snapshot().accounts}
        each = {"calls": 1, "tokens": 100, "money": 0.0}
        assert paid == {"all assistants": each, "assistant:1": each, "player:1": each, "model:ollama/sage": each}
