"""Whose texts a character of Evennia sees, by who controls them; what an approval covers there, by number."""

from __future__ import annotations

from typing import Any

import pytest
from evennia.comms.models import ChannelDB
from evennia.utils import create
from twisted.internet.task import Clock

from mud_assistant.assistant.events.events import Noticed
from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.identity import Writers
from mud_assistant.assistant.worlds.evennia.body.notices import tell
from mud_assistant.tools import Approvals, Given, Kind, Principal, Status, ToolFailed, Written, label_of
from mud_assistant.tools.testing import now
from tests.evennia.deputy import Stage
from tests.evennia.village import Village

pytestmark = pytest.mark.usefixtures("db")
DEVELOPER = Principal("operator", "Op", Kind.OPERATOR)


def controlled(thing: Any, by: Any, kind: str = "id") -> Any:
    """The thing as a command that makes things would leave it."""
    thing.locks.add(f"control:{kind}({by.pk}) or perm(Admin)")
    return thing


def test_a_text_counts_for_who_controls_the_object(village: Village) -> None:
    guest, player, builder = (village.player(name, name) for name in ("Guest", "Player", "Builder"))
    other = village.assistant("Echo")
    gone = village.figure("Ghost")
    box = controlled(village.thing("box"), gone)
    room = controlled(village.room("Den"), gone)
    gone.delete()
    subjects = {
        guest.character: 0,
        player.character: 1,
        builder.character: 3,
        other: 0,
        village.thing("lamp"): None,
        village.hall: None,
        controlled(village.thing("map"), player.character): 1,
        controlled(village.thing("flag"), guest.account, "pid"): 0,
        controlled(village.thing("vase"), other): 0,
        controlled(village.room("Attic"), builder.character): 3,
        box: 0,
        room: 1,
    }
    assert {one.key: Writers().level_of(one) for one in subjects} == {one.key: level for one, level in subjects.items()}
    made = create.create_channel("gossip", locks=f"listen:all();control:id({guest.account.pk})")
    assert isinstance(made, ChannelDB)
    assert Writers().level_of(made) == 0


def test_the_scene_and_a_closer_look_carry_the_level(village: Village) -> None:
    body = EvenniaBody(village.assistant(), Clock())
    assert now(body.look()).min_level is None
    guest = village.player("Gus", "Guest")
    guest.character.db.desc = "OBEY"
    village.thing("lamp", "A lamp.")
    scene = now(body.look())
    assert (scene.min_level, scene.authority) == (0, None)
    assert [(person.name, person.authority) for person in scene.people] == [("Gus", 0)]
    looked = now(body.inspect("Gus"))
    assert isinstance(looked, Written)
    assert ("OBEY" in looked, looked.authority) == (True, 0)
    assert not isinstance(now(body.inspect("lamp")), Written)
    room = now(body.inspect("here"))  # shows who is in it
    assert isinstance(room, Written)
    assert [(one.name, one.authority) for one in now(body.who())][:2] == [("Sage", None), ("Gus", 0)]
    with pytest.raises(ToolFailed) as failed:
        now(body.inspect("dragon"))
    assert failed.value.authority == 0
    held = controlled(village.thing("note", "Words."), guest.character)
    guest.character.move_to(village.garden, quiet=True)
    held.move_to(body.character, quiet=True)
    carried = now(body.inspect("note"))
    assert isinstance(carried, Written)
    assert carried.authority == 0


def test_what_a_command_prints_has_the_level_of_the_least_trusted_here(village: Village) -> None:
    body = EvenniaBody(village.assistant(), Clock())
    village.player("Gus", "Guest")
    printed = now(body.execute(now(body.resolve("look"))))
    assert isinstance(printed, Written)
    assert (printed.authority, "Gus" in printed) == (0, True)


def test_what_a_thing_says_counts_for_who_made_it(village: Village) -> None:
    sage, gus = village.assistant(), village.player("Gus", "Guest")
    listener, clock = village.hearing(sage)
    for thing in (village.thing("bell"), controlled(village.thing("box"), gus.character)):
        village.hall.msg_contents(f"{thing.key} says OBEY", from_obj=thing)
    clock.advance(0)
    said = [event for event in listener.take() if isinstance(event, Noticed)]
    assert [label_of(event.who, 5).authority for event in said] == [5, 0]


async def asked(stage: Stage, line: str) -> Approvals:
    """Somebody asks for what a builder must allow; what waits."""
    approvals = Approvals(stage.clock.seconds)
    executed = await stage.asked(line, stage.principal("1"), 5, approvals=approvals)
    assert executed.status is Status.REFUSED
    return approvals


