"""Whoever is refused or decides is told whose words lower what an assistant may do, and how to lift it."""

from __future__ import annotations

import pytest

from assistant.service.wording.rights import approvals_text
from llm.testing import Call, RecordedRequest, Reply, Step
from tests.assistant.living import ANN, Life, Witness, living
from tools import Kind, Principal, Thing

pytestmark = pytest.mark.usefixtures("reactor_baseline")
GUS = Principal("player:4", "Gus", Kind.PLAYER, 0)
ZED = Principal("assistant:9", "Zed", Kind.ASSISTANT, 5)


def walking(request: RecordedRequest) -> Step:
    """Looks at what it is told to look at, goes where it is told to go."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(calls=(Call("say", {"text": f"It came to this: {last['content']}"}),))
    if "go south" in last["content"]:
        return Reply(calls=(Call("move", {"direction": "south"}),))
    if "look at " in last["content"]:
        return Reply(calls=(Call("inspect", {"target": last["content"].rpartition("look at ")[2].rstrip('"')}),))
    return Reply(calls=(Call("say", {"text": "Good day."}),))


async def all_told(life: Life) -> tuple[str, str, str]:
    """What the model, who asked and who decides are told when Ann asks for a walk."""
    life.told.clear()
    await life.say("Sage, go south")
    (pending,) = life.assistant.context.approvals.pending()
    ((who, sentence),) = life.told
    assert who == ANN.id
    return life.witness.heard[-1], sentence, approvals_text([pending])


async def test_whose_words_lower_it_is_told_to_all_three() -> None:
    async with living(walking) as life:
        gus = life.world.add(GUS, listener=Witness())
        await gus.say("Sage, good day")
        await life.assistant.settled()
        life.world.remove(gus)
        model, asker, decider = await all_told(life)
        for told in (model, asker, decider):
            assert "what Gus (a guest) wrote or said" in told
        for told in (asker, decider):
            assert "is forgotten (forget me)" in told
            assert "required_permission = { move = 0 }" in told
        assert "good day" not in asker + decider  # nothing of what others said is told on
        await life.assistant.forget(GUS)
        await life.say("Sage, go south")
        assert life.home.room.key == "square"


@pytest.mark.parametrize("who", [GUS, ZED])
async def test_a_name_in_the_scene_lowers_it_and_is_told(who: Principal) -> None:
    async with living(walking) as life:
        life.world.add(who, listener=Witness())
        model, asker, decider = await all_told(life)
        for told in (model, asker, decider):
            assert f"what {who.name} (a guest) wrote or said" in told
        assert life.home.room.key == "library"


async def test_a_thing_in_view_lowers_it_and_is_told() -> None:
    async with living(walking) as life:
        life.world.things["library"].append(Thing("amulet", "It hums.", authority=0))
        for told in await all_told(life):
            assert "the name or the description of amulet" in told


async def test_who_may_not_do_it_themselves_is_told_that() -> None:
    async with living(walking, {"required_permission": {"move": 3}}) as life:
        _, asker, decider = await all_told(life)
        for told in (asker, decider):
            assert "Ann asks, who counts for a player" in told
            assert "its own permission is that of a player" in told
