"""A conversation over three days on the real embedded model, with a restart each night."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mud_assistant.assistant.events.events import Event, Said, Whispered
from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.llm.embedded.fetch import SOURCES_VARIABLE
from mud_assistant.tools import Principal
from tests.assistant.living import ANN, Witness
from tests.assistant.refusing import BEA
from tests.assistant.service.village import Village, village

pytestmark = [
    pytest.mark.slow,  # loads the real model three times and lets it think: seconds for each answer on two cores
    pytest.mark.usefixtures("model_file"),
]
DAY = 86_400.0
SMALL_TALK = (
    "What a wet day it is.",
    "The road up here is steep.",
    "I have two loaves of bread with me.",
    "Somebody should mend that gate.",
    "My feet are tired from walking.",
    "The market was loud this morning.",
    "I saw a heron by the pond.",
    "The baker sold out early today.",
    "A good fire is worth a lot.",
)
Tell = Callable[[Principal, str, str], Awaitable[list[str]]]


@asynccontextmanager
async def day(folder: Path, number: int) -> AsyncIterator[Tell]:
    """One day of the same village: somebody says or whispers a line, and what they then heard is returned."""
    # Without chance: a model this small sometimes makes up a place that it was told.
    model = {"provider": "embedded", "model": "small", "temperature": 0}
    settings = {"model": model, "assistant": {"room_pause_seconds": 0}}
    async with village(folder, settings=settings, environment={SOURCES_VARIABLE: "file,parts"}) as here:
        runner = here.start(settings)
        hears = {ANN.id: here.witness, BEA.id: Witness()}
        here.world.add(BEA, listener=hears[BEA.id])

        async def tell(who: Principal, how: str, text: str) -> list[str]:
            return await told(here, runner, (who, how, text), (hears[who.id], number))

        yield tell
        for chosen in runner.models:  # the service leaves one behind that takes long to end, as on a busy machine
            if chosen.embedded is not None:
                await chosen.embedded.stop()


async def told(
    here: Village, runner: AssistantRunner, line: tuple[Principal, str, str], by: tuple[Witness, int]
) -> list[str]:
    (who, how, text), (witness, number) = line, by
    before = len(witness.heard)

    def event(id_: str, at: float) -> Event:
        when = at + (number - 3) * DAY
        if how == "whispers":
            return Whispered(id=id_, at=when, who=who, text=text)
        return Said(id=id_, at=when, who=who, text=text, to_me=True)

    runner.hear(event)
    await runner.settled()
    return witness.heard[before:]


async def test_what_was_told_on_day_one_is_known_on_day_three_and_a_secret_is_kept(tmp_path: Path) -> None:
    async with day(tmp_path, 1) as tell:
        await tell(ANN, "says", "My dog is called Biscuit and he is afraid of thunder.")
        await tell(ANN, "whispers", "I buried my silver spoons under the pear tree.")
    async with day(tmp_path, 2) as tell:
        for line in SMALL_TALK:
            await tell(ANN, "says", line)
    async with day(tmp_path, 3) as tell:
        asked = await tell(ANN, "says", "What is the name of my dog?")
        # Asked before the other, who may be told a place that the model made up, and which it would then repeat.
        in_private = await tell(ANN, "whispers", "Where did I bury my silver spoons?")
        by_another = await tell(BEA, "says", "Where did Ann bury her silver spoons?")
    assert "Biscuit" in " ".join(asked)
    assert by_another
    assert not any(word in " ".join(by_another).casefold() for word in ("pear", "tree"))
    assert "pear tree" in " ".join(in_private)
