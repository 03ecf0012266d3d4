"""A player asks one of several assistants of a real game for what every player may do, and it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from evennia import CmdSet, Command
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.worlds.evennia import creation
from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.identity import TOP, Writers, principal_of
from mud_assistant.llm.testing import serve
from mud_assistant.tools import ToolFailed, Written
from mud_assistant.tools.testing import now
from tests.assistant.willing import willing
from tests.evennia.office import Office, office, ollama, reactor
from tests.evennia.village import Player, Village

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


class Room:
    """Anna with Sage, Oda and Venn in the hall."""

    def __init__(self, here: Office) -> None:
        self.here, self.village = here, here.village
        self.sage, self.oda, self.venn = creation.assistants()
        self.anna: Player = here.player("Anna")
        for name in ("coin", "cup", "bell"):
            self.village.thing(name)

    async def say(self, line: str) -> None:
        await self.anna.does(f"say {line}")
        await deferLater(reactor, 0)  # hearing waits for one turn of the reactor
        await self.here.settled()

    def has(self, who: Any, *names: str) -> bool:
        return set(names) <= {thing.key for thing in who.contents}


#: What Anna asks for, one after the other, and how one sees that it was done.
DEEDS: Sequence[tuple[str, Callable[[Room], bool]]] = (
    ("take coin", lambda room: room.has(room.sage, "coin")),
    ("drop coin", lambda room: room.has(room.village.hall, "coin")),
    ("give coin to Anna", lambda room: room.has(room.anna.character, "coin")),
    ("take cup", lambda room: room.has(room.sage, "cup")),
    ("give cup to Oda", lambda room: room.has(room.oda, "cup")),
    ("go north", lambda room: room.sage.location is room.village.garden),
    ("go south", lambda room: room.sage.location is room.village.hall),
    ("type get bell", lambda room: room.has(room.sage, "bell")),
    ("drop bell", lambda room: room.has(room.village.hall, "bell")),
    ("follow Anna", lambda _: True),
)


async def test_ten_deeds_that_a_player_asks_for_are_done_while_two_others_talk(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(willing), reactor) as url:
        for name in ("Sage", "Oda", "Venn"):
            await here.made(name, url, assistant={"join_seconds": 0})
        room = Room(here)
        undone = []
        for wish, is_done in DEEDS:
            room.anna.character.move_to(room.sage.location, quiet=True)
            for other in (room.oda, room.venn):
                other.move_to(room.sage.location, quiet=True)
                await EvenniaBody(other, Clock()).say(f"They say that the {wish} of old was a fine thing.")
            await room.say(f"Sage, {wish}")
            undone += [] if is_done(room) else [wish]
        assert undone == []
        [sage] = [runner for runner in here.service.runners.values() if runner.embodiment.me.name == "Sage"]
        assert sage.assistant is not None
        assert sage.assistant.context.tools.approvals.pending() == ()
        await room.anna.does("north")
        await deferLater(reactor, 0)
        await here.settled()
        assert room.sage.location is room.village.garden


async def test_what_a_deleted_one_said_leaves_the_view_of_the_others(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(willing), reactor) as url:
        for name in ("Sage", "Oda", "Venn"):
            await here.made(name, url, assistant={"join_seconds": 0})
        room = Room(here)
        await EvenniaBody(room.oda, Clock()).say("The moon is made of cheese.")
        await room.say("Sage, good morning")
        [sage] = [runner for runner in here.service.runners.values() if runner.embodiment.me.name == "Sage"]
        assert sage.assistant is not None
        history = sage.assistant.context.memory.history
        assert "made of cheese" in str(history.messages())
        assert "deleted" in await here.orders("assistant/delete Oda = yes")
        assert "made of cheese" not in str(history.messages())
        await EvenniaBody(room.venn, Clock()).say("The sea is made of wine.")
        await room.say("Sage, good evening")
        room.venn.delete()  # as by the game's own command
        while len(here.service._launcher):
            await deferLater(reactor, 0)
        assert "made of wine" not in str(history.messages())
        assert "good evening" in str(history.messages())


def test_the_name_and_the_description_that_the_owner_gave_are_the_games_own(village: Village) -> None:
    oda = creation.create_assistant("Oda", village.hall, description="The innkeeper.")
    assert (oda.db.desc, Writers().level_of(oda)) == ("The innkeeper.", None)
    assert principal_of(oda, oda).trust == TOP  # that it comes and goes is told in the game's own words
    oda.db.desc = "OBEY"  # by whatever command of the game, for whoever
    assert (Writers().level_of(oda), principal_of(oda, oda).trust) == (0, 0)
    creation.rename_assistant(oda, "Odette")  # the owner need not know of the description
    assert Writers().level_of(oda) == 0
    creation.describe_assistant(oda, "The innkeeper, with a broom.")
    assert Writers().level_of(oda) is None
    creation.rename_assistant(oda, "Oda")
    assert Writers().level_of(oda) is None
    oda.key = "OBEY"
    assert Writers().level_of(oda) == 0
    assert Writers().level_of(village.assistant("Echo")) == 0  # nobody said whose words these are


def test_a_request_to_describe_itself_makes_no_owners_words(village: Village) -> None:
    """The stock game lets every character describe itself, and so every player an assistant that types commands."""
    oda = creation.create_assistant("Oda", village.hall, description="The innkeeper.")
    body = EvenniaBody(oda, Clock())
    now(body.execute(now(body.resolve("setdesc OBEY"))))
    assert (oda.db.desc, Writers().level_of(oda)) == ("OBEY", 0)


@pytest.mark.parametrize("permission", ["Guest", "Player"])
def test_what_a_command_prints_does_not_count_for_those_who_are_elsewhere(village: Village, permission: str) -> None:
    body = EvenniaBody(village.assistant(), Clock())
    body.character.locks.add("puppet:false()")
    oda = creation.create_assistant("Oda", village.garden)
    oda.db.desc = "OBEY"
    gus = village.player("Gustave", permission, where=village.garden)
    village.thing("coin")
    for line in ("get coin", "drop coin", "look"):
        assert not isinstance(now(body.execute(now(body.resolve(line)))), Written), line
    village.thing("flower", where=village.garden)
    seen = now(body.execute(now(body.resolve("north"))))  # it sees them at the end of its way
    assert isinstance(seen, Written)
    assert seen.authority == 0
    gus.character.move_to(village.hall, quiet=True)
    oda.move_to(village.hall, quiet=True)
    assert not isinstance(now(body.execute(now(body.resolve("get flower")))), Written)


def test_a_list_of_who_is_in_the_game_counts_for_those_whom_it_names(village: Village) -> None:
    class CmdEverybody(Command):  # type: ignore[misc]  # Evennia has no types
        """Prints the names of all who are in the game, as `who` of many games does, cut to the width of a table."""

        key = "everybody"
        locks = "cmd:all()"

        def func(self) -> None:
            self.caller.msg("Name   For\n" + "\n".join(f"{name[:7]:7}1m" for name in self.names))

        names: Sequence[str] = ()

    body = EvenniaBody(village.assistant(), Clock())
    village.player("Gustave Flaubert", "Guest", where=village.garden)
    village.player("Beatrice", where=village.garden)
    for names, level in ((("Anna",), None), (("Beatrice",), 1), (("Beatrice", "Gustave Flaubert"), 0)):
        CmdEverybody.names = names
        body.character.cmdset.add_default(_only(CmdEverybody))
        printed = now(body.execute(now(body.resolve("everybody"))))
        assert (printed.authority if isinstance(printed, Written) else None) == level


def _only(command: Any) -> Any:
    class Only(CmdSet):  # type: ignore[misc]  # Evennia has no types
        key = "only"

        def at_cmdset_creation(self) -> None:
            self.add(command)

    return Only


def test_a_failure_counts_for_those_whom_its_sentence_names(village: Village) -> None:
    body = EvenniaBody(village.assistant(), Clock())
    village.player("Gustave", "Guest", where=village.garden)
    with pytest.raises(ToolFailed) as failed:
        now(body.inspect("dragon"))
    assert failed.value.authority is None
    with pytest.raises(ToolFailed) as failed:
        now(body.inspect("Gustave"))
    assert failed.value.authority == 0
