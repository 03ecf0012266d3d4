"""What a character does by rule: it walks after whom it follows, and goes home when it was left alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import force_setattr, replace
from twisted.internet.task import Clock

from mud_assistant.assistant.events.classify import Attention, Classification
from mud_assistant.assistant.events.events import ByRule, Left
from mud_assistant.assistant.journal.records import EVENT
from mud_assistant.assistant.loop.unasked import LEFT_ALONE, walking_after
from mud_assistant.assistant.runtime.initiative import Initiative, InitiativeParts
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.context import Following
from tests.assistant.living import ANN, Life, living
from tests.virtual import ForwardReactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BEA = Principal("player:2", "Bea")
GUS = Principal("player:4", "Gus", Kind.PLAYER, 0)
TIM = Principal("assistant:tim", "Tim", Kind.ASSISTANT)


def obedient(request: RecordedRequest) -> Step:
    """Calls the tool that is named, with the word behind it, and says what it came to."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(calls=(Call("say", {"text": f"It came to this: {last['content']}"}),))
    words = last["content"].rpartition("please ")[2].strip('."').split()
    match words:
        case ["follow", whom]:
            return Reply(calls=(Call("follow", {"person": whom}),))
        case [("stay" | "home") as tool]:
            return Reply(calls=(Call(tool, {}),))
        case ["move", way]:
            return Reply(calls=(Call("move", {"direction": way}),))
    return Reply(calls=(Call("say", {"text": "Good day."}),))


@asynccontextmanager
async def followed(**settings: Any) -> AsyncIterator[Life]:
    """A life in which Sage follows Ann; the model is asked no more from here on unless somebody speaks."""
    async with living(obedient, settings) as life:
        await life.say("Sage, please follow Ann")
        life.fake.requests.clear()
        yield life


async def walk(life: Life, *ways: str) -> None:
    for way in ways:
        await life.ann.move(way)
        await life.assistant.settled()


def rooms(life: Life) -> tuple[str, str]:
    return life.ann.room.key, life.home.room.key


def ways_out(life: Life) -> list[str]:
    return [way.direction for way in life.ann.room.exits]


async def test_it_walks_after_who_asked_room_by_room_without_a_model() -> None:
    async with followed() as life:
        for _ in range(4):
            await walk(life, ways_out(life)[0])
            assert rooms(life)[0] == rooms(life)[1]
        assert life.fake.requests == []
        assert [record.acts for record in life.witness.outcomes[-4:]] == [("move",)] * 4  # type: ignore[union-attr]


async def test_it_stays_when_it_is_told_to() -> None:
    async with followed() as life:
        await life.say("Sage, please stay")
        await walk(life, ways_out(life)[0])
        assert rooms(life)[0] != rooms(life)[1]


async def test_it_follows_the_one_it_was_told_to_and_nobody_else() -> None:
    async with followed() as life:
        bea = life.world.add(BEA, life.home.room.key)
        await bea.move(ways_out(life)[0])
        await life.assistant.settled()
        assert life.home.room is life.ann.room


async def test_who_is_gone_by_no_way_is_lost() -> None:
    async with followed() as life:
        start = life.home.room
        life.world.carry_off(life.ann, life.world.rooms["attic"])
        await life.assistant.settled()
        life.world.carry_off(life.ann, start)
        await walk(life, ways_out(life)[0])
        assert life.home.room is start


async def test_who_walked_on_before_it_came_is_lost() -> None:
    async with followed() as life:
        first, start = ways_out(life)[0], life.home.room
        await life.ann.move(first)
        life.world.carry_off(life.ann, start)  # before the assistant has come round
        await life.assistant.settled()
        there = life.home.room
        assert there is not start
        assert life.assistant.context.tools.following.leader is None


async def test_after_the_minutes_it_follows_no_more() -> None:
    clock = Clock()
    following = Following(clock.seconds, 30.0)
    async with living(obedient) as life:
        [ann] = (await life.home.look()).people
        following.begin(ann, ANN)
        clock.advance(1799.0)
        force_setattr(life.assistant.context.tools, "following", following)
        await walk(life, ways_out(life)[0])
        assert life.home.room is (there := life.ann.room)
        clock.advance(1.0)
        await walk(life, ways_out(life)[0])
        assert (life.home.room is there, life.ann.room is there) == (True, False)
        assert following.asker is None


async def test_with_no_minutes_nobody_is_followed() -> None:
    async with followed(follow_minutes=0) as life:
        assert any("You follow nobody in this game" in line for line in life.witness.heard)
        await walk(life, ways_out(life)[0])
        assert rooms(life)[0] != rooms(life)[1]


async def test_an_assistant_is_not_followed() -> None:
    async with living(obedient, {"required_permission": {"follow": 0}}) as life:
        tim = life.world.add(TIM, life.home.room.key)
        await life.say("Sage, please follow Tim")
        assert any("You cannot follow Tim" in line for line in life.witness.heard)
        start = life.home.room
        await tim.move(ways_out(life)[0])
        await life.assistant.settled()
        assert life.home.room is start