@pytest.mark.parametrize(
    ("line", "covers"),
    [
        ("destroy/force map", ["map"]),
        ("destroy/force map, lamp", ["lamp", "map"]),
        ("destroy/force {map}", ["map"]),
        ("destroy/force #{first}-{last}", ["lamp", "map"]),
        ("name map = chart", ["map"]),
        ("teleport Ben = Garden", ["Ben", "Ben", "Garden"]),
        ("link north = Hall", ["north"]),
        ("set map/colour = red", ["map"]),
        ("boot Ben", ["Ben", "Ben"]),
        ("desc map = Torn.", ["map"]),
        ("desc map-1 = " + ", ".join(f"torn at edge {number}" for number in range(22)), ["map"]),
        ("destroy/force chart", ["map"]),
        ("create box", []),
    ],
)
async def test_an_approval_covers_what_the_game_takes_the_words_for(line: str, covers: list[str]) -> None:
    stage = Stage()
    things = {thing.key: thing for thing in stage.village.hall.contents}
    things["map"].aliases.add("chart")
    numbers = {"map": f"#{things['map'].pk}", "first": things["map"].pk, "last": things["lamp"].pk}
    approvals = await asked(stage, line.format(**numbers))
    (pending,) = approvals.pending()
    place, *targets = pending.covers
    assert (place.id, place.name) == (f"#{stage.village.hall.pk}", "Hall")
    assert sorted(target.name for target in targets if target.name != "Hall") == covers
    assert all("#" in target.id for target in targets)


def renamed(stage: Stage, thing: Any) -> None:
    thing.key = "chart"
    thing.aliases.add("map")


def moved(stage: Stage, thing: Any) -> None:
    thing.move_to(stage.sage, quiet=True)


def replaced(stage: Stage, thing: Any) -> None:
    thing.delete()
    stage.village.thing("map", "Another.")


def elsewhere(stage: Stage, thing: Any) -> None:
    stage.village.thing("map", "Another.", stage.village.garden)
    stage.sage.move_to(stage.village.garden, quiet=True)


def doubled(stage: Stage, thing: Any) -> None:
    stage.village.thing("map", "Another.")


@pytest.mark.parametrize("change", [renamed, moved, replaced, elsewhere, doubled])
async def test_what_is_another_thing_by_then_is_not_done(change: Any) -> None:
    stage = Stage()
    approvals = await asked(stage, "destroy/force map")
    thing = next(one for one in stage.village.hall.contents if one.key == "map")
    assert isinstance(approvals.approve(1, DEVELOPER), Given)
    change(stage, thing)
    maps = [one.pk for one in (*stage.village.hall.contents, *stage.village.garden.contents, *stage.sage.contents)]
    executed = await stage.asked("destroy/force map", stage.principal("1"), 5, approvals=approvals)
    assert executed.status is Status.REFUSED
    assert "the approval is void" in executed.result.text
    left = [one.pk for one in (*stage.village.hall.contents, *stage.village.garden.contents, *stage.sage.contents)]
    assert left == maps


async def test_what_is_the_same_is_done() -> None:
    stage = Stage()
    approvals = await asked(stage, "teleport map = Garden")
    approvals.approve(1, DEVELOPER)
    executed = await stage.asked("teleport map = Garden", stage.principal("1"), 5, approvals=approvals)
    assert executed.status is Status.DONE
    assert "map" in {one.key for one in stage.village.garden.contents}


async def test_more_than_anybody_can_look_through_is_not_asked_for() -> None:
    stage = Stage()
    approvals = Approvals(stage.clock.seconds)
    executed = await stage.asked("destroy/force #2-99999", stage.principal("1"), 5, approvals=approvals)
    assert (executed.status, approvals.pending()) == (Status.FAILED, ())
    assert "Name fewer" in executed.result.text


def test_a_player_is_told_outside_the_story(village: Village) -> None:
    anna = village.player("Anna")
    tell(Principal(f"character:{anna.character.pk}", "Anna"), "Sage did not do |rit|n: $eval(1).")
    assert anna.heard()[-1].startswith("Sage did not do")
    for nobody in ("character:999999", "account:x", "thing:1", ""):
        tell(Principal(nobody, "Nobody"), "Well.")
    anna.logs_out()
    tell(Principal(f"character:{anna.character.pk}", "Anna"), "Sage did not do it.")
