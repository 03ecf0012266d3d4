"""Poses and gifts wake the assistant of a real game, by the stock commands and as its owner sets it."""

from pathlib import Path

import pytest
from twisted.internet.task import deferLater

from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step, serve
from tests.evennia.office import Office, office, ollama, reactor
from tests.evennia.village import Player

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


def thanks(request: RecordedRequest) -> Step:
    words = "Thank you." if "gives you" in str(request.messages[-1]["content"]) else "Well met."
    return Reply(calls=(Call("say", {"text": words}),))


async def does(here: Office, player: Player, line: str) -> list[str]:
    """What Sage says once the player has done this."""
    await player.does(line)
    await deferLater(reactor, 0)  # hearing waits for one turn of the reactor
    await here.settled()
    return [heard for heard in player.heard() if heard.startswith("Sage says")]


async def test_a_pose_and_a_gift_are_answered_and_another_soon_after_is_not(tmp_path: Path) -> None:
    model = ollama(thanks)
    async with serve(model, reactor) as url, office(tmp_path) as here:
        await here.sage(url, assistant={"join_seconds": 0})
        anna = here.player("Anna")
        for name in ("map", "lamp"):
            here.village.thing(name, where=anna.character)
        assert await does(here, anna, "pose waves at Sage.") == ['Sage says, "Well met."']
        assert await does(here, anna, "pose bows to Sage.") == []
        assert await does(here, anna, "give map to Sage") == ['Sage says, "Thank you."']
        assert await does(here, anna, "give lamp to Sage") == []
        assert len(model.chats) == 2
        assert await does(here, anna, "say Sage, do you like it?") == ['Sage says, "Thank you."']
        told = str(model.chats[-1].messages[-1]["content"])
        assert told.count("gives you") == 1
        assert "Anna bows to Sage." in str(model.chats[-1].messages)


async def test_its_owner_sets_what_wakes_it(tmp_path: Path) -> None:
    model = ollama(thanks)
    async with serve(model, reactor) as url, office(tmp_path) as here:
        await here.sage(url, assistant={"join_seconds": 0})
        printed = await here.orders("assistant/set Sage/wake_on = gift")
        assert "gift" in printed
        anna = here.player("Anna")
        here.village.thing("map", where=anna.character)
        assert await does(here, anna, "pose waves at Sage.") == []
        assert await does(here, anna, "give map to Sage") == ['Sage says, "Thank you."']
