"""Leave for what an assistant asks is given in the game, by those who could do it themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from evennia.objects.models import ObjectDB

from mud_assistant.assistant.service.runner import AssistantRunner
from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step, serve
from tests.evennia.office import Office, office, ollama, reactor

pytestmark = pytest.mark.usefixtures("db", "reactor_baseline")
ASKS = Reply(calls=(Call("execute_command", {"command": "create old |rlamp"}),))
SAYS = Reply(calls=(Call("say", {"text": "Done, or not."}),))


def builder() -> object:
    """A model that makes a lamp, and talks about it."""
    replies: Iterator[Reply] = iter((ASKS, SAYS, SAYS, SAYS))

    def answer(request: RecordedRequest) -> Step:
        return next(replies)

    return answer


async def asked(here: Office, url: str) -> AssistantRunner:
    runner = await here.sage(url, assistant={"permission": 3})
    await here.says(here.player("Anna"), runner, "Sage, make a lamp")
    return runner


def lamps() -> int:
    return len(ObjectDB.objects.filter(db_key__contains="lamp"))


def break_lamps() -> None:
    for one in ObjectDB.objects.filter(db_key__contains="lamp"):
        one.delete()


async def test_what_is_asked_is_shown_literally_and_done_once_it_is_allowed(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(builder()), reactor) as url:
        runner = await asked(here, url)
        shown = await here.orders("assistant/approve Sage")
        assert "number 1: @create old ||rlamp (for Anna; a builder may allow it)" in shown
        assert "To decide: assistant/approve Sage NUMBER" in shown
        assert "1 request waits for leave" in await here.orders("assistant/status Sage")
        assert lamps() == 0
        assert "Sage may do this once: @create old ||rlamp" in await here.orders("assistant/approve Sage 1")
        await runner.settled()
        assert lamps() == 1
        assert "(Nothing is asked for.)" in await here.orders("assistant/approve Sage")


async def test_what_was_not_shown_is_shown_before_it_is_decided(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(builder()), reactor) as url:
        runner = await asked(here, url)
        shown = await here.orders("assistant/approve Sage 1")
        assert "Nothing is decided yet" in shown
        assert "number 1: @create old ||rlamp (for Anna; a builder may allow it)" in shown
        assert lamps() == 0
        assert "Sage may do this once" in await here.orders("assistant/approve Sage 1")
        await runner.settled()
        assert lamps() == 1


async def test_what_is_denied_is_not_done(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(builder()), reactor) as url:
        runner = await asked(here, url)
        assert "There is no request 7 that waits." in await here.orders("assistant/deny Sage 7")
        await here.orders("assistant/deny Sage")
        assert "Sage may not do this: @create" in await here.orders("assistant/deny Sage 1")
        await runner.settled()
        assert (lamps(), "There is no request 1" in await here.orders("assistant/approve Sage 1")) == (0, True)


async def test_an_admin_who_quells_his_permission_may_allow_no_more_than_that(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(builder()), reactor) as url:
        await asked(here, url)
        await here.orders("assistant/approve Sage")
        await here.orders("quell")
        await here.orders("assistant/approve Sage 1")
        assert lamps() == 0


async def test_what_is_allowed_for_an_hour_is_done_again_without_asking_until_that_is_ended(tmp_path: Path) -> None:
    def lamp(request: RecordedRequest) -> Step:
        """A model that makes a lamp, and then talks about it."""
        return SAYS if request.messages[-1]["role"] == "tool" else ASKS

    async with office(tmp_path) as here, serve(ollama(lamp), reactor) as url:
        runner, anna = await here.sage(url, assistant={"permission": 3}), here.player("Anna")
        await here.says(anna, runner, "Sage, make a lamp")
        await here.orders("assistant/approve Sage")
        told = await here.orders("assistant/approve Sage 1 hour")
        assert "Sage may do this, and again for the next 60 minutes: @create old ||rlamp" in told
        await runner.settled()
        assert lamps() == 1
        shown = await here.orders("assistant/approve Sage")
        assert "Allowed for an hour:\nnumber 1: @create old ||rlamp (for Anna)" in shown
        break_lamps()  # the words would mean one that is there already
        await here.says(anna, runner, "Sage, make a lamp once more")
        assert lamps() == 1
        assert "must ask again" in await here.orders("assistant/deny Sage 1")
        break_lamps()
        await here.says(anna, runner, "Sage, make a third lamp")
        assert lamps() == 0
        assert "Allowed for an hour" not in await here.orders("assistant/approve Sage")


async def test_an_hour_is_for_a_request_that_is_there(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(builder()), reactor) as url:
        runner = await asked(here, url)
        assert "There is no request 7" in await here.orders("assistant/approve Sage 7 hour")
        assert runner.assistant is not None
        assert runner.assistant.context.tools.approvals.standing() == ()
        assert lamps() == 0


@pytest.mark.parametrize(
    "line", ["approve Sage soon", "deny Sage 99999999999999", "approve Sage 1 day", "deny Sage 1 hour"]
)
async def test_a_request_has_a_number(tmp_path: Path, line: str) -> None:
    async with office(tmp_path) as here, serve(ollama(), reactor) as url:
        await here.sage(url)
        assert "Give the number of a request" in await here.orders(f"assistant/{line}")


def types(line: str) -> object:
    """A model that types this line, and talks about it."""
    replies: Iterator[Reply] = iter((Reply(calls=(Call("execute_command", {"command": line}),)), SAYS, SAYS, SAYS))

    def answer(request: RecordedRequest) -> Step:
        return next(replies)

    return answer


async def test_a_long_line_is_shown_whole_with_the_numbers_of_all_it_acts_on(tmp_path: Path) -> None:
    line = f"destroy/force {', '.join(['dust'] * 75)}, chest"
    async with office(tmp_path) as here, serve(ollama(types(line)), reactor) as url:
        chest = here.village.thing("chest")
        await asked(here, url)
        shown = await here.orders("assistant/approve Sage")
        where = f"in Hall (#{here.village.hall.pk}), on chest (#{chest.pk})"
        assert (len(line) > 400, "dust, chest (for Anna" in shown, where in shown) == (True, True, True)
        told = await here.orders("assistant/approve Sage 1")
        assert f"dust, chest [{where}]" in told


async def test_what_stands_elsewhere_by_then_is_not_done_and_both_are_told(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(types("destroy/force chest")), reactor) as url:
        there, other = here.village.thing("chest"), here.village.thing("chest", where=here.village.garden)
        runner = await asked(here, url)
        anna = next(one for one in here.village.hall.contents if one.key == "Anna")
        runner.embodiment.world.character.move_to(here.village.garden, quiet=True)  # type: ignore[attr-defined]
        await here.orders("assistant/approve Sage")
        told = await here.orders("assistant/approve Sage 1")
        why = f"it was for Hall (#{here.village.hall.pk}), and the place is Garden (#{here.village.garden.pk}) now"
        assert f"Request 1 is void: {why}. Nothing was done." in told
        await runner.settled()
        assert (there.pk is not None, other.pk is not None) == (True, True)
        heard = str(anna.sessions.all()[0].sent)
        assert f"Sage did not do what you wanted: {why}. You can ask for it again." in heard


async def test_a_request_outlives_new_settings_and_who_asked_is_told_when_the_game_restarts(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(builder()), reactor) as url:
        await asked(here, url)
        anna = next(one for one in here.village.hall.contents if one.key == "Anna")
        sent = anna.sessions.all()[0].sent
        assert 'Sage tells you, "I must ask those who look after this place first' in str(sent)
        await here.orders("assistant/set Sage/max_spoken = 2")
        await here.settled()
        assert "number 1: @create old" in await here.orders("assistant/approve Sage")
    assert "The game restarts before Sage was given leave for what you wanted: ask for it again" in str(sent)


async def test_whose_words_lower_its_rights_is_shown(tmp_path: Path) -> None:
    async with office(tmp_path) as here, serve(ollama(types("get coin")), reactor) as url:
        here.village.thing("coin")
        here.player("Gus", "Guest")
        await asked(here, url)
        shown = await here.orders("assistant/approve Sage")
        assert "what Gus (a guest) wrote or said" in shown
