"""Whatever is asked for and however, what is promised aloud comes to an end with a reason: through the real loop."""

from __future__ import annotations

from random import Random

import pytest

from mud_assistant.assistant.events.goal import GoalState
from mud_assistant.assistant.loop.promise_goals import CANNOT, ENOUGH, NOBODY
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody
from mud_assistant.tools import Principal, Scene, ToolFailed
from tests.assistant.living import ANN
from tests.assistant.test_promises import MINUTE, days

ASKS = (
    "remind me in {n} minutes to feed the hens",
    "please remind me in {n} minutes of the bread",
    "come back here in {n} minutes",
    "meet me in the attic in {n} minutes",
    "meet me at the lighthouse in {n} minutes",
    "could you wake me in {n} minutes?",
    "ring the bell in {n} minutes",
    "feed my cat in {n} minutes, please",
)
ACCEPTS = ("I will.", "Gladly, I will.", "Of course, I shall.", "I promise.", "Very well. I will do that for you.")


@pytest.mark.usefixtures("reactor_baseline")
@pytest.mark.parametrize("seed", range(5))
async def test_every_promise_ends_in_time_once_and_with_a_reason(seed: int) -> None:
    dice = Random(seed)  # noqa: S311
    accept = dice.choice(ACCEPTS)
    asks = [(ask, dice.randint(2, 40)) for ask in dice.sample(ASKS, 4)]
    async with days(accept) as life:
        for ask, minutes in asks:
            await life.life.say(f"Sage, {ask.format(n=minutes)}")
        answers = life.heard
        promised = sum(CANNOT not in words and ENOUGH not in words for words in answers)
        assert len(await life.goals()) <= promised
        await life.pass_(41 * MINUTE)
        for goal in await life.goals():
            assert goal.state in {GoalState.DONE, GoalState.TOLD, GoalState.DROPPED}, goal
            assert goal.evidence or goal.reason
        told = [words for words in life.heard if "asked me to remind you" in words]
        assert len(told) == len(set(told))


@pytest.mark.usefixtures("reactor_baseline")
@pytest.mark.parametrize("name", [ANN.name, "Bea"])
@pytest.mark.parametrize("others", range(4))
async def test_a_name_means_the_only_other_person_who_has_it(name: str, others: int) -> None:
    """Who asks means somebody else, also somebody of their own name; of two it is not known who is meant."""
    async with days("I shall tell them.") as life:
        for number in range(others):
            life.life.world.add(Principal(f"player:8{number}", name), "mill")
        await life.life.say(f"Sage, tell {name} when they come that dinner is ready")
        found = [goal.whom for goal in await life.goals()]
        assert found == {0: [""], 1: ["player:80"]}.get(others, [])
        assert (NOBODY in "".join(life.heard)) == (others > 1)


async def locked(body: EmbeddedBody, direction: str) -> Scene:
    raise ToolFailed("The door is locked.")


@pytest.mark.usefixtures("reactor_baseline")
async def test_who_waits_behind_a_locked_door_hears_it_before_ten_minutes_are_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(EmbeddedBody, "move", locked)
    async with days("I will.") as life:
        await life.life.say("Sage, meet me in the attic in ten minutes")
        await life.pass_(10 * MINUTE)
        for _ in range(7):
            await life.pass_(MINUTE)
        [goal] = await life.goals()
        assert goal.is_open, "it may open yet"
        for _ in range(3):
            await life.pass_(MINUTE)
        [goal] = await life.goals()
        assert (goal.state, goal.reason) == (GoalState.TOLD, "the way is closed")
        assert life.heard[-1].endswith("I cannot: the way is closed.")
