"""What an owner wrote is said as it is written: never twice alike in a row, part after part, to each by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.characters.character import Topic
from mud_assistant.llm.testing import Reply
from mud_assistant.tools import Principal
from tests.assistant.living import Life, living

PLAIN = {"asking": "plain"}
MILL = Topic(
    "The mill", ("It burned, {{user}}.", "Ask the miller's ghost."), ("What happened to the mill?",), ("mill",)
)
STORY = Topic(
    "A story", ("Once there was a heron.", "It fell in love with a lamp.", "The lamp went out."), ("Tell me a story.",),
    parts=True, gestures=("leans back.",),
)  # fmt: skip
RIDDLE = Topic(
    "A riddle",
    ("What has teeth and cannot bite?",),
    ("Tell me a riddle.",),
    answers=("a comb",),
    solved="A comb it is!",
    reveal="It was a comb.",
)
ALL = (MILL, STORY, RIDDLE)
MODEL = "The model says this."


def life_of(*topics: Topic, **more: Any) -> Any:
    """An assistant with these topics, whose model says one thing only."""
    return living(lambda _: Reply(text=MODEL), model=PLAIN, topics=topics or ALL, **more)


async def talk(life: Life, *lines: str) -> list[str]:
    """What Ann hears and sees of Sage after these lines."""
    for line in lines:
        await life.say(line)
    return [line.removeprefix("Sage") for line in life.witness.heard if line.startswith("Sage")]


async def test_a_line_that_asks_for_a_topic_is_answered_with_its_words_and_no_model() -> None:
    async with life_of() as life:
        assert await talk(life, "What happened to the mill?") == [": It burned, Ann."]
        assert not life.fake.requests


async def test_another_thing_is_said_when_it_is_asked_again_and_then_the_model_is_asked() -> None:
    async with life_of() as life:
        said = await talk(life, "What happened to the mill?", "what about the mill", "What happened to the mill?")
        assert said == [": It burned, Ann.", ": Ask the miller's ghost.", f": {MODEL}"]
        assert "Ask the miller's ghost." in str(life.fake.requests[-1].body), "the model knows what was said"


@pytest.mark.parametrize(
    "more", ["Go on.", "and then?", "more", "What happens next?", "Please go on with the story, Sage."]
)
async def test_a_story_goes_on_part_after_part_with_its_gesture(more: str) -> None:
    async with life_of() as life:
        said = await talk(life, "Tell me a story!", more, more, more)
    told = [part for text in STORY.says for part in (" leans back.", f": {text}")]
    assert said == [*told, f": {MODEL}"]


async def test_a_line_that_asks_for_none_goes_to_the_model() -> None:
    async with life_of() as life:
        lines = ("I lost my hat at the mill.", "How are you?", "Go on.", "and then?", "What is in the barrel?")
        assert await talk(life, *lines) == [f": {MODEL}"] * len(lines)


@pytest.mark.parametrize("guess", ["A comb!", "is it the comb?", "comb", "i think it is a combb", "Combs?"])
async def test_a_riddle_is_solved_whatever_the_articles_and_the_spelling(guess: str) -> None:
    async with life_of() as life:
        said = await talk(life, "Tell me a riddle.", "Is it a saw?", guess)
    assert said == [": What has teeth and cannot bite?", ": No, that is not it.", ": A comb it is!"]


@pytest.mark.parametrize("line", ["I give up.", "what is it?", "No idea, tell me!"])
async def test_a_riddle_is_told_to_who_gives_up_and_only_while_it_is_open(line: str) -> None:
    async with life_of() as life:
        said = await talk(life, line, "Tell me a riddle.", line, line)
    assert said == [f": {MODEL}", ": What has teeth and cannot bite?", ": It was a comb.", f": {MODEL}"]


async def test_what_was_said_in_a_whisper_is_answered_in_one_and_does_not_show_aloud() -> None:
    async with life_of() as life:
        await life.whisper("Tell me a story.")
        await life.whisper("Go on.")
        assert life.witness.heard[-2:] == [f"Sage whispers: {text}" for text in STORY.says[:2]], "and no gesture"
        assert (await talk(life, "Go on."))[-1] == f": {MODEL}"
        assert (await talk(life, "Tell me a story."))[-1] == f": {STORY.says[0]}"
        await life.whisper("Tell me a story.")
        assert life.witness.heard[-1] == f"Sage whispers: {STORY.says[2]}"


async def test_the_room_does_not_hear_the_same_twice_in_a_row_from_two_who_ask() -> None:
    async with life_of() as life:
        bob = life.world.add(Principal("player:2", "Bob"))
        await life.say("Sage, what happened to the mill?")
        await bob.say("Sage, what happened to the mill?")
        await life.assistant.settled()
        assert (await talk(life))[-2:] == [": It burned, Ann.", ": Ask the miller's ghost."]


async def test_what_somebody_was_told_is_forgotten_with_them() -> None:
    async with life_of() as life:
        await talk(life, "What happened to the mill?")
        known = life.assistant.context.memory.people.told
        assert await known.of("player:1", private=False)
        await life.assistant.forget(life.ann.principal)
        assert not await known.of("player:1", private=False)
