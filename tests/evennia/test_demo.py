"""The game of `mud-assistant game`: a hamlet, and three characters who live in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from evennia.objects.models import ObjectDB
from evennia.utils.search import search_object

from assistant.worlds.embedded.hamlet import HAMLET
from assistant.worlds.evennia import server
from assistant.worlds.evennia.characters import AssistantCharacter
from assistant.worlds.evennia.demo import build_demo
from llm.testing import Call, FakeOllama, RecordedRequest, Reply, serve
from tests.evennia.opened import model_at, opened, reactor, settled

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")


def one(name: str) -> Any:
    (found,) = search_object(name, exact=True)
    return found


async def test_the_hamlet_stands_with_three_who_each_have_a_room_and_a_part_of_their_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as village:
        with override_settings(START_LOCATION=village.hall.dbref):
            build_demo("Sage", inhabited=True)
        homes = {name: one(name).location.key for name in ("Sage", "Oda", "Venn")}
        assert homes == {"Sage": "The Old Library", "Oda": "The Halfway Inn", "Venn": "The Coach Stop"}
        assert village.hall.key == "The Old Library"
        runners = [server.runner_of(one(name)) for name in homes]
        played = [runner.config.assistant.character for runner in runners if runner is not None]
        assert played == ["librarian", "innkeeper", "stranger"]
        for room in HAMLET.rooms:
            here = one(room.name)
            assert {way.direction for way in room.exits} <= {way.key for way in here.exits}
            assert {thing.name for thing in room.things} <= {thing.key for thing in here.contents}
        assert not isinstance(one("Mira"), AssistantCharacter)


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


async def test_each_of_the_three_answers_in_their_own_room_as_themselves(tmp_path: Path) -> None:
    def brain(request: RecordedRequest) -> Reply:
        system = str(request.messages[0])
        part = next(word for word in ("librarian", "Halfway Inn", "traveller") if f" {word}" in system)
        return Reply(calls=(Call("say", {"text": f"I am the {part}."}),))

    async with serve(FakeOllama(reactor, brain), reactor) as url, opened(tmp_path, model_at(url)) as village:
        with override_settings(START_LOCATION=village.hall.dbref):
            build_demo("Sage", inhabited=True)
        anna = village.player("Anna")
        for name, part in (("Sage", "librarian"), ("Oda", "Halfway Inn"), ("Venn", "traveller")):
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
            assert context.lore.lorebook.entries
