"""Who is to keep still does nothing of itself and keeps its promises; who does not want to be met first is not met."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.characters.day_entries import DayEntry, Days
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.life.peace import EVERYBODY, Stillness, key_of
from tests.assistant.life.lives import Lived, Town, acts, town
from tests.assistant.living import ANN

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BUSY = Days((DayEntry(0, "", does=("hums.", "nods."), begins="lights the fire."),))
SAGE = Lived("Sage", days=BUSY, settings={"greeting": "Welcome, {{user}}.", "pause_seconds": 0})


async def promise(here: Town, seconds: float) -> None:
    """Sage has promised Ann to remind her."""
    now = here.clock.seconds()
    goal = Goal("g.0", GoalKind.REMIND, "remind you: the bread", ANN, now, what="the bread", due=now + seconds)
    await here.journals["Sage"].save_goals([goal])
    here.assistants["Sage"].context.goals.put([goal])


@pytest.mark.parametrize("whose", [EVERYBODY, "assistant:0"])
async def test_quiet_ends_what_it_does_of_itself_at_once_and_not_its_promises(whose: str) -> None:
    async with town(SAGE) as here:
        ann = here.ann()
        here.pass_by(200)
        assert acts(here.witness, "Sage lights")
        here.quiet.keys = frozenset({key_of(Stillness.QUIET, whose)})
        here.pass_by(1)
        before = len(acts(here.witness, "Sage"))
        await promise(here, 300)
        here.assistants["Sage"].tick.wake()
        here.pass_by(600)
        assert acts(here.witness, "Sage")[before:] == ["Sage: Ann, you asked me to remind you: the bread."]
        [goal] = await here.journals["Sage"].goals(with_ended=True)
        assert goal.state is GoalState.DONE
        here.quiet.keys = frozenset()
        ann.note_typing()
        here.assistants["Sage"].tick.wake()
        here.pass_by(400)
        assert len(acts(here.witness, "Sage")) > before + 1


async def test_who_is_away_does_not_greet_and_who_is_quiet_does() -> None:
    greeted = []
    for stillness in Stillness:
        async with town(SAGE) as here:
            here.quiet.keys = frozenset({key_of(stillness, "assistant:0")})
            here.ann()
            here.pass_by(200)
            greeted.append(acts(here.witness, "Sage"))
    assert greeted == [["Sage: Welcome, Ann."], []]


async def test_nobody_is_spoken_to_first_who_does_not_want_it() -> None:
    async with town(SAGE) as here:
        peace = here.assistants["Sage"].peace
        await peace.wish([ANN.id, "account:7"], quiet=True)
        here.ann()
        here.pass_by(600)
        assert acts(here.witness, "Sage") == []
        await peace.wish(["account:7"], quiet=False)
        assert not peace.may_greet(ANN.id)
        assert peace.may_greet("account:7")
        await here.assistants["Sage"].forget(ANN)
        assert peace.may_greet(ANN.id)
