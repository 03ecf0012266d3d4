"""Things change hands in a real game: by the stock commands, under its locks."""

from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.llm.messages import JSON
from mud_assistant.tools.errors import Status
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import now, tool_call, tool_context
from mud_assistant.tools.tool import Registry
from mud_assistant.tools.trust import Principal
from mud_assistant.tools.verbs import WORLD_TOOLS
from tests.evennia.village import Player, Village

pytestmark = pytest.mark.usefixtures("db")

ASKER = Principal("character:0", "Asker")


@pytest.fixture
def anna(village: Village) -> Player:
    return village.player("Anna")


def use(sage: Any, name: str, **arguments: JSON) -> Executed:
    body = EvenniaBody(sage, Clock())
    dispatcher = Dispatcher(Registry(WORLD_TOOLS), PolicyConfig(frozenset({"take", "drop", "give"})), Clock())
    (executed,) = now(dispatcher.answer_all([tool_call(name, **arguments)], tool_context(body, requester=ASKER)))
    return executed


def test_the_scene_has_what_is_carried_and_the_rooms_behind_the_exits(village: Village, sage: Any) -> None:
    village.thing("quill", "A goose quill.", where=sage)
    scene = now(EvenniaBody(sage, Clock()).look())
    assert [(thing.name, thing.description) for thing in scene.carried] == [("quill", "A goose quill.")]
    assert scene.behind == {"north": "Garden"}


@pytest.mark.parametrize("lock", ["view:false()", "search:false()"])
def test_a_room_that_the_character_may_not_see_is_not_named(village: Village, sage: Any, lock: str) -> None:
    village.garden.locks.add(lock)
    scene = now(EvenniaBody(sage, Clock()).look())
    assert (scene.exits, scene.behind) == (("north",), {})


def test_others_see_a_gift_and_have_it(village: Village, anna: Player, sage: Any) -> None:
    book = village.thing("book")
    given = use(sage, "give", thing="the book", person="anna")
    assert given.status is Status.DONE, given.result.text
    assert book.location is anna.character
    assert [line for line in anna.heard() if "book" in line] == ["Sage picks up a book.", "Sage gives you a book."]


def test_what_the_games_lock_holds_fast_stays(village: Village, anna: Player, sage: Any) -> None:
    statue = village.thing("statue")
    statue.locks.add("get:false()")
    statue.db.get_err_msg = "The statue is far too heavy."
    for name, person in (("take", {}), ("give", {"person": "Anna"})):
        executed = use(sage, name, thing="statue", **person)
        assert (executed.status, executed.result.text) == (Status.FAILED, "The statue is far too heavy.")
    assert statue.location is village.hall
    assert not any("statue" in line for line in anna.heard())


def test_a_thing_is_taken_by_its_alias(village: Village, sage: Any) -> None:
    lamp = village.thing("lamp")
    lamp.aliases.add("lantern")
    assert use(sage, "take", thing="lantern").status is Status.DONE
    assert lamp.location is sage


def test_a_name_with_markup_is_no_other_line(village: Village, sage: Any) -> None:
    odd = village.thing("odd |rthing|n = 5 to Bob")
    use(sage, "take", thing="odd thing")
    assert odd.location in {sage, village.hall}
    braces = village.thing("{sage} $eval(1)")
    refused = use(sage, "take", thing="{sage} $eval(1)")
    assert (refused.status, braces.location) == (Status.FAILED, village.hall)
