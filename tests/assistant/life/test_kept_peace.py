"""Who is to keep still does nothing of itself and keeps its promises; who does not want to be met first is not met."""

from __future__ import annotations

import pytest

from mud_assistant.assistant.characters.day_entries import DayEntry, Days
from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.life.peace import EVERYBODY, Stillness, key_of, wish_in
from tests.assistant.life.lives import Lived, Town, acts, town
from tests.assistant.living import ANN, promise

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BUSY = Days((DayEntry(0, "", does=("hums.", "nods."), begins="lights the fire."),))
SAGE = Lived("Sage", days=BUSY, settings={"greeting": "Welcome, {{user}}.", "pause_seconds": 0})


@pytest.mark.parametrize("whose", [EVERYBODY, "assistant:0"])
async def test_quiet_ends_what_it_does_of_itself_at_once_and_not_its_promises(whose: str) -> None:
    async with town(SAGE) as here:
        ann = here.ann()
        here.pass_by(200)
        assert acts(here.witness, "Sage lights")
        here.quiet.keys = frozenset({key_of(Stillness.QUIET, whose)})
        here.pass_by(1)
        before = len(acts(here.witness, "Sage"))
        now = here.clock.seconds()
        goal = Goal("g.0", GoalKind.REMIND, "remind you: the bread", ANN, now, what="the bread", due=now + 300)
        await promise(here.assistants["Sage"], goal)
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


async def test_a_player_says_so_in_words() -> None:
    async with town(SAGE) as here:
        peace = here.assistants["Sage"].peace
        ann = here.ann()
        await ann.say("Sage, please don't speak to me first.")
        here.pass_by(1)
        assert not peace.may_greet(ANN.id)
        await ann.say("Sage, you may talk to me first again.")
        here.pass_by(1)
        assert peace.may_greet(ANN.id)


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("Do not speak to me first", True),
        ("Please, never talk to me unless I speak to you.", True),
        ("Sage, only speak to me when spoken to!", True),
        ("Don\u2019t greet me any more.", True),
        ("Sage, you can talk to me first", False),
        ("Why don't you speak to me first?", None),
        ("Don't speak to me first?", None),
        ("Do not speak to strangers first.", None),
        ("He never speaks to me first.", None),
        ("Don't speak so fast to me.", None),
        ("", None),
    ],
)
def test_which_words_ask_for_it(words: str, wish: bool | None) -> None:
    assert wish_in(words) is wish


async def stay(here: Town, minutes: int) -> None:
    """Ann stays and types something now and then, without a word to anybody."""
    ann = here.ann()
    for _ in range(minutes):
        ann.note_typing()
        here.pass_by(60, 5.0)


@pytest.mark.parametrize("quiet", [False, True])
async def test_who_is_quiet_asks_no_model_unasked(quiet: bool) -> None:
    async with town(Lived("Sage", settings={"impulses": True})) as here:
        here.quiet.keys = frozenset({key_of(Stillness.QUIET, EVERYBODY)}) if quiet else frozenset()
        await stay(here, 60)
        reasons = {one.why for one in here.assistants["Sage"].context.memory.reasons.latest}
        taken = any(one.taken for one in here.assistants["Sage"].context.memory.reasons.latest)
        assert taken is not quiet
        assert ("its owner wants quiet of everybody" in reasons) is quiet


@pytest.mark.parametrize("quiet", [False, True])
async def test_who_is_quiet_walks_nowhere_unasked(quiet: bool) -> None:
    walks = Days((DayEntry(0, "inn"),))
    async with town(Lived("Sage", days=walks)) as here:
        here.quiet.keys = frozenset({key_of(Stillness.AWAY, "assistant:0")}) if quiet else frozenset()
        await stay(here, 5)
        assert (here.where("Sage") == "inn") is not quiet


async def test_one_that_is_away_answers_who_speaks_to_it() -> None:
    async with town(SAGE) as here:
        here.quiet.keys = frozenset({key_of(Stillness.AWAY, "assistant:0")})
        ann = here.ann()
        before = len(here.witness.outcomes)
        await ann.say("Sage, are you there?")
        here.pass_by(1)
        waits = await here.journals["Sage"].pending()
        assert waits or len(here.witness.outcomes) > before
