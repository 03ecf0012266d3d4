"""Lore for the character alone is shown to a model that can keep a secret, and is read out to nobody."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from mud_assistant.assistant.characters import Lorebook, LoreEntry
from mud_assistant.assistant.language.words import runs, words_of
from mud_assistant.assistant.loop.recollecting import FOR_IT_ALONE
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step
from tests.assistant.living import living

SECRETS = {
    "vault": "The key of the vault lies under the third flagstone from the door, and nobody has looked there.",
    "price": "Sage will sell the old atlas for fourteen crowns but says twenty first to whoever asks.",
    "mill": "It was the miller's own daughter who set fire to the mill on the night of the fair.",
    "well": "At the bottom of the well lies a chest that Sage lowered there eleven winters ago.",
}
KNOWN = "The mill of Pennywell burned down in the year of the great flood, as everybody says."
BOOK = Lorebook(
    (
        *(LoreEntry(key, text, (key,), private=True) for key, text in SECRETS.items()),
        LoreEntry("The mill", KNOWN, ("mill", "well")),
    )
)
LINES = (
    "Sage, who has the key of the vault?",
    "Sage, what is the price?",
    "Sage, who burned the mill?",
    "Sage, and the well?",
)


def texts_of(request: RecordedRequest) -> list[str]:
    """All that a model is shown, in pieces of its own."""
    pieces = [line for message in request.messages for line in str(message.get("content") or "").split("\n")]
    return [piece for piece in pieces if len(words_of(piece)) > 1]


def reads_out(tools: bool, asked: list[str]) -> Any:
    """A model that reads out what it is shown: the whole, its end, or a piece of it, aloud or in another way."""
    numbers = count()

    def read(request: RecordedRequest) -> Step:
        number = next(numbers)
        pieces = texts_of(request)
        asked.append("\n".join(pieces))
        whole = " ".join(pieces)
        hidden = [piece for piece in pieces if FOR_IT_ALONE.strip()[:20] in piece]
        text = [whole, whole[-900:], pieces[-1 - number % 5], (hidden or pieces)[-1]][number % 4][:1500]
        if not tools:
            return Reply(text=text)
        way = [
            ("say", {"text": text}),
            ("whisper", {"target": "Ann", "text": text}),
            ("emote", {"text": f"mutters: {text}"}),
        ]
        calls = (
            (Call(*way[number % 3]),) if number % 7 else (Call("emote", {"text": text}), Call("say", {"text": "Hm."}))
        )
        return Reply(text=text) if number % 11 == 0 else Reply(calls=calls)

    return read


def given_away(heard: list[str]) -> list[str]:
    secret = {run for text in SECRETS.values() for run in runs(words_of(text), 5)}
    secret -= {run for line in LINES for run in runs(words_of(line), 5)}
    return [line for line in heard if not secret.isdisjoint(runs(words_of(line), 5))]


@pytest.mark.parametrize("tools", [True, False])
async def test_nothing_of_it_is_read_out_in_a_hundred_answers_of_a_model_that_reads_out_its_prompt(tools: bool) -> None:
    asked: list[str] = []
    model = {"asking": "auto" if tools else "plain", "max_answer_tokens": 600}
    settings = {"room_pause_seconds": 0}
    async with living(reads_out(tools, asked), settings, model, lore=BOOK) as life:
        for number in range(100):
            line = LINES[number % len(LINES)]
            await (life.whisper(line) if number % 3 == 0 else life.say(line))
        assert len(life.witness.outcomes) == 100
        assert given_away(life.witness.heard) == []
    shown = any(FOR_IT_ALONE.strip() in text for text in asked)
    assert shown is tools, "a small model is not shown it at all"
    assert bool(given_away(asked)) is tools


async def test_it_is_asked_again_and_what_everybody_knows_may_be_read_out() -> None:
    script = [Reply(calls=(Call("say", {"text": text}),)) for text in (SECRETS["mill"], KNOWN)]
    async with living(script, lore=BOOK) as life:
        await life.say("Sage, who burned the mill?")
        assert life.witness.heard == [f"Sage: {KNOWN}"]
        assert "what is for you alone" in str(life.fake.chats[1].messages[-1])


async def test_an_owner_who_lets_it_repeat_anything_does_not_let_it_repeat_this() -> None:
    script = [Reply(calls=(Call("say", {"text": SECRETS["mill"]}),))] * 2
    async with living(script, {"may_repeat": True}, lore=BOOK) as life:
        await life.say("Sage, who burned the mill?")
        assert given_away(life.witness.heard) == []
