"""A character of a real game follows, stays and goes home; an owner says where that is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.worlds.evennia import creation, server
from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, Step, serve
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.testing import now
from tests.evennia.office import Office, office, ollama, reactor
from tests.evennia.village import Player

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


def follows(request: RecordedRequest) -> Step:
    """Follows Anna, or stays, and says so."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(calls=(Call("say", {"text": "As you wish."}),))
    if "stay" in last["content"]:
        return Reply(calls=(Call("stay", {}),))
    return Reply(calls=(Call("follow", {"person": "Anna"}),))


@dataclass
class Walk:
    """Anna and Sage in the hall; `model` is whom Sage asks."""

    office: Office
    anna: Player
    sage: Any
    model: FakeOllama

    async def does(self, line: str) -> None:
        await self.anna.does(line)
        await self.settles()

    async def settles(self) -> None:
        """Return when Sage has heard and done everything."""
        await deferLater(reactor, 0)  # hearing waits for one turn of the reactor
        await self.office.settled()


@asynccontextmanager
async def walking(folder: Path) -> AsyncIterator[Walk]:
    model = ollama(follows)
    async with serve(model, reactor) as url, office(folder) as here:
        await here.sage(url, assistant={"join_seconds": 0})
        [sage] = creation.assistants()
        walk = Walk(here, here.player("Anna"), sage, model)
        await deferLater(reactor, 0)
        await walk.does("say Sage, follow me.")
        model.requests.clear()
        yield walk


async def test_it_walks_after_who_asked_through_the_games_exits(tmp_path: Path) -> None:
    async with walking(tmp_path) as walk:
        village = walk.office.village
        await walk.does("north")
        assert walk.sage.location is village.garden
        await walk.does("south")
        assert walk.sage.location is village.hall
        assert walk.model.requests == []
        assert "Sage arrives to Hall from Garden." in [line.strip() for line in walk.anna.heard()]


async def test_an_exit_that_is_locked_to_it_keeps_it_here(tmp_path: Path) -> None:
    async with walking(tmp_path) as walk:
        village = walk.office.village
        village.way.locks.add(f"traverse:id({walk.anna.character.id})")
        await walk.does("north")
        assert walk.sage.location is village.hall


async def test_it_stays_when_it_is_told_to_and_where_who_it_follows_vanishes(tmp_path: Path) -> None:
    async with walking(tmp_path) as walk:
        village = walk.office.village
        walk.anna.character.move_to(village.room("Moon"), move_type="teleport")
        await walk.settles()
        assert walk.sage.location is village.hall
        walk.anna.character.move_to(village.hall, move_type="teleport")
        await walk.does("north")
        assert walk.sage.location is village.hall


async def test_home_is_shown_and_set_and_an_assistant_is_brought_and_goes_home(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        village = here.village
        assert "is here: Hall" in await here.orders("assistant/create Sage")
        [sage] = creation.assistants()
        assert "at home in Hall" in await here.orders("assistant/home Sage")
        assert "is here already" in await here.orders("assistant/summon Sage")
        here.admin.character.move_to(village.garden, quiet=True)
        told = await here.orders("assistant/summon Sage")
        assert (sage.location, "is here now" in told) == (village.garden, True)
        assert "Go to the room" in await here.orders("assistant/home Sage = Garden")
        assert sage.home is village.hall
        body = EvenniaBody(sage, server.service().clock)
        assert not body.is_left_alone()
        here.admin.character.move_to(village.hall, quiet=True)
        assert body.is_left_alone()
        here.admin.raw()
        assert now(body.go_home()).room == "Hall"
        assert "Sage arrives to Hall from Garden." in "\n".join(here.admin.heard())
        here.admin.character.move_to(village.garden, quiet=True)
        assert "at home in Garden" in await here.orders("assistant/home Sage = here")
        assert (sage.home, body.is_left_alone()) == (village.garden, True)
        assert "10 minutes" in await here.orders("assistant/home Sage")
        await here.orders("assistant/set Sage/go_home_minutes = 0")
        assert "It stays where it is" in await here.orders("assistant/home Sage")


async def test_what_the_game_forbids_is_told(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        await here.orders("assistant/create Sage")
        [sage] = creation.assistants()
        here.admin.character.move_to(here.village.garden, quiet=True)
        sage.at_pre_move = lambda *_, **__: False
        assert "Sage did not come: The game does not let you go there." in await here.orders("assistant/summon Sage")
        sage.home = None
        assert "has no home" in await here.orders("assistant/home Sage")
        with pytest.raises(ToolFailed, match="You have no home"):
            now(EvenniaBody(sage, server.service().clock).go_home())
