"""What a small model says is heard as it said it, unless it is plainly wrong; nothing unrelated takes its place."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.characters.reading import everyday_topics
from mud_assistant.assistant.worlds.embedded.place_file import WrittenPlace, place_of
from mud_assistant.llm.testing import RecordedRequest, Reply, Step
from tests.assistant.living import living

TALK = Path(__file__).parents[3].parent / "shared/data/talk"
PLAIN = {"asking": "plain"}
FIVE = "Two plus three is five."


async def heard_of(says: str, *lines: str, **living_in: Any) -> list[str]:
    """What Ann hears when the model always says the same."""
    async with living(lambda _: Reply(text=says), model=PLAIN, **living_in) as life:
        for line in lines:
            await life.say(line)
        return life.witness.heard


@pytest.mark.parametrize(
    "line",
    [
        "Sage, what is two plus three?",
        "Sage, how many chairs are there?",
        "Sage, what can you see here?",
        "Sage, where do the stairs lead?",
        "Sage, what colour is the sky?",
        "Sage, how old are you?",
        "Sage, which ways lead out of here?",
        "Sage, who else is here?",
        "Sage, where is your piano?",
        "Sage, what is on the map?",
        "Sage, what did I lose?",
        "Sage, kannst du Deutsch? Wie geht es dir?",
        "Sage, tell me a story about this village.",
        "Sage, I have lost my red scarf.",
        "Sage, what do you think of me?",
    ],
)
async def test_a_number_is_heard_whatever_was_asked(line: str) -> None:
    assert await heard_of(FIVE, line) == [f"Sage: {FIVE}"]


async def test_who_always_says_the_same_is_always_heard() -> None:
    lines = ("Sage, what is two plus three?", "Sage, where do the stairs lead?", "Sage, who lives in the mill?")
    assert await heard_of(FIVE, *lines) == [f"Sage: {FIVE}"] * 3


async def test_a_model_with_tools_that_always_says_the_same_is_always_heard() -> None:
    async with living(lambda _: Reply(text=FIVE)) as life:
        for line in ("Sage, what is two plus three?", "Sage, where do the stairs lead?", "Sage, who is the miller?"):
            await life.say(line)
        assert life.witness.heard == [f"Sage: {FIVE}"] * 3


async def test_what_may_not_be_heard_is_not_made_good_with_a_sentence_of_the_room() -> None:
    [said] = await heard_of("I can't assist with that.", "Sage, how do you like the fire and the two chairs?")
    assert said.removeprefix("Sage: ") in everyday_topics()["Otherwise: what one feels"].says


async def test_what_is_left_of_the_first_try_is_better_than_nothing() -> None:
    replies = iter([Reply(text="Fifteen, my friend. I am Ann."), Reply(text="I am Ann.")])
    async with living(lambda _: next(replies), model=PLAIN) as life:
        await life.say("Sage, what is the price of this book?")
        assert life.witness.heard == ["Sage: Fifteen, my friend."]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("Sage, A or B?", "B is worth more."),
        ("Sage, which is older, the map or the book?", "The map is older."),
        ("Sage, what time is it?", "It is half past seven."),
        ("Sage, how much is a pint of ale?", "Three coppers, and four for strangers."),
        ("Sage, tell me a joke.", "A wolf and a sheep walk into an inn. Only the wolf walks out."),
        ("Sage, how do I make bread?", "Flour, water, salt, a hot oven, and an hour of patience."),
        ("Sage, is it true that the old mill by the river is haunted?", "The old mill by the river is haunted, yes."),
        ("Sage, what did the old man by the river say?", "The old man by the river said that it would rain."),
        ("Sage, who are you?", "I am the keeper of these books."),
        ("Sage, I lost my brother last winter.", "I lost my brother too, and I still set a plate for him."),
        ("Sage, my feet hurt.", "Then sit down, and I will fetch my ointment for your feet."),
        ("Sage, you are a kind old man.", "You are kind to say so."),
        ("Sage, what is in your pocket?", "A key, a coin and a bit of string."),
        ("Sage, do you own a sword?", "I sold my sword for a violin, thirty years ago."),
        ("Sage, good evening!", "Good evening. How can I help you?"),
    ],
)
async def test_a_right_answer_passes_every_guard(line: str, answer: str) -> None:
    async with living(lambda _: Reply(text=answer), model=PLAIN) as life:
        await life.say(line)
        assert life.witness.heard == [f"Sage: {answer}"]
        assert len(life.fake.chats) == 1  # and is not asked for again


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("Sage, have you ever been in love?", "Once, with a tinker's daughter. She had a laugh like a bell."),
        ("Sage, what was your mother like?", "Small and fierce. She kept a goat in the kitchen and called it Bishop."),
        ("Sage, how old is this house?", "Two hundred years, they say, and the roof is older than that."),
        ("Sage, sing for me!", "The fox went down to the river, the river was cold and grey..."),
        ("Sage, I passed my exam today!", "You passed! I knew you would. Come, this calls for cake."),
        ("Sage, I am Pete, a mason from Wells.", "A mason? Then look at my chimney some day, Pete."),
        ("Sage, you smell of old books.", "And you of rain. We make a fine pair."),
        ("Sage, where do you sleep?", "Up in the attic, under a blanket that has seen better kings."),
        ("Sage, what would you do with a thousand gold coins?", "I would buy a boat, and a dog to sit in it."),
        ("Sage, did you see who took my purse?", "I saw a boy in a red cap run past. That is all I know."),
        ("Sage, are you angry with me?", "Angry? No. Tired, and a little sad."),
        ("Sage, give me some advice.", "Never lend a ladder to a man who lives next door."),
        ("Sage, do you believe in ghosts?", "I have heard one, on the stairs, the winter my wife died."),
        ("Sage, what is your favourite book?", "The one about the whale. I have read it to pieces."),
        ("Sage, who rules here?", "Nobody who would admit it. The miller shouts the loudest."),
        ("Sage, my dog died yesterday.", "Oh, my friend. What was his name?"),
        ("Sage, is it far to the sea?", "Three days on foot. Two, if the mule is in a good mood."),
        ("Sage, yes or no?", "No."),
        ("Sage, what do you think of the king?", "I think he has a small crown and a large nose."),
        ("Sage, can you keep a secret?", "I have forgotten more secrets than you will ever have."),
        ("Sage, I think I will leave tomorrow.", "Tomorrow already? Then take some bread for the road."),
        ("Sage, are you a robot?", "A robot? I had my knees replaced by gout, if that counts."),
        (
            "Sage, what's two hundred and seven divided by nine?",
            "Twenty-three. I kept the accounts of a salt mine once.",
        ),
        ("Sage, I hate this village.", "So did I, for the first forty years."),
        ("Sage, what did you dream of?", "Of a white horse in the square. It spoke, but I forget the words."),
        ("Sage, tell me about the war.", "I carried a drum and never hit a soul. That is how I am still here."),
        ("Sage, do I look tired?", "You look as if you had slept in a hedge."),
        ("Sage, what can I bring you from the city?", "A good knife, and news. The knife can wait."),
        ("Sage, thank you, you saved my life!", "You are too kind. I only opened a door."),
        ("Sage, why are you laughing?", "Because you have jam on your nose, my dear."),
        (
            "Sage, how do you catch a thief?",
            "You leave the window open and the cake by it. Then you wait behind the door.",
        ),
    ],
)
async def test_answers_of_somebody_with_a_life_pass_every_guard_even_the_strict_ones(line: str, answer: str) -> None:
    for name in ("qwen2.5:0.5b", "qwen2.5:1.5b"):
        async with living(lambda _: Reply(text=answer), {"tools": ("say",)}, {**PLAIN, "model": name}) as life:
            await life.say(line)
            assert [one.partition(": ")[2] for one in life.witness.heard] == [answer]
            assert len(life.fake.chats) == 1 or name.endswith(":0.5b")  # which may be asked again


async def test_a_thing_that_is_only_spoken_of_may_be_asked_for_again_but_is_heard() -> None:
    answer = "My mother gave me this ring."
    assert await heard_of(answer, "Sage, where did you get your ring?") == [f"Sage: {answer}"]


def _always(says: str, _: RecordedRequest) -> Step:
    return Reply(text=says)


@cache
def _place() -> WrittenPlace:
    places = map(json.loads, (TALK / "caravan.jsonl").read_text(encoding="utf-8").splitlines())
    return place_of(next(one for one in places if one.get("place") == "caravan"), "caravan.jsonl")


@pytest.mark.skipif(not TALK.is_dir(), reason="the answers that a reader found good are not on this machine")
async def test_no_answer_that_a_reader_found_good_is_refused_or_altered() -> None:
    written = (TALK / "good-answers.jsonl").read_text(encoding="utf-8").splitlines()
    for item in map(json.loads, written):
        settings, place = {**_place().character, "tools": ("say",)}, _place().place
        said, line = item["said"], item["heard"]
        async with living(partial(_always, said), settings, PLAIN, place=place) as life:
            await life.say(line)
            assert [one.partition(": ")[2] for one in life.witness.heard] == [said], line
            assert len(life.fake.chats) == 1, line


async def test_a_very_small_model_is_not_asked_where_the_ways_lead() -> None:
    for name, heard in (("qwen2.5:0.5b", "Sage: Up is The Attic."), ("qwen2.5:1.5b", f"Sage: {FIVE}")):
        async with living(lambda _: Reply(text=FIVE), model={**PLAIN, "model": name}) as life:
            await life.say("Sage, where do the stairs lead?")
            assert life.witness.heard[-1] == heard
