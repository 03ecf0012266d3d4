"""Who asks for two things in one line gets both, or hears which of them is not promised."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.loop.promise_goals import CANNOT, ENOUGH
from tests.assistant.test_promises import days

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BOTH = "Sage, let me know when Bea comes, and remind me in ten minutes to eat"


async def test_a_plain_yes_takes_both_on() -> None:
    async with days("Gladly.") as life:
        await life.life.say(BOTH)
        assert [goal.text for goal in await life.goals()] == [
            "tell you when Bea comes",
            "remind you in ten minutes: eat",
        ]
        assert life.heard[-1] == "Sage: Gladly."


async def test_words_that_promise_both_take_both_on() -> None:
    async with days("I will let you know when Bea comes. I will remind you in ten minutes to eat.") as life:
        await life.life.say(BOTH)
        assert len(await life.goals()) == 2


async def test_one_more_than_a_person_may_have_is_refused_aloud_and_the_other_one_named() -> None:
    async with days("Gladly.") as life:
        await life.life.say("Sage, remind me in an hour to sleep")
        await life.life.say(BOTH)
        assert len(await life.goals()) == 2
        assert life.heard[-1] == f"Sage: I will tell you when Bea comes. {ENOUGH}"


async def test_of_two_promises_the_one_that_cannot_be_kept_is_not_said() -> None:
    async with days("I will remind you in ten minutes to eat. I will slay the dragon tomorrow.") as life:
        await life.life.say("Sage, remind me in ten minutes to eat")
        assert len(await life.goals()) == 1
        assert life.heard[-1] == f"Sage: I will remind you in ten minutes to eat. {CANNOT}"


async def test_a_plain_yes_to_what_nobody_can_keep_is_not_said() -> None:
    async with days("Gladly.") as life:
        for line in ("Sage, bring me an ale at noon", "Sage, wake me when the bell rings"):
            await life.life.say(line)
            assert life.heard[-1] == f"Sage: {CANNOT}"
        assert await life.goals() == []
