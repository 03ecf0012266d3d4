"""What a character promises aloud is kept, or it is not said: through the real loop, with time that is moved on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.loop.promise_goals import CANNOT, ENOUGH
from mud_assistant.assistant.loop.talk.promise import AS_YOU_WISH
from mud_assistant.assistant.memory.remembering import remembering
from mud_assistant.assistant.runtime.in_memory import in_memory
from mud_assistant.llm.testing import Call, HttpError, RecordedRequest, Reply, Step
from mud_assistant.tools import Kind, Principal
from tests.assistant.living import ANN, SAGE, Life, Witness, living
from tests.virtual import ForwardReactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BEA = Principal("player:2", "Bea")
MINUTE = 60.0


class Days:
    """A life whose clock can be moved on."""

    def __init__(self, life: Life, clock: ForwardReactor) -> None:
        self.life = life
        self.clock = clock

    async def pass_(self, seconds: float) -> None:
        """Time passes, and the character looks at what is due until nothing is."""
        self.clock.ahead += seconds
        assistant = self.life.assistant
        for _ in range(20):
            before = len(self.life.witness.outcomes)
            assistant.tick.wake()
            await assistant.settled()
            if len(self.life.witness.outcomes) == before:
                return
            self.clock.ahead += 5.0

    @property
    def heard(self) -> list[str]:
        return self.life.witness.heard

    async def goals(self) -> list[Goal]:
        return list(await self.life.journal.goals(with_ended=True))


def saying(words: str) -> Any:
    """A model that says the same to everything, once."""

    def script(request: RecordedRequest) -> Step:
        return Reply(calls=(Call("say", {"text": words}),))

    return script


@asynccontextmanager
async def days(words: str, **more: Any) -> AsyncIterator[Days]:
    """A life whose model says these words to everything."""
    clock = ForwardReactor()
    async with living(saying(words), clock=clock, **more) as life:
        yield Days(life, clock)


@asynccontextmanager
async def hours(words: str) -> AsyncIterator[Days]:
    """A life in a game whose hours begin at noon and are as long as ours."""
    clock = ForwardReactor()
    start = clock.seconds()
    async with living(saying(words), clock=clock, hour=lambda: 12.0 + (clock.seconds() - start) / 3600) as life:
        yield Days(life, clock)


async def test_it_reminds_at_the_time_once_and_keeps_what_it_saw() -> None:
    async with days("Gladly, I will remind you.") as life:
        await life.life.say("Sage, please remind me in ten minutes to feed the hens")
        [goal] = await life.goals()
        assert (goal.kind, goal.asker, goal.state) == (GoalKind.REMIND, ANN, GoalState.OPEN)
        await life.pass_(9 * MINUTE)
        assert not [line for line in life.heard if "asked me" in line]
        await life.pass_(2 * MINUTE)
        await life.pass_(60 * MINUTE)
        assert [line for line in life.heard if "remind you: feed the hens" in line] == [
            "Sage: Ann, you asked me to remind you: feed the hens."
        ]
        [goal] = await life.goals()
        assert goal.state is GoalState.DONE
        assert goal.evidence


async def test_what_cannot_be_kept_is_not_promised() -> None:
    async with days("Good evening. I will slay the dragon for you tomorrow.") as life:
        await life.life.say("Sage, how are you?")
        assert life.heard[-1] == f"Sage: Good evening. {CANNOT}"
        assert await life.goals() == []


async def test_words_that_promise_nothing_make_no_goal() -> None:
    async with days("Why should I? Ask somebody else.") as life:
        await life.life.say("Sage, remind me in ten minutes to feed the hens")
        assert await life.goals() == []


@pytest.mark.parametrize(
    "line", ["Sage, tell Bea when she comes that dinner is ready", "sage let Bea know that dinner is ready"]
)
async def test_it_tells_another_person_when_they_come_in_the_askers_words(line: str) -> None:
    async with days("I shall tell her.") as life:
        await life.life.say(line)
        [goal] = await life.goals()
        assert (goal.kind, goal.whom_name) == (GoalKind.TELL, "Bea")
        bea = Witness()
        await life.pass_(MINUTE)
        assert "dinner is ready" not in "".join(life.heard)
        life.life.world.add(BEA, listener=bea)
        await life.pass_(MINUTE)
        assert [line for line in bea.heard if "dinner" in line] == [
            'Sage: Bea, Ann asked me to tell you: "dinner is ready"'
        ]


async def test_what_is_for_somebody_who_is_here_is_no_promise() -> None:
    async with days("I shall tell her.") as life:
        life.life.world.add(BEA, listener=Witness())
        await life.life.say("Sage, let Bea know that dinner is ready")
        assert await life.goals() == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Sage, let me know when Venn comes", "Ann, Venn is here."),
        ("Sage, tell Venn when he comes that dinner is ready", 'Venn, Ann asked me to tell you: "dinner is ready"'),
    ],
)
async def test_another_character_is_somebody_who_comes_too(line: str, words: str) -> None:
    async with days("I will.") as life:
        venn = life.life.world.add(Principal("assistant:9", "Venn", Kind.ASSISTANT), "square")
        await life.life.say(line)
        await life.pass_(MINUTE)
        assert f"Sage: {words}" not in life.heard
        await venn.move("north")
        await life.pass_(MINUTE)
        assert life.heard.count(f"Sage: {words}") == 1


async def test_one_person_has_two_promises_at_most() -> None:
    async with days("I will.") as life:
        for what in ("eat", "drink", "sleep"):
            await life.life.say(f"Sage, remind me in ten minutes to {what}")
        assert len(await life.goals()) == 2
        assert life.heard[-1] == f"Sage: {ENOUGH}"


async def test_what_was_asked_in_a_whisper_is_kept_in_a_whisper() -> None:
    async with days("I will.") as life:
        bea = Witness()
        life.life.world.add(BEA, listener=bea)
        await life.life.whisper("remind me in ten minutes to hide the key")
        await life.pass_(11 * MINUTE)
        assert [line for line in life.heard if "hide the key" in line] == [
            "Sage whispers: Ann, you asked me to remind you: hide the key."
        ]
        assert not [line for line in bea.heard if "key" in line]


async def test_a_muted_and_a_forgotten_person_have_no_promises_left() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, remind me in ten minutes to eat")
        await life.life.assistant.mute(ANN)
        [goal] = await life.goals()
        assert goal.state is GoalState.DROPPED
    async with days("I will.") as life:
        await life.life.say("Sage, remind me in ten minutes to eat")
        await life.life.assistant.forget(ANN)
        await life.pass_(11 * MINUTE)
        assert await life.goals() == []
        assert not [line for line in life.heard if "asked me" in line]


@pytest.mark.parametrize(
    ("line", "answer", "kind"),
    [
        ("Sage, remind me at dawn", "remind you at dawn", GoalKind.REMIND),
        ("Sage, can you mind the fire every evening?", "mind the fire every evening", GoalKind.CHORE),
        ("Sage, come back in an hour", "be here in an hour", GoalKind.COME),
        ("Sage, wait here until I am back", "wait here until you are back", GoalKind.WAIT),
        ("Sage, tell Bea when she comes that dinner is ready", "dinner is ready", GoalKind.TELL),
    ],
)
async def test_a_small_model_promises_by_rule_and_says_what_it_promised(line: str, answer: str, kind: GoalKind) -> None:
    async with days("Blue.", model={"asking": "plain"}) as life:
        await life.life.say(line)
        assert answer in life.heard[-1]
        [goal] = await life.goals()
        assert goal.kind is kind
        assert life.life.fake.requests == []
        await life.life.say("Sage, what did you promise me?")
        assert answer in life.heard[-1]


async def test_it_comes_back_at_the_time_by_the_way_there_is() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, come back here in ten minutes")
        life.life.home.room = life.life.world.rooms["attic"]
        await life.pass_(9 * MINUTE)
        assert life.life.home.room.key == "attic"
        await life.pass_(2 * MINUTE)
        assert life.life.home.room.key == "library"
        [goal] = await life.goals()
        assert (goal.state, goal.evidence) == (GoalState.DONE, "it was there")
        assert life.heard[-1] == "Sage: Ann, here I am, as I said."
        stays = life.life.assistant.context.memory.goals.stays_put
        assert stays(life.clock.seconds()) == "it came as it promised"
        assert stays(life.clock.seconds() + 6 * MINUTE) == ""


async def test_it_says_nothing_of_having_come_where_it_was_all_the_time_or_where_nobody_waits() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, come back here in ten minutes")
        await life.life.say("Sage, meet me in the attic in twenty minutes")
        for minutes in (11, 10):
            await life.pass_(minutes * MINUTE)
            assert not [line for line in life.heard if "here I am" in line]
        assert life.life.home.room.key == "attic"
        assert [goal.state for goal in await life.goals()] == [GoalState.DONE] * 2


async def test_it_waits_and_goes_nowhere_until_the_asker_is_back() -> None:
    async with days("I will.", settings={"go_home_minutes": 1}) as life:
        life.life.home.room = life.life.ann.room = life.life.world.rooms["attic"]
        await life.life.say("Sage, wait here until I am back")
        await life.pass_(MINUTE)
        [goal] = await life.goals()
        assert goal.is_open, "who asked has not left yet"
        await life.life.ann.move("down")
        await life.pass_(5 * MINUTE)
        assert life.life.home.room.key == "attic"
        await life.life.ann.move("up")
        await life.pass_(MINUTE)
        [goal] = await life.goals()
        assert (goal.state, goal.evidence) == (GoalState.DONE, "they came back")


async def test_who_promises_to_wait_follows_nobody_any_more() -> None:
    async with days("I will.") as life:
        [ann] = (await life.life.home.look()).people
        life.life.assistant.context.tools.following.begin(ann, None)
        await life.life.say("Sage, wait here until I am back")
        await life.life.ann.move("south")
        await life.pass_(MINUTE)
        life.life.assistant.context.tools.following.begin(ann, None)
        await life.life.ann.move("north")
        assert life.life.home.room.key == "library"


async def test_what_was_promised_is_kept_while_the_model_cannot_be_reached() -> None:
    steps: list[Step] = [Reply(calls=(Call("say", {"text": "I will."}),)), *[HttpError(503)] * 20]
    clock = ForwardReactor()
    async with living(lambda _: steps.pop(0), clock=clock) as alive:
        life = Days(alive, clock)
        await alive.say("Sage, remind me in ten minutes to eat")
        await alive.say("Sage, what do you know of the mill?")
        await life.pass_(11 * MINUTE)
        assert "Sage: Ann, you asked me to remind you: eat." in life.heard


async def test_a_chore_is_done_again_every_evening_of_the_game() -> None:
    async with hours("I will.") as life:
        await life.life.say("Sage, please mind the fire every evening")
        for evenings in range(3):
            assert len([line for line in life.heard if line == "Sage minds the fire."]) == evenings
            await life.pass_(24 * 3600.0)


async def test_what_cannot_be_kept_is_withdrawn_aloud() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, meet me at the lighthouse in ten minutes")
        await life.pass_(11 * MINUTE)
        [goal] = await life.goals()
        assert goal.state is GoalState.TOLD
        assert "I cannot: I find no way there." in life.heard[-1]


async def test_a_goal_lives_on_in_another_life_of_the_character() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, remind me in ten minutes to eat")
        goals, clock = tuple(await life.goals()), life.clock
    storage = replace(in_memory(clock.seconds, 500, remembering((SAGE.name,))), goals=goals)
    await storage.journal.save_goals(goals)
    async with days("I will.", storage=storage) as life:
        await life.pass_(11 * MINUTE)
        assert "Sage: Ann, you asked me to remind you: eat." in life.heard


async def test_nothing_is_done_for_who_is_no_more_and_all_else_with_their_rank_of_now() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, come back here in ten minutes")
        life.life.world.remove(life.life.ann)
        life.life.world.departed.clear()
        life.life.home.room = life.life.world.rooms["attic"]
        await life.pass_(11 * MINUTE)
        [goal] = await life.goals()
        assert goal.state is GoalState.DROPPED
        assert life.life.home.room.key == "attic"


async def test_a_dropped_promise_is_not_kept() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, remind me in ten minutes to eat")
        [goal] = await life.goals()
        assert await life.life.assistant.drop_promise(goal.id, "nobody wants it") is not None
        assert await life.life.assistant.drop_promise(goal.id, "nobody wants it") is None
        await life.pass_(11 * MINUTE)
        [goal] = await life.goals()
        assert (goal.state, goal.reason) == (GoalState.DROPPED, "nobody wants it")
        assert not [line for line in life.heard if "asked me" in line]


async def test_a_small_model_grants_the_wish_not_to_be_spoken_to_first_by_rule() -> None:
    async with living([], model={"asking": "plain"}) as life:
        await life.say("Sage, please do not speak to me first.")
        assert life.witness.heard[-1] == f"Sage: {AS_YOU_WISH}"
        assert not life.assistant.peace.may_greet(ANN.id)


async def test_what_was_promised_to_somebody_is_dropped_when_they_have_not_come_for_two_weeks() -> None:
    async with hours("I will.") as life:
        bea = life.life.world.add(BEA, listener=Witness())
        await life.life.say("Sage, please mind the fire every evening")
        life.life.world.remove(life.life.ann)
        for _ in range(13):
            await life.pass_(24 * 3600.0)
        [goal] = await life.goals()
        assert (goal.state, goal.attempts) == (GoalState.OPEN, 13)
        await bea.look()
        await life.pass_(2 * 24 * 3600.0)
        [goal] = await life.goals()
        assert (goal.state, goal.reason) == (GoalState.DROPPED, "nobody came for it in two weeks")


async def test_what_waits_for_somebody_to_hear_it_makes_nobody_look_more_often() -> None:
    async with days("I will.") as life:
        await life.life.say("Sage, remind me in ten minutes to eat")
        [goal] = await life.goals()
        assert goal.due is not None
        next_at = life.life.assistant.context.memory.goals.next_at
        assert next_at(goal.due - 60.0, None) == next_at(goal.due + 1.0, None) == goal.due
        assert next_at(goal.due + 60.0, None) == float("inf")


async def test_it_keeps_its_word_where_the_world_cannot_tell_who_somebody_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async with days("I will.") as life:
        monkeypatch.setattr(life.life.home, "who_is", None)
        await life.life.say("Sage, remind me in ten minutes to eat")
        await life.pass_(11 * MINUTE)
        assert "Sage: Ann, you asked me to remind you: eat." in life.heard


@pytest.mark.parametrize(
    ("hour", "said"),
    [
        (14.4, "half past two in the afternoon"), (0.1, "midnight"), (23.9, "midnight"), (11.9, "noon"),
        (12.5, "half past twelve in the afternoon"), (3.0, "three at night"), (6.6, "half past six in the morning"),
    ],
)  # fmt: skip
async def test_a_small_model_tells_the_hour_of_the_game_by_rule(hour: float, said: str) -> None:
    async with days("Blue.", model={"asking": "plain"}, hour=lambda: hour) as life:
        await life.life.say("Sage, what time is it?")
        assert life.heard[-1] == f"Sage: It is about {said}."
        assert life.life.fake.requests == []
