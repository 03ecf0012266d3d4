"""How promises are numbered and told, and that nobody sees the words of what was asked in private but who asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.service.operations.listed_promises import (
    BY_ASKER,
    IN_PRIVATE,
    MOST_OVER,
    drop_own,
    own_promises,
    own_text,
    owner_text,
    shown_to_owner,
)
from mud_assistant.assistant.service.operations.operators import InvalidInput
from mud_assistant.tools import Principal
from tests.assistant.life.lives import Lived, town
from tests.assistant.living import ANN, promise

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BEA = Principal("player:2", "Bea")
BREAD = Goal("g.0", GoalKind.REMIND, "remind you at dawn: the bread", ANN, 100.0, what="the bread", due=10.0**12)
TELL = Goal("g.1", GoalKind.TELL, "tell Ann: dinner", BEA, 200.0, what="dinner", whom_name="Ann", due=10.0**12)
OVER = Goal("g.2", GoalKind.CHORE, "mind the fire", ANN, 300.0, state=GoalState.DONE, evidence="it was done there")
SAGE, MIRA = Lived("Sage"), Lived("Mira")
goals = st.lists(
    st.builds(
        Goal,
        st.text(min_size=1, max_size=5),
        st.sampled_from(GoalKind),
        st.sampled_from(["remind you", "hide the key"]),
        st.sampled_from([ANN, BEA]),
        st.floats(0, 10),
        audience=st.none() | st.just(frozenset({ANN.id})),
        state=st.sampled_from(GoalState),
        evidence=st.sampled_from(["", "Ann was told of the key"]),
    ),
    max_size=30,
)


def test_what_is_not_over_comes_first_and_has_a_number() -> None:
    found = shown_to_owner([OVER, TELL, BREAD])
    assert [(one.number, one.id) for one in found] == [(1, "g.0"), (2, "g.1"), (0, "g.2")]


def test_only_the_newest_that_are_over_are_shown() -> None:
    many = [replace(OVER, id=f"old.{number}", made_at=float(number)) for number in range(30)]
    assert [one.id for one in shown_to_owner(many)] == [f"old.{number}" for number in range(29, 29 - MOST_OVER, -1)]


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (GoalState.OPEN, "1. remind you at dawn: the bread (for Ann, a minute ago; open)"),
        (GoalState.DONE, "-  remind you at dawn: the bread (for Ann, a minute ago; done: Ann was told)"),
        (GoalState.DROPPED, "-  remind you at dawn: the bread (for Ann, a minute ago; dropped: nobody came)"),
        (
            GoalState.WITHDRAWN,
            (
                "1. remind you at dawn: the bread (for Ann, a minute ago; cannot be kept, which is still to be told: "
                "nobody came)"
            ),
        ),
        (GoalState.TOLD, "-  remind you at dawn: the bread (for Ann, a minute ago; could not be kept: nobody came)"),
    ],
)
def test_each_state_is_told(state: GoalState, told: str) -> None:
    reason = "" if state is GoalState.OPEN else "nobody came"
    goal = replace(BREAD, state=state, reason=reason, evidence="Ann was told" if state is GoalState.DONE else "")
    text = owner_text("Sage", shown_to_owner([goal]), 160.0, "drop NUMBER")
    assert text.splitlines()[1] == f"  {told}"
    assert ("To drop one: drop NUMBER" in text) is (state in {GoalState.OPEN, GoalState.WITHDRAWN})


@given(goals)
def test_an_owner_reads_no_word_of_what_was_asked_in_private(made: list[Goal]) -> None:
    found = shown_to_owner(made)
    for one in found:
        if one.is_private:
            assert (one.text, "key" in one.why) == (IN_PRIVATE, False)
    lasting = [one.number for one in found if one.number]
    assert lasting == list(range(1, len(lasting) + 1))
    assert len(lasting) == sum(not one.is_over for one in made)


async def test_a_player_sees_their_own_of_all_characters_also_in_private() -> None:
    async with town(SAGE, MIRA) as here:
        everybody = list(here.assistants.values())
        await promise(here.assistants["Sage"], replace(BREAD, audience=frozenset({ANN.id})), TELL, OVER)
        await promise(here.assistants["Mira"], replace(BREAD, made_at=150.0, text="wait for you"))  # of the same id
        mine = await own_promises(everybody, [ANN, Principal("account:7", "Ann")])
        assert own_text(mine, 160.0, "drop NUMBER").splitlines() == [
            "Sage promised you:",
            "  1. remind you at dawn: the bread (a minute ago; open)",
            "Mira promised you:",
            "  2. wait for you (just now; open)",
            "Sage promised you:",
            "  -  mind the fire (just now; done: it was done there)",
            "To let one be: drop NUMBER",
        ]
        assert own_text([], 160.0, "drop NUMBER") == "Nobody has promised you anything."


@pytest.mark.parametrize("number", [0, 3, 10**8])
async def test_a_player_drops_nothing_but_their_own(number: int) -> None:
    async with town(SAGE, MIRA) as here:
        await promise(here.assistants["Sage"], BREAD, TELL, OVER)
        await promise(here.assistants["Mira"], replace(BREAD, made_at=150.0))
        with pytest.raises(InvalidInput):
            await drop_own(list(here.assistants.values()), [ANN], number, "promises")
        assert len(here.assistants["Sage"].context.memory.goals) == 2


async def test_the_right_one_of_two_with_the_same_id_is_dropped() -> None:
    async with town(SAGE, MIRA) as here:
        await promise(here.assistants["Sage"], BREAD)
        await promise(here.assistants["Mira"], replace(BREAD, made_at=150.0))
        told = await drop_own(list(here.assistants.values()), [ANN], 2, "promises")
        assert told == "Mira will not do it: remind you at dawn: the bread."
        assert [len(here.assistants[name].context.memory.goals) for name in ("Sage", "Mira")] == [1, 0]
        [dropped] = await here.journals["Mira"].goals(with_ended=True)
        assert (dropped.state, dropped.reason) == (GoalState.DROPPED, BY_ASKER)
