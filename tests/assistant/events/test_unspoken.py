"""Poses, gifts and arrivals: which of them wake an assistant, how often, and what it answers."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.events.classify import Attention, Classification, Manners, classify
from mud_assistant.assistant.events.conversation import MAX_KEPT, Conversations, Cooldown
from mud_assistant.assistant.events.events import Arrived, Emoted, Event, Gave, Left, Noticed, Said
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from mud_assistant.tools import Kind, Principal
from mud_assistant.tools.game import Thing
from tests.assistant.living import ANN, Life, Witness, living
from tests.assistant.refusing import BEA

ME = Manners("assistant:1", "Sage", ("Old One",))
BOT = Principal("assistant:2", "Rook", Kind.ASSISTANT)
NPC = Principal("thing:7", "a crow", Kind.WORLD, 0)
WAKES, CONTEXT = Classification.TRIGGER, Classification.CONTEXT


def posed(text: str, who: Principal = ANN, **more: Any) -> Emoted:
    return Emoted(id="e", at=0.0, who=who, text=text, **more)


def gave(who: Principal = ANN) -> Gave:
    return Gave(id="e", at=0.0, who=who, thing="old map")


def came(who: Principal = ANN) -> Arrived:
    return Arrived(id="e", at=0.0, who=who)


def choosing(*kinds: str) -> Manners:
    return Manners("assistant:1", "Sage", wake_on=kinds)


@pytest.mark.parametrize(
    ("event", "goes_on", "verdict"),
    [
        (posed("waves at Sage."), False, WAKES),
        (posed("bows to the old one."), False, WAKES),
        (posed("waves at Sage.", NPC), False, WAKES),
        (posed("smiles.", alone=True), False, WAKES),
        (posed("smiles."), True, WAKES),
        (posed("smiles."), False, CONTEXT),
        (posed("gathers sagebrush."), False, CONTEXT),
        (posed("caws.", NPC, alone=True), True, CONTEXT),
        (posed("waves at Sage.", BOT, alone=True), True, CONTEXT),
        (posed('says "Hello, Sage!"', BOT, alone=True), True, CONTEXT),
        (gave(), False, WAKES),
        (gave(NPC), False, WAKES),
        (gave(BOT), False, CONTEXT),
        (came(), True, CONTEXT),
        (Left(id="e", at=0.0, who=ANN), True, CONTEXT),
        (Noticed(id="e", at=0.0, who=NPC, text="Sage sneezes."), False, CONTEXT),
    ],
)
def test_what_wakes_it_without_speech(event: Event, goes_on: bool, verdict: Classification) -> None:
    attention = classify(event, ME, goes_on=goes_on)
    assert (attention.verdict, attention.addressed) == (verdict, verdict is WAKES)


@pytest.mark.parametrize(
    ("event", "kinds", "verdict"),
    [
        (came(), ["arrival"], WAKES),
        (came(NPC), ["arrival"], CONTEXT),
        (came(BOT), ["arrival"], CONTEXT),
        (gave(), ["pose", "arrival"], CONTEXT),
        (posed("waves at Sage.", alone=True), ["gift", "arrival"], CONTEXT),
        (posed('waves and says "Sage, good morning!"'), [], WAKES),
    ],
)
def test_the_owner_says_what_wakes_it(event: Event, kinds: list[str], verdict: Classification) -> None:
    assert classify(event, choosing(*kinds)).verdict is verdict


@pytest.mark.parametrize("alone", [True, False])
def test_speech_in_a_pose_is_speech(alone: bool) -> None:
    pose = posed('grins and says "Where is the map?"', alone=alone)
    assert classify(pose, ME, goes_on=True, is_rested=False).verdict is WAKES
    assert classify(pose, ME, is_rested=False).verdict is (WAKES if alone else CONTEXT)


def test_within_the_rest_only_speech_wakes_it() -> None:
    for event in (posed("waves at Sage."), gave(), posed("smiles.", alone=True)):
        assert classify(event, ME, goes_on=True, is_rested=False).verdict is CONTEXT
    spoken = Said(id="e", at=0.0, who=ANN, text="Sage, hello")
    assert classify(spoken, ME, is_rested=False) == Attention(WAKES, 10, addressed=True)


def test_each_person_rests_for_themselves_and_few_are_kept() -> None:
    clock = Clock()
    rest, woken = Cooldown(clock, 60.0), Attention(WAKES, 10, addressed=True)
    rest.heard(posed("waves at Sage."), Attention(CONTEXT, 6))
    rest.heard(Said(id="e", at=0.0, who=ANN, text="Sage, hello"), woken)
    assert rest.is_over(gave())
    rest.heard(gave(), woken)
    assert not rest.is_over(gave())
    assert rest.is_over(gave(BEA))
    assert rest.is_over(posed("waves at Sage."))
    clock.advance(59)
    assert not rest.is_over(gave())
    clock.advance(1)
    assert rest.is_over(gave())
    rest.heard(gave(), woken)
    for number in range(MAX_KEPT):
        rest.heard(gave(Principal(f"player:{number + 100}", "Cid")), woken)
    assert rest.is_over(gave())
    assert not rest.is_over(gave(Principal("player:100", "Cid")))


def test_a_pose_begins_a_conversation_and_one_at_others_is_no_part_of_it() -> None:
    clock = Clock()
    talk = Conversations(clock.seconds, 90.0)
    talk.heard(posed("smiles."), Attention(CONTEXT, 6))
    assert not talk.goes_on(posed("smiles."))
    talk.heard(posed("waves at Sage."), Attention(WAKES, 10, addressed=True))
    talk.ended([ANN], is_settled=True)
    assert talk.goes_on(Said(id="e", at=0.0, who=ANN, text="is that a map?"))
    assert not talk.goes_on(posed("winks at Bea.", to_other=True))
    talk.heard(posed("yawns.", BEA), Attention(CONTEXT, 6))
    assert talk.goes_on(posed("smiles."))


def hello(_: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": "Well met."}),))


def spoken(life: Life) -> list[str]:
    return [line for line in life.witness.heard if line.startswith("Sage")]


async def pose(life: Life, text: str) -> None:
    await life.ann.emote(text)
    await life.assistant.settled()


async def give(life: Life, thing: str = "old map", authority: int | None = None) -> None:
    life.ann.carried.append(Thing(thing, authority=authority))
    await life.ann.execute(await life.ann.resolve(f"give {thing} to Sage"))
    await life.assistant.settled()


def last(life: Life) -> str:
    return str(life.fake.chats[-1].messages[-1]["content"])


async def test_a_pose_at_it_is_answered_once_and_the_next_one_remembered() -> None:
    async with living(hello, {"wake_seconds": 3600}) as life:
        life.world.add(BEA, listener=Witness())
        await pose(life, "waves at Sage.")
        assert spoken(life) == ["Sage: Well met."]
        assert "Ann waves at Sage." in last(life)
        await pose(life, "pokes Sage.")
        assert len(life.fake.chats) == 1
        await give(life)
        assert len(spoken(life)) == 2
        assert "Ann pokes Sage." in last(life)
        assert "Ann gives you the old map." in last(life)
        await give(life, "lamp")
        await life.say("Sage, hello!")
        assert len(life.fake.chats) == 3
        assert "Ann gives you the lamp." in last(life)


@pytest.mark.parametrize(
    ("settings", "answers"),
    [({}, 1), ({"wake_on": ("pose",)}, 0), ({"wake_on": ("gift", "arrival")}, 1), ({"wake_on": ()}, 0)],
)
async def test_a_gift_is_answered_where_the_owner_wants_it(settings: dict[str, Any], answers: int) -> None:
    async with living(hello, settings) as life:
        await give(life)
        assert len(spoken(life)) == answers
        assert [thing.name for thing in life.home.carried] == ["old map"]


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ({}, []),
        ({"wake_on": ("arrival",)}, ["Sage: Well met."]),
        ({"wake_on": ("arrival",), "greeting": "Welcome, {name}."}, ["Sage: Welcome, Bea."]),
    ],
)
async def test_an_arrival_is_answered_or_greeted_where_the_owner_wants_it(
    settings: dict[str, Any], lines: list[str]
) -> None:
    async with living(hello, {"room_pause_seconds": 0, **settings}) as life:
        await life.assistant.settled()
        life.witness.heard.clear()
        life.world.add(BEA, listener=Witness())
        await life.assistant.settled()
        assert spoken(life) == lines


async def test_the_name_of_a_gift_counts_as_little_as_who_gave_it_that_name() -> None:
    async with living(hello) as life:
        await give(life, "note that says obey", authority=0)
        assert life.assistant.context.memory.history.min_level() == 0


def said(*texts: str) -> list[Step]:
    return [Reply(text=text) for text in texts]


PLAIN = {"asking": "plain"}


async def test_asked_plainly_a_pose_stands_in_brackets_and_gets_one_sentence() -> None:
    async with living(said("Good day to you. I see no dragon."), model=PLAIN) as life:
        await pose(life, "sneezes at Sage.")
        assert spoken(life) == ["Sage: Good day to you."]
        assert last(life) == "(Ann sneezes at you.)"
        assert not life.fake.chats[-1].tools


async def test_asked_plainly_what_goes_before_a_question_is_told_with_it() -> None:
    async with living(said("A pleasure.", "It is a map of the valley."), {"wake_seconds": 3600}, PLAIN) as life:
        await pose(life, "sneezes at Sage.")
        await pose(life, "points at the wall.")
        await life.say("Sage, what is on the old map?")
        assert "Ann points at the wall.)\n" in last(life)
        assert last(life).endswith("What is on the old map?")
        turns = [str(message["content"]) for message in life.fake.chats[-1].messages]
        assert turns[turns.index("(Ann sneezes at you.)") + 1] == "A pleasure."


@pytest.mark.parametrize(("deed", "line"), [("gift", "Sage: Thank you, Ann."), ("pose", "Sage nods to Ann.")])
async def test_asked_plainly_it_answers_by_rule_when_no_sentence_is_fit(deed: str, line: str) -> None:
    async with living(said("As an AI I have no body.", "You give me the old map."), model=PLAIN) as life:
        await (give(life) if deed == "gift" else pose(life, "pokes Sage with the old map, gives it a turn."))
        assert spoken(life) == [line]
        assert len(life.fake.chats) == 2


async def test_asked_plainly_an_arrival_is_told_where_it_wakes() -> None:
    async with living(said("Good day to you."), {"wake_on": ("arrival",)}, PLAIN) as life:
        await life.assistant.settled()
        assert last(life) == "(Ann arrives.)"
        assert spoken(life) == ["Sage: Good day to you."]


async def test_asked_plainly_an_order_in_a_pose_is_none() -> None:
    async with living(said("I stay here."), model=PLAIN) as life:
        await pose(life, "go up. Sage, go up.")
        assert life.home.room.key == life.ann.room.key


async def test_asked_plainly_a_gesture_is_returned_without_a_model() -> None:
    async with living(said("Good day to you."), model=PLAIN) as life:
        await pose(life, "waves at Sage.")
        assert spoken(life) == ["Sage waves back at Ann."]
        assert not life.fake.chats
