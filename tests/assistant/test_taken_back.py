"""Who asked for a promise takes it back in talk, and hears so: through the real loop, whatever the model would say."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.events.goal import GoalState
from mud_assistant.assistant.loop.dropping import TAKEN_BACK
from tests.assistant.living import Witness
from tests.assistant.test_promises import BEA, MINUTE, Days, days

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HENS, ROPE = "Sage, remind me in an hour to feed the hens", "Sage, remind me in two hours to mend the rope"


async def states(life: Days) -> list[tuple[str, GoalState]]:
    return [(goal.what or goal.text, goal.state) for goal in await life.goals()]


@pytest.mark.parametrize(
    ("asked", "line", "answer"),
    [
        (HENS, "Sage, forget about the hens", "I will not remind you in an hour: feed the hens."),
        (HENS, "Sage, don't remind me after all", "I will not remind you in an hour: feed the hens."),
        (HENS, "Sage, never mind the reminder", "I will not remind you in an hour: feed the hens."),
        (HENS, "Sage, you can forget about the hens", "I will not remind you in an hour: feed the hens."),
        (HENS, "Sage, you may forget it", "I will not remind you in an hour: feed the hens."),
        (HENS, "oh, never mind, Sage", "I will not remind you in an hour: feed the hens."),
        ("Sage, wait here until I am back", "Sage, you need not wait any longer",
         "I will not wait here until you are back."),
        ("Sage, don't go anywhere until I am back", "Sage, you no longer have to wait", "I may go anywhere again."),
        ("Sage, tell Bea when she comes that dinner is ready", "Sage, you don't need to tell Bea any more",
         "I will not tell Bea when they come: dinner is ready."),
    ],
)  # fmt: skip
async def test_what_is_taken_back_is_dropped_and_said(asked: str, line: str, answer: str) -> None:
    async with days("Gladly.") as life:
        await life.life.say(asked)
        await life.life.say(line)
        [goal] = await life.goals()
        assert (goal.state, goal.reason) == (GoalState.DROPPED, TAKEN_BACK)
        assert life.heard[-1] == f"Sage: Very well. {answer}"
        await life.pass_(70 * MINUTE)
        assert not [words for words in life.heard if "asked me to" in words]


@pytest.mark.parametrize(
    "line",
    [
        "Sage, never mind the rain", "Sage, forget about your garden", "Sage, don't forget to remind me",
        "Sage, did you forget about the hens?", "Sage, don't stop now", "Sage, I will never forget the hens",
        "Sage, don't tell Bea", "Sage, I don't need your opinion", "Sage, you need not be sad",
    ],
)  # fmt: skip
async def test_other_words_drop_nothing(line: str) -> None:
    async with days("Gladly.") as life:
        await life.life.say(HENS)
        await life.life.say(line)
        assert await states(life) == [("feed the hens", GoalState.OPEN)]


async def test_where_two_may_be_meant_it_asks_which() -> None:
    async with days("Gladly.") as life:
        await life.life.say(HENS)
        await life.life.say(ROPE)
        await life.life.say("Sage, never mind the reminder")
        assert life.heard[-1] == (
            "Sage: Which shall I let be: to remind you in an hour: feed the hens "
            "or to remind you in two hours: mend the rope?"
        )
        assert [state for _, state in await states(life)] == [GoalState.OPEN] * 2
        await life.life.say("Sage, forget about the rope")
        assert await states(life) == [("feed the hens", GoalState.OPEN), ("mend the rope", GoalState.DROPPED)]


async def test_all_of_it_can_be_taken_back_at_once() -> None:
    async with days("Gladly.") as life:
        await life.life.say(HENS)
        await life.life.say(ROPE)
        await life.life.say("Sage, forget everything you promised me")
        assert {state for _, state in await states(life)} == {GoalState.DROPPED}


async def test_nobody_else_takes_it_back() -> None:
    async with days("Gladly.") as life:
        bea = life.life.world.add(BEA, listener=Witness())
        await life.life.say(HENS)
        await bea.say("Sage, forget about the hens")
        await life.life.assistant.settled()
        assert await states(life) == [("feed the hens", GoalState.OPEN)]
        assert life.heard[-1] == "Sage: Gladly."


async def test_what_was_asked_in_private_is_not_named_before_others() -> None:
    async with days("Gladly.") as life:
        await life.life.whisper("remind me in an hour to steal the hens")
        await life.life.say("Sage, forget about the hens")
        assert await states(life) == [("steal the hens", GoalState.DROPPED)]
        assert life.heard[-1] == "Sage: Very well."


async def test_what_is_asked_anew_in_the_same_line_is_taken_on() -> None:
    async with days("Gladly.") as life:
        await life.life.say(HENS)
        await life.life.say("Sage, forget about the hens. Remind me in ten minutes to eat.")
        assert await states(life) == [("feed the hens", GoalState.DROPPED), ("eat", GoalState.OPEN)]