async def test_each_walk_is_judged_as_the_wish_of_who_asked() -> None:
    async with followed() as life:
        life.assistant.context.tools.following.asker = GUS
        await walk(life, ways_out(life)[0])
        assert rooms(life)[0] != rooms(life)[1]
        assert life.assistant.context.tools.following.leader is None
        assert life.fake.requests == []


async def test_a_guest_leads_nobody() -> None:
    async with living(obedient, ann=GUS) as life:
        await life.say("Sage, please follow Gus")
        await walk(life, ways_out(life)[0])
        assert rooms(life)[0] != rooms(life)[1]


async def test_it_goes_home_when_it_is_told_to() -> None:
    async with living(obedient) as life:
        start = life.home.room
        way = ways_out(life)[0]
        await life.say(f"Sage, please move {way}")
        await walk(life, way)
        assert life.home.room is not start
        await life.say("Sage, please home")
        assert life.home.room is start


async def left_alone(life: Life, clock: ForwardReactor, seconds: float) -> None:
    """The character's tick comes round `seconds` after it was seen alone."""
    initiative = Initiative(life.assistant.context, InitiativeParts())
    await initiative.look()
    clock.ahead += seconds
    await initiative.look()


@pytest.mark.parametrize(
    ("minutes", "seconds", "with_ann", "goes"),
    [(10, 599, False, False), (10, 601, False, True), (10, 601, True, False), (0, 1e6, False, False)],
)
async def test_left_alone_away_from_home_it_is_sent_home(
    minutes: float, seconds: float, *, with_ann: bool, goes: bool
) -> None:
    clock = ForwardReactor()
    async with living(obedient, {"go_home_minutes": minutes}, clock=clock) as life:
        life.home.room = life.world.rooms["attic"]
        if with_ann:
            life.ann.room = life.world.rooms["attic"]
        await left_alone(life, clock, seconds)
        texts = [getattr(one.event, "text", "") for one in await life.journal.pending()]
        assert (LEFT_ALONE in texts) is goes


async def test_going_home_takes_no_model_and_is_not_done_where_somebody_came_meanwhile() -> None:
    clock = ForwardReactor()
    async with living(obedient, clock=clock) as life:
        start = life.home.room
        for is_met in (True, False):
            life.home.room = life.world.rooms["attic"]
            life.ann.room = life.world.rooms["attic" if is_met else start.key]
            at_first = life.ann.room
            life.ann.room = start
            await left_alone(life, clock, 601.0)
            life.ann.room = at_first
            life.assistant.tick.wake()
            await life.assistant.settled()
            assert (life.home.room is start) is not is_met
        assert life.fake.requests == []


@pytest.mark.parametrize("asker", [None, ANN])
def test_a_call_by_rule_is_kept_and_one_without_is_as_it_always_was(asker: Principal | None) -> None:
    plain = Left(id="1", at=2.0, who=ANN, direction="north")
    assert "by_rule" not in EVENT.pack(plain)
    ruled = Left(id="1", at=2.0, who=ANN, direction="north", by_rule=ByRule("move", {"direction": "north"}, asker))
    for event in (plain, ruled):
        assert EVENT.decode(EVENT.encode(event)) == event


async def test_what_was_asked_before_is_answered_first() -> None:
    async with followed() as life:
        way = ways_out(life)[0]
        await life.ann.say("Sage, how are you?")
        await life.ann.move(way)
        await life.assistant.settled()
        assert rooms(life)[0] == rooms(life)[1]
        assert len(life.fake.requests) == 1


async def test_who_is_not_heeded_is_not_followed() -> None:
    async with followed() as life:
        attention = Attention(Classification.IGNORE, 3)
        life.assistant.rights.muted |= {ANN.id}  # as `mute` does
        left = Left(id="x", at=0.0, who=ANN, direction="north")
        assert await life.assistant.inbox.take(left) == attention


@pytest.mark.parametrize("listed", [None, ["say", "look", "take", "follow"]])
async def test_a_small_window_is_kept_for_talk_unless_the_owner_lists_the_tools(listed: list[str] | None) -> None:
    async with living(obedient, {"tools": listed}, {"context_tokens": 2048, "max_answer_tokens": 200}) as life:
        await life.say("Sage, good morning.")
        offered = {tool["function"]["name"] for tool in life.fake.chats[0].tools}
        assert "say" in offered
        assert ({"take", "follow"} <= offered) is (listed is not None)
        assert not {"drop", "give", "stay", "home"} & offered


async def test_who_asked_and_leads_is_judged_by_the_rank_that_they_have_now() -> None:
    async with followed() as life:
        heard = Attention(Classification.CONTEXT, 3)
        left = Left(id="e", at=0.0, who=replace(ANN, permission=0), direction="east")
        event, _ = walking_after(life.assistant.context.tools, left, heard)
        assert event.by_rule == ByRule("move", {"direction": "east"}, left.who)
        life.assistant.context.tools.following.asker = GUS
        event, _ = walking_after(life.assistant.context.tools, left, heard)
        assert event.by_rule == ByRule("move", {"direction": "east"}, GUS)


async def test_who_is_forgotten_is_followed_no_more() -> None:
    async with followed() as life:
        await life.assistant.forget(BEA)
        assert life.assistant.context.tools.following.leads(ANN.id)
        await life.assistant.forget(ANN)
        assert life.assistant.context.tools.following.leader is None
