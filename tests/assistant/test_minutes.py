"""How often a player is answered in a minute is limited, by all assistants of a process together."""

from __future__ import annotations

from msgspec.structs import replace
from twisted.internet.task import Clock

from mud_assistant.assistant.config.schema import BudgetConfig
from mud_assistant.assistant.events.outcome import Limit
from mud_assistant.assistant.loop.spending import Billing, MinuteCounts
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools import Kind
from tests.assistant.living import ANN, SAGE, living

HELLO = Reply(calls=(Call("say", {"text": "Hello."}),))
EXCUSE = "Sage raises a hand: one thing at a time, please."


def test_the_minute_is_any_minute_and_shared_by_all_assistants() -> None:
    clock = Clock()
    minutes = MinuteCounts(clock.seconds)
    sage, mira = (Billing(BudgetConfig(player_per_minute=2), minutes) for _ in range(2))
    assert sage.too_often(ANN) == ""
    clock.advance(20)
    assert mira.too_often(ANN) == ""
    clock.advance(10)
    assert sage.too_often(ANN) == "Ann is answered 2 times a minute, and again in 30 s"
    assert sage.too_often(replace(ANN, id="player:2")) == ""
    clock.advance(30)
    assert mira.too_often(ANN) == ""
    assert mira.too_often(ANN) != ""


def test_only_people_are_counted_and_only_where_there_is_a_limit() -> None:
    minutes = MinuteCounts(Clock().seconds)
    limited = Billing(BudgetConfig(player_per_minute=1), minutes)
    assert [limited.too_often(who) for who in (SAGE, SAGE, None)] == ["", "", ""]
    assert [Billing(BudgetConfig(), minutes).too_often(ANN) for _ in range(3)] == ["", "", ""]


def test_another_assistant_that_asks_pays_for_itself_alone() -> None:
    caller = Billing(BudgetConfig()).caller(SAGE, replace(ANN, id="assistant:9", kind=Kind.ASSISTANT))
    assert [account.name for account in caller.accounts] == ["all assistants", SAGE.id]


async def test_who_asks_too_often_is_told_in_character_once_and_no_model_is_asked() -> None:
    async with living([HELLO] * 9, budget={"player_per_minute": 2}) as life:
        for text in ("Sage, one", "Sage, two", "Sage, three", "Sage, four"):
            await life.say(text)
        assert len(life.fake.chats) == 2
        assert life.witness.heard.count(EXCUSE) == 1
        assert [limit.limit for limit in life.witness.limits] == [Limit.RATE, Limit.RATE]
        assert await life.journal.pending() == ()
