"""An answer that only repeats is asked for once more, whatever model gave it, and leaves no trace in the stream."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.llm.testing import Call, Reply
from tests.assistant.living import Life, living

pytestmark = pytest.mark.usefixtures("reactor_baseline")

LINE = "Sage, the river has flooded all the fields again."
ECHO = "The river has flooded all the fields again."
OWN = "Then the mill will stand still for a week."
PROVIDERS = pytest.mark.parametrize("provider", ["ollama", "local", "openai", "anthropic"])


def says(text: str, **more: Any) -> Reply:
    return Reply(calls=(Call("say", {"text": text}),), **more)


async def heard_after(life: Life, *lines: str) -> list[str]:
    for line in lines:
        await life.say(line)
    return life.witness.heard


@PROVIDERS
async def test_an_echo_is_asked_for_once_more_with_a_nudge_and_more_freedom(provider: str) -> None:
    async with living([says(ECHO), says(OWN)], provider=provider) as life:
        assert await heard_after(life, LINE) == [f"Sage: {OWN}"]
        first, second = life.fake.chats
        assert "You only repeated what you heard." in str(second.messages[-1])
        assert "You only repeated" not in str(first.messages)
        assert "1.0" in str(second.body)


@PROVIDERS
async def test_an_echo_never_stays_in_the_stream(provider: str) -> None:
    script = [says(ECHO), says(OWN), says("On the hill.")]
    async with living(script, provider=provider) as life:
        await heard_after(life, LINE, "Sage, where are the sheep now?")
        third = str(life.fake.chats[2].messages)
        assert third.count("flooded") == 1
        assert "You only repeated" not in third
        assert OWN in third


async def test_the_answer_that_was_not_said_counts_as_well() -> None:
    async with living([says(ECHO, usage=(100, 20)), says(OWN, usage=(110, 30))]) as life:
        await life.say(LINE)
        [step] = life.witness.steps
        usage = step.response.usage
        assert (usage.input_tokens, usage.output_tokens) == (210, 50)


async def test_when_the_second_answer_repeats_as_well_something_else_is_said() -> None:
    async with living([says(ECHO), says(LINE)]) as life:
        [said] = await heard_after(life, LINE)
        assert "flooded" not in said
        assert len(life.fake.chats) == 2


async def test_plain_text_and_a_whisper_are_looked_at_as_well() -> None:
    whispered = Reply(calls=(Call("whisper", {"target": "Ann", "text": ECHO}),))
    async with living([Reply(ECHO), Reply(OWN), whispered, says(OWN + " Believe me.")]) as life:
        await life.say(LINE)
        await life.whisper("The river has flooded all the fields again!")
        assert life.witness.heard == [f"Sage: {OWN}", f"Sage whispers: {OWN} Believe me."]


async def test_the_beginning_of_an_echo_is_not_said_early() -> None:
    async with living([says(ECHO, chunk_size=5), says(OWN, chunk_size=5)], provider="openai") as life:
        assert await heard_after(life, LINE) == [f"Sage: {OWN}"]


async def test_what_it_said_a_moment_ago_is_no_answer_to_another_question() -> None:
    again = "The well lies north of the mill, behind the oak."
    async with living([says(again), says(again), says("It is a quiet night.")]) as life:
        said = await heard_after(life, "Sage, where is the well?", "Sage, do you like the stars?")
        assert said == [f"Sage: {again}", "Sage: It is a quiet night."]
        assert "You only repeated what you said before." in str(life.fake.chats[2].messages[-1])


async def test_who_asks_the_same_again_may_get_the_same_answer() -> None:
    again = "The well lies north of the mill, behind the oak."
    async with living([says(again), says(again)]) as life:
        said = await heard_after(life, "Sage, where is the well?", "Sage, where is the well?")
        assert said == [f"Sage: {again}"] * 2


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("Good morning, Sage!", "Good morning, Ann!"),
        ("Is the sea safe tonight?", "The sea is safe tonight."),
        ("Sage, what did Tom say? He said the bridge is out.", "Tom said the bridge is out, and Tom should know."),
        ("How are you, Sage?", "How I am? Well enough."),
    ],
)
async def test_ordinary_answers_are_said_as_they_are(line: str, answer: str) -> None:
    async with living([says(answer)]) as life:
        assert await heard_after(life, line) == [f"Sage: {answer}"]
        assert len(life.fake.chats) == 1


async def test_a_herald_may_repeat_where_the_owner_says_so() -> None:
    async with living([says(ECHO)], {"may_repeat": True}) as life:
        assert await heard_after(life, LINE) == [f"Sage: {ECHO}"]


async def test_a_deed_beside_an_echo_is_not_lost() -> None:
    both = Reply(calls=(Call("emote", {"text": "looks at the river."}), Call("say", {"text": ECHO})))
    async with living([both, both]) as life:
        emote, said = await heard_after(life, LINE)
        assert emote == "Sage looks at the river."
        assert "flooded" not in said


@pytest.mark.parametrize(("asking", "provider"), [("tools", "ollama"), ("plain", "ollama"), ("plain", "local")])
async def test_the_owners_voice_is_shown_and_may_be_used_where_it_fits(asking: str, provider: str) -> None:
    voice = {"Who are you?": "I keep the lamps, and my own counsel, friend."}
    answer = voice["Who are you?"]
    reply = says(answer) if asking == "tools" else Reply(answer)
    async with living([reply], {"voice": voice}, {"asking": asking}, provider=provider) as life:
        assert await heard_after(life, "Who are you?") == [f"Sage: {answer}"]
        assert answer in str(life.fake.chats[0].messages)


@PROVIDERS
async def test_no_prompt_holds_talk_that_never_was(provider: str) -> None:
    settings = {"voice": {"Who are you?": "I keep the lamps."}}
    async with living([says("Good day to you.")], settings, {"examples": True}, provider=provider) as life:
        await life.say("Sage, hello there!")
        spoken = [message for message in life.fake.chats[0].messages if message.get("role") not in {"system", "user"}]
        assert spoken == []
        assert str(life.fake.chats[0].messages).count("Ann says") == 1
