"""The game of `mud-assistant game`: a hamlet, and five characters who live in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from evennia.objects.models import ObjectDB
from evennia.utils.search import search_object

from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET
from mud_assistant.assistant.worlds.evennia import server
from mud_assistant.assistant.worlds.evennia.characters import AssistantCharacter
from mud_assistant.assistant.worlds.evennia.demo import build_demo
from mud_assistant.llm.testing import Call, FakeOllama, RecordedRequest, Reply, serve
from tests.evennia.opened import model_at, opened, reactor, settled

#: Words that stand in the persona of one of them alone.
PARTS = {
    "Sage": "the librarian of Pennywell",
    "Mira": "the miller and the baker",
    "Tom": "who keeps the walled garden",
    "Oda": "You keep the Halfway Inn",
    "Venn": "You are a traveller",
}
#: Where each of them lives, and whom they play.
HOMES = {
    "Sage": ("The Old Library", "librarian"),
    "Mira": ("The Mill", "baker"),
    "Tom": ("The Walled Garden", "gardener"),
    "Oda": ("The Halfway Inn", "innkeeper"),
    "Venn": ("The Coach Stop", "stranger"),
}

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


def one(name: str) -> Any:
    (found,) = search_object(name, exact=True)
    return found


async def test_the_hamlet_stands_with_five_who_each_have_a_room_and_a_part_of_their_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        with override_settings(START_LOCATION=village.hall.dbref):
            build_demo("Sage", inhabited=True)
        assert village.hall.key == "The Old Library"
        for name, (room_name, character) in HOMES.items():
            runner = server.runner_of(one(name))
            assert runner is not None
            assert (one(name).location.key, runner.config.assistant.character) == (room_name, character)
        for room in HAMLET.rooms:
            here = one(room.name)
            assert {way.direction for way in room.exits} <= {way.key for way in here.exits}
            assert {thing.name for thing in room.things} <= {thing.key for thing in here.contents}


async def test_a_game_of_an_early_version_has_one_assistant_among_things(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        with override_settings(START_LOCATION=village.hall.dbref):
            build_demo("Sage")
        assert [name for name in HOMES if isinstance(one(name), AssistantCharacter)] == ["Sage"]


async def test_a_hook_that_is_called_twice_builds_one_hamlet(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        with override_settings(START_LOCATION=village.hall.dbref):
            build_demo("Sage", inhabited=True)
            before = ObjectDB.objects.count()
            build_demo("Sage", inhabited=True)
        assert ObjectDB.objects.count() == before
        assert len(one("The Old Library").exits) == len({way.key for way in one("The Old Library").exits})


async def test_a_librarian_with_the_name_of_a_resident_takes_their_place(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        with override_settings(START_LOCATION=village.hall.dbref):
            build_demo("Oda", inhabited=True)
        assert one("Oda").location.key == "The Old Library"
        assert one("Venn").location.key == "The Coach Stop"


async def test_each_of_the_five_answers_in_their_own_room_as_themselves(tmp_path: Path) -> None:
    def brain(request: RecordedRequest) -> Reply:
        system = str(request.messages[0])
        part = next(word for word in PARTS.values() if word in system)
        return Reply(calls=(Call("say", {"text": f"I am the {part}."}),))

    async with serve(FakeOllama(reactor, brain), reactor) as url, opened(tmp_path, model_at(url)) as village:
        with override_settings(START_LOCATION=village.hall.dbref):
            build_demo("Sage", inhabited=True)
        anna = village.player("Anna")
        for name, part in PARTS.items():
            there = one(name)
            anna.character.move_to(there.location, quiet=True)
            anna.raw()
            anna.does(f"say {name}, who are you?")
            await settled(there)
            assert f'{name} says, "I am the {part}."' in anna.heard()
            runner = server.runner_of(there)
            assert runner is not None
            assert runner.assistant is not None
            context = runner.assistant.context
            assert len(context.settings.voice) >= 4
            assert context.settings.greeting
            assert context.memory.known.lore.lorebook.entries
