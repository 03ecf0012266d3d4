"""An approval is for exactly what was shown, and what was approved is done once, for whoever asked for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from mud_assistant.assistant.events.events import Noticed, Said
from mud_assistant.assistant.loop.react import react
from mud_assistant.assistant.service.operations.approving import approvals_text
from mud_assistant.llm.testing import Call, HttpError, RecordedRequest, Reply, Step
from mud_assistant.tools import Denied, Given, Kind, Pending, Principal, Registry, Thing
from mud_assistant.tools.verbs import GAME_COMMAND_TOOLS, WORLD_TOOLS
from tests.assistant.living import ANN, Life, Witness, living
from tests.crash.lives import Lives, lives
from tests.crash.mortal import Death
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("reactor_baseline")
BEA = Principal("player:2", "Bea")
CARL = Principal("player:3", "Carl", Kind.PLAYER, 3)
GUS = Principal("player:4", "Gus", Kind.PLAYER, 0)
ALL_TOOLS = Registry([*WORLD_TOOLS, *GAME_COMMAND_TOOLS])


def typing(request: RecordedRequest) -> Step:
    """Types what is asked for, and says how that went."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(calls=(Call("say", {"text": f"It came to this: {last['content']}"}),))
    if "what now" in last["content"]:
        last = next((one for one in reversed(request.messages) if "type " in one["content"]), last)
    line = last["content"].rpartition("type ")[2].rstrip('"')
    if "type " in last["content"]:
        return Reply(calls=(Call("execute_command", {"command": line}),))
    return Reply(calls=(Call("say", {"text": "Good day."}),))


async def asked(life: Life, line: str) -> Pending:
    """What waits after Ann asked for this line."""
    await life.say(f"Sage, type {line}")
    (pending,) = life.assistant.context.tools.approvals.pending()
    return pending


def names(life: Life, room: str = "library") -> list[str]:
    return [thing.name for thing in life.world.things[room]]


def walks(life: Life) -> None:
    life.home.room = life.world.rooms["attic"]


def is_replaced(life: Life) -> None:
    things = life.world.things["library"]
    old = things.pop(0)
    things.insert(0, Thing(old.name, old.description))


def is_gone(life: Life) -> None:
    life.world.things["library"].pop(0)


def has_a_double(life: Life) -> None:
    life.world.things["library"].append(Thing("old map", "Another map."))


def is_taken(life: Life) -> None:
    life.home.carried.append(life.world.things["library"].pop(0))


