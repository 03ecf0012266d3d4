"""Whole runs for somebody who is not in the room: who paged, who spoke on a channel, and who has gone away."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mud_assistant.assistant.events.outcome import Answered, NothingToDo
from mud_assistant.assistant.loop.acting import CHOSE_NOTHING, WHO_ASKED_IS_GONE
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from mud_assistant.tools import Principal, Registry, Status
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS
from tests.assistant.living import Life, Witness, living

BEA = Principal("player:2", "Bea")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
pytestmark = pytest.mark.usefixtures("reactor_baseline")


def everything() -> Registry:
    return Registry([*WORLD_TOOLS, *ACCOUNT_TOOLS])


def away(life: Life) -> None:
    """Ann is in the mill."""
    life.world.carry_off(life.ann, life.world.rooms["mill"], quiet=True)


async def page(life: Life, text: str) -> None:
    await life.ann.page("Sage", text)
    await life.assistant.settled()


async def on_channel(life: Life, text: str) -> None:
    await life.ann.speak_on("public", text)
    await life.assistant.settled()


@dataclass
class Slow:
    """A brain during whose thinking Ann goes away; it answers the same every time."""

    reply: Reply
    life: Life | None = None

    def __call__(self, _: RecordedRequest) -> Step:
        assert self.life is not None
        away(self.life)
        return self.reply


async def test_a_page_is_answered_by_a_page() -> None:
    answer = Reply(calls=(Call("page", {"target": "Ann", "text": "I am here."}),))
    async with living([answer], registry=everything()) as life:
        away(life)
        await page(life, "Where are you?")
        assert life.witness.heard[-1] == "Sage pages: I am here."
        assert life.witness.outcomes == [Answered(("page",))]
        assert life.fake.chats[0].messages[-1]["content"].endswith('Ann pages you: "Where are you?"')


async def test_text_answers_where_it_was_asked() -> None:
    async with living([Reply("I am here."), Reply("Good day.")], registry=everything()) as life:
        away(life)
        await page(life, "Where are you?")
        await on_channel(life, "Hello Sage")
        assert life.witness.heard[-2:] == ["Sage pages: I am here.", "Sage on public: Good day."]


async def test_without_the_tool_for_it_a_page_is_not_answered_aloud() -> None:
    async with living([Reply("I am here.")]) as life:
        bea = Witness()
        life.world.add(BEA, listener=bea)
        away(life)
        await page(life, "Where are you?")
        assert life.witness.outcomes == [NothingToDo(CHOSE_NOTHING)]
        assert not any("I am here" in line for line in bea.heard + life.witness.heard)


async def test_an_answer_aloud_to_a_page_is_paged() -> None:
    async with living([HELLO], registry=everything()) as life:
        away(life)
        await page(life, "Hello?")
        assert life.witness.heard[-1] == "Sage pages: Hello, Ann."
        assert life.witness.outcomes == [Answered(("page",))]


async def test_a_late_answer_is_dropped_and_ends_the_run_without_an_excuse() -> None:
    slow = Slow(HELLO)
    async with living(slow, registry=everything()) as life:
        bea = Witness()
        life.world.add(BEA, listener=bea)
        slow.life = life
        await life.say("Hello Sage")
        (step,) = life.witness.steps
        assert step.executed[0].status is Status.UNHEARD
        assert life.witness.outcomes == [NothingToDo(WHO_ASKED_IS_GONE)]
        assert not any(line.startswith("Sage") for line in bea.heard + life.witness.heard)
        assert await life.journal.pending() == ()


async def test_what_else_was_done_in_the_step_counts() -> None:
    slow = Slow(Reply(calls=(*HELLO.calls, Call("page", {"target": "Ann", "text": "Come back."}))))
    async with living(slow, registry=everything()) as life:
        slow.life = life
        await life.say("Hello Sage")
        assert life.witness.heard[-1] == "Sage pages: Come back."
        assert life.witness.outcomes == [Answered(("page",))]


async def test_another_who_asked_and_is_still_there_is_answered() -> None:
    slow = Slow(HELLO)
    async with living(slow, {"join_seconds": 0.05}) as life:
        slow.life = life
        listener = Witness()
        bea = life.world.add(BEA, listener=listener)
        await bea.say("Sage, who is that?")
        await life.say("Hello Sage")
        assert life.witness.outcomes == [Answered(("say",)), NothingToDo(WHO_ASKED_IS_GONE)]
        assert listener.heard[-1] == "Sage: Hello, Ann."


async def test_on_an_errand_it_speaks_where_nobody_asked() -> None:
    go = Reply(calls=(Call("move", {"direction": "south"}),))
    async with living([go, HELLO]) as life:
        bea = Witness()
        life.world.add(BEA, "square", bea)
        await life.say("Sage, go to the square and say hello")
        assert bea.heard[-1] == "Sage: Hello, Ann."
        assert life.witness.outcomes == [Answered(("say",))]
