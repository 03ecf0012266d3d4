"""Gestures in what a model says are acted out, by the real loop and over the wire of every provider."""

from __future__ import annotations

from typing import Any

import pytest

from mud_assistant.assistant.events.outcome import Answered
from mud_assistant.assistant.journal import JournalUnwritable
from mud_assistant.assistant.loop.react import react
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools import Registry
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, WORLD_TOOLS
from tests.assistant.living import living
from tests.assistant.test_early_recovery import Tearing

pytestmark = pytest.mark.usefixtures("reactor_baseline")

PROVIDERS = pytest.mark.parametrize("provider", ["ollama", "local", "openai", "anthropic", "openai-responses"])
LINE = "Sage, I am hungry."
ACTED = ["Sage slides a bowl over.", "Sage: Eat, it is hot."]
SAID = "*slides a bowl over* Eat, it is hot."


def says(text: str, **more: Any) -> Reply:
    return Reply(calls=(Call("say", {"text": text}),), **more)


@PROVIDERS
@pytest.mark.parametrize("as_text", [False, True])
async def test_a_gesture_in_stars_is_seen_and_the_rest_is_heard(provider: str, *, as_text: bool) -> None:
    script = [Reply(SAID) if as_text else says(SAID), says("Good night.")]
    async with living(script, {"room_pause_seconds": 0}, provider=provider) as life:
        await life.say(LINE)
        assert life.witness.heard == ACTED
        assert life.witness.outcomes == [Answered(("emote", "say"))]
        await life.say("Sage, I am tired now.")
        assert "*" not in str(life.fake.chats[1].messages)
        assert life.witness.heard[2:] == ["Sage: Good night."]


async def test_a_gesture_of_a_small_model_is_seen_as_well() -> None:
    async with living([Reply("(smiles) Good evening, friend.")], model={"asking": "plain"}) as life:
        await life.say("Sage, I was away for a year.")
        assert life.witness.heard[-1] == "Sage: Good evening, friend."


async def test_stars_of_a_small_model_become_a_gesture() -> None:
    async with living([Reply("*smiles* Good evening, friend.")], model={"asking": "plain"}) as life:
        await life.say("Sage, I was away for a year.")
        assert life.witness.heard == ["Sage smiles.", "Sage: Good evening, friend."]


@pytest.mark.parametrize("settings", [{"tools": ("say", "noop")}, {"required_permission": {"emote": 3}}])
async def test_a_gesture_that_may_not_be_shown_is_left_out(settings: dict[str, Any]) -> None:
    async with living([says(SAID)], settings) as life:
        await life.say(LINE)
        assert life.witness.heard == ACTED[1:]
        assert life.told == []  # nobody is asked for leave to smile


async def test_a_gesture_in_an_answer_to_one_person_is_shown_to_nobody() -> None:
    async with living([says(SAID)], registry=Registry([*WORLD_TOOLS, *ACCOUNT_TOOLS])) as life:
        await life.whisper("I am hungry.")
        assert life.witness.heard == ["Sage whispers: Eat, it is hot."]


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("as_text", [False, True])
async def test_what_is_said_early_has_no_half_star(size: int, *, as_text: bool) -> None:
    whole = "A good evening to you, traveller. *slides a bowl over* Eat, it is *very* hot."
    answer = Reply(whole, chunk_size=size) if as_text else says(whole, chunk_size=size)
    async with living([Reply("Hello."), answer], {"room_pause_seconds": 0}, provider="local") as life:
        await life.say("Sage, hello")
        await life.say(LINE)
        assert life.witness.heard[1:] == [
            "Sage: A good evening to you, traveller.",
            "Sage: Eat, it is very hot.",
            "Sage slides a bowl over.",
        ]


async def test_a_first_sentence_with_a_star_waits_for_the_whole() -> None:
    async with living([says("You are *very* welcome here, Ann. Sit down.", chunk_size=4)], provider="openai") as life:
        await life.say(LINE)
        assert life.witness.heard == ["Sage: You are very welcome here, Ann. Sit down."]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("is_made", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", range(6))
async def test_a_run_that_is_taken_up_shows_and_says_nothing_twice(write: int, *, is_made: bool, as_text: bool) -> None:
    journal, answer = Tearing(), Reply(SAID) if as_text else says(SAID)
    async with living([says("Hello."), answer, answer, answer], {"room_pause_seconds": 0}, journal=journal) as life:
        await life.say("Sage, hello")
        life.assistant.tick.halt()
        journal.left, journal.is_made = write, is_made
        await life.ann.say(LINE)
        for _ in range(3):
            try:
                await react(life.assistant.context)
            except JournalUnwritable:
                continue
        seen = life.witness.heard[1:]
        unknown = len(await journal.unknown_effects())
        assert len(seen) == len(set(seen))
        assert set(seen) <= set(ACTED)
        assert len(seen) + unknown >= len(ACTED)