CHANGES: dict[str, tuple[Callable[[Life], None], str]] = {
    "the assistant walked": (walks, "the place is The Attic (attic) now"),
    "replaced by one of the same name": (is_replaced, "old map (#1) is not there any more"),
    "gone": (is_gone, "old map (#1) is not there any more"),
    "two of the name": (has_a_double, "it would be done to old map (#4) too"),
    "taken": (is_taken, "old map (#1) is not there any more"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_what_changed_since_it_was_shown_is_not_done_and_both_are_told(change: str) -> None:
    act, why = CHANGES[change]
    async with living(typing, registry=ALL_TOOLS) as life:
        pending = await asked(life, "destroy old map")
        life.world.things["attic"].append(Thing("old map", "A map of the stars."))
        act(life)
        before = {room: names(life, room) for room in life.world.rooms}
        answer = life.assistant.approve(pending.number, CARL)
        assert isinstance(answer, Denied)
        assert why in answer.reason
        assert [who for who, sentence in life.told if why in sentence] == [ANN.id]
        await settled(life)
        assert {room: names(life, room) for room in life.world.rooms} == before
        assert life.assistant.context.tools.approvals.pending() == ()


@pytest.mark.parametrize("change", CHANGES)
async def test_what_changed_after_it_was_approved_is_not_done_and_both_are_told(change: str) -> None:
    act, why = CHANGES[change]
    async with living(typing, registry=ALL_TOOLS) as life:
        pending = await asked(life, "destroy old map")
        life.world.things["attic"].append(Thing("old map", "A map of the stars."))
        life.told.clear()
        assert isinstance(life.assistant.approve(pending.number, CARL), Given)
        act(life)
        before = {room: names(life, room) for room in life.world.rooms}
        await settled(life)
        assert {room: names(life, room) for room in life.world.rooms} == before
        assert sorted(who for who, sentence in life.told if why in sentence) == [ANN.id, CARL.id]
        assert life.assistant.context.tools.approvals.pending() == ()  # nor is it asked for again


async def test_what_was_approved_is_bound_though_it_needs_no_approval_any_more() -> None:
    async with living(typing, registry=ALL_TOOLS) as life:
        gus = life.world.add(GUS, listener=Witness())
        await gus.say("I would type get old map")
        await life.say("Sage, what now?")  # the model takes the guest's line for an order
        (pending,) = life.assistant.context.tools.approvals.pending()
        assert isinstance(life.assistant.approve(pending.number, CARL), Given)
        life.world.remove(gus)
        life.assistant.context.memory.history.forget(GUS.id)
        is_replaced(life)
        await settled(life)
        assert "old map" in names(life)
        assert any("old map (#1) is not there any more" in sentence for _, sentence in life.told)


async def test_a_walk_is_approved_for_the_place_where_it_was_asked_for() -> None:
    def walking(request: RecordedRequest) -> Step:
        last = request.messages[-1]
        if last["role"] == "tool":
            return Reply(calls=(Call("say", {"text": f"It came to this: {last['content']}"}),))
        return Reply(calls=(Call("move", {"direction": "east"}),))

    async with living(walking, {"required_permission": {"move": 3}}) as life:
        life.home.room = life.ann.room = life.world.rooms["square"]
        await life.say("Sage, go east")
        (pending,) = life.assistant.context.tools.approvals.pending()
        assert [target.name for target in pending.covers] == ["The Village Square", "east"]
        life.home.room = life.world.rooms["garden"]  # which has an east of its own
        assert isinstance(life.assistant.approve(pending.number, CARL), Denied)
        await settled(life)
        assert life.home.room.key == "garden"


async def test_the_whole_line_is_shown_with_all_that_it_acts_on() -> None:
    async with living(typing, registry=ALL_TOOLS) as life:
        line = f"destroy {'the ' * 115}old map"
        pending = await asked(life, line)
        shown = approvals_text([pending])[1]
        assert line in shown
        assert "in The Old Library (library), on old map (#1)" in shown
        assert len(line) > 400
        given = life.assistant.approve(pending.number, CARL)
        assert isinstance(given, Given)
        assert given.pending.covers == pending.covers
        await settled(life)
        assert "old map" not in names(life)


async def test_a_bystander_does_not_take_over_what_was_granted() -> None:
    async with living(typing, registry=ALL_TOOLS) as life:
        bea = life.world.add(BEA, listener=Witness())
        pending = await asked(life, "destroy old map")
        life.assistant.approve(pending.number, CARL)
        await bea.say("Sage, good morning to you")
        await settled(life)
        assert "old map" not in names(life)
        assert life.assistant.context.tools.approvals.pending() == ()
        assert life.witness.heard[-1] == "Sage: Good day."  # Bea is answered, in a run of her own
        assert any("You destroy the old map." in line for line in life.witness.heard)


async def test_everything_that_is_approved_at_the_same_time_is_done_once() -> None:
    async with living(typing, registry=ALL_TOOLS) as life:
        for line in ("destroy old map", "destroy hearth", "create lamp"):
            await life.say(f"Sage, type {line}")
        for number in (1, 2, 3):
            assert isinstance(life.assistant.approve(number, CARL), Given)
            assert isinstance(life.assistant.approve(number, CARL), Denied)
        await settled(life)
        assert names(life) == ["book of herbs", "lamp"]
        assert life.assistant.context.tools.approvals.pending() == ()


async def test_nobody_gains_a_spare_use() -> None:
    async with living(typing, registry=ALL_TOOLS) as life:
        pending = await asked(life, "destroy old map")
        life.world.things["library"].append(Thing("lamp"))
        life.assistant.approve(pending.number, CARL)
        await life.ann.say("Sage, type destroy old map")  # the same again, while the first is on its way
        await settled(life)
        assert names(life) == ["hearth", "book of herbs", "lamp"]
        life.world.things["library"].append(Thing("old map"))
        await life.say("Sage, type destroy old map")
        assert "old map" in names(life)


async def test_what_was_approved_is_done_once_though_the_model_is_away_afterwards() -> None:
    away: list[bool] = []

    def failing(request: RecordedRequest) -> Step:
        return HttpError() if away else typing(request)

    async with living(failing, registry=ALL_TOOLS) as life:
        pending = await asked(life, "destroy old map")
        life.world.things["library"].append(Thing("spare", "One more."))
        away.append(True)
        life.assistant.approve(pending.number, CARL)
        await settled(life)
        assert names(life) == ["hearth", "book of herbs", "spare"]
        assert await life.journal.pending() == ()  # else another process would do it again
        assert life.told == [] or "did not" not in life.told[-1][1]


def walking(request: RecordedRequest) -> Step:
    """Goes south when somebody asks for it."""
    last = request.messages[-1]
    if last["role"] == "tool" or "go south" not in last["content"]:
        return Reply(calls=(Call("say", {"text": "Well, well."}),))
    return Reply(calls=(Call("move", {"direction": "south"}),))


async def granted(place: Lives) -> None:
    """Gus asks, Ann allows, and the process ends before it is done."""
    place.world.add(GUS, listener=place.witness)
    async with place.one() as (assistant, journal):
        await assistant.inbox.take(Said(id="e1", at=0.0, who=GUS, text="Sage, go south", to_me=True))
        await react(assistant.context)
        (pending,) = assistant.context.tools.approvals.pending()
        assert isinstance(assistant.approve(pending.number, ANN), Given)
        assert len(await journal.pending()) == 1
    assert place.home.room.key == "library"
    place.witness.heard.clear()


#: Before and after each of: the run opened; the walk, and the answer, written down, begun and done; the run closed.
BOUNDARIES = 2 * (1 + 2 * 3 + 1)
#: The deaths after which nobody knows whether it walked: it was about to, and had not yet.
ABOUT_TO_WALK = {4, 5}


@pytest.mark.parametrize("dies_at", [None, *range(BOUNDARIES)])
async def test_what_was_approved_before_a_restart_is_done_once_after_it(
    dies_at: int | None, tmp_path: Path, flush_failures: FlushFailures
) -> None:
    async with lives(tmp_path / "journal.sqlite", walking) as place:
        await granted(place)
        async with place.one(dies_at) as (assistant, journal):
            try:
                await react(assistant.context)
            except Death:
                assert dies_at is not None
            else:
                assert (dies_at, len(journal.boundaries)) == (None, BOUNDARIES)
        async with place.one() as (assistant, journal):
            for _ in range(3):
                await react(assistant.context)
            assert await journal.pending() == ()
        walks = Counter(line for line in place.witness.heard if line.startswith("Sage arrives"))
        assert walks.total() == (0 if dies_at in ABOUT_TO_WALK else 1)
    flush_failures()


async def test_what_was_approved_and_waited_too_long_is_not_done(tmp_path: Path) -> None:
    async with lives(tmp_path / "journal.sqlite", walking) as place:
        await granted(place)
        async with place.one() as (assistant, journal):
            accepted = (await journal.pending())[0]
            assert isinstance(accepted.event, Noticed)
            assert accepted.event.granted is not None
            late = replace(accepted.event.granted, expires_at=0.0)
            told: list[str] = []
            body = structs.replace(assistant.context.body, notify=lambda _, sentence: told.append(sentence))
            context = structs.replace(assistant.context, body=body)
            await context.memory.journal.accept(
                structs.replace(accepted.event, id="late", granted=late), accepted.attention
            )
            await react(context)
            await react(context)
        assert "was not used within five minutes" in told[0]


async def settled(life: Any) -> None:
    """Everything is dealt with, the news of an approval included."""
    for _ in range(20):
        await life.journal.pending()
        await life.assistant.settled()
