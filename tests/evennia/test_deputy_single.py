"""Single cases of the confused deputy in a real game: things, ways, ranks, approvals, and what does happen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mud_assistant.tools import Denied, Given, Kind, Principal, Status
from tests.evennia.deputy import ARGUMENTS, COMMANDS, NEVER, RAN, Stage, changes, give, permission_now
from tests.guards import FlushFailures

pytestmark = pytest.mark.usefixtures("db")


@pytest.fixture
def stage() -> Iterator[Stage]:
    RAN.clear()
    yield Stage()
    RAN.clear()


@pytest.mark.parametrize("asker", ["5", "superuser"])
async def test_what_is_denied_runs_by_no_name_for_nobody_and_cannot_be_asked_for(
    stage: Stage, asker: str, flush_failures: FlushFailures
) -> None:
    if asker == "superuser":
        stage.askers[asker] = stage.village.player("Root", "Developer", superuser=True)
    who = stage.principal(asker)
    assert who.permission == 5
    for name in sorted(NEVER):
        give(stage, name)
        command = COMMANDS[name]
        before = changes()
        for word in sorted({command.key, *command.aliases}):
            bare = word.lstrip("@+&")
            for typed in (word, bare, f"@{bare}", f"+{bare}", bare.upper(), f"  {bare}", f"1-{bare}", f"{bare}-1"):
                executed = await stage.asked(f"{typed} {ARGUMENTS.get(name, '')}", who, 5, approvals=stage.approvals)
                assert executed.status is not Status.DONE, typed
        assert (RAN, changes(), stage.approvals.pending()) == ([], before, ()), name
    flush_failures()


async def test_a_nick_that_somebody_planted_rewrites_nothing(stage: Stage) -> None:
    give(stage, "CmdPy")
    stage.sage.nicks.add("look", "py self.msg('pwned')", category="inputline")
    stage.sage.nicks.add("me", "py 1", category="inputline")
    for line in ("look", "me", "look around"):
        executed = await stage.asked(line, stage.principal("5"), 5)
        assert executed.status is Status.FAILED, executed.result
    assert RAN == []


async def test_a_thing_for_builders_is_not_fetched_for_a_player(stage: Stage) -> None:
    stage.sage.cmdset.clear()
    treasure, toy = stage.village.thing("treasure"), stage.village.thing("toy")
    treasure.locks.add("get:perm(Builder)")
    for assistant in (1, 3, 5):
        await stage.asked("get treasure", stage.principal("1"), assistant)
        assert treasure.location is stage.village.hall
    await stage.asked("get toy", stage.principal("1"), 3)
    assert toy.location is stage.sage


async def test_a_way_for_builders_is_not_walked_for_a_player(stage: Stage) -> None:
    stage.village.way.locks.add("traverse:perm(Builder)")
    await stage.asked("north", stage.principal("1"), 5)
    assert stage.sage.location is stage.village.hall
    stage.village.way.locks.add("traverse:all()")
    await stage.asked("north", stage.principal("1"), 5)
    assert stage.sage.location is stage.village.garden


async def test_a_thing_above_a_command_is_not_changed_by_it(stage: Stage) -> None:
    """A builder's command changes nothing that the game keeps for admins, whoever asks."""
    lamp = next(thing for thing in stage.village.hall.contents if thing.key == "lamp")
    lamp.locks.add("edit:perm(Admin);control:perm(Admin);delete:perm(Admin)")
    give(stage, "CmdDestroy")
    for asker in ("3", "5"):
        await stage.asked("destroy/force lamp", stage.principal(asker), 5)
        assert lamp.pk
    lamp.locks.add("control:perm(Builder);delete:perm(Builder)")
    await stage.asked("destroy/force lamp", stage.principal("3"), 3)
    assert not lamp.pk


async def test_a_quelled_admin_asks_as_the_player_he_wants_to_be(stage: Stage) -> None:
    admin = stage.askers["4"]
    give(stage, "CmdCreate")
    admin.does("quell")
    assert (await stage.asked("create box", stage.principal("4"), 5)).status is Status.REFUSED
    assert RAN == []
    admin.does("unquell")
    assert (await stage.asked("create box", stage.principal("4"), 5)).status is Status.DONE
    assert [thing.key for thing in stage.sage.contents] == ["coin", "box"]


async def test_a_quelled_superuser_is_no_superuser(stage: Stage) -> None:
    root = stage.village.player("Root", "Player", superuser=True)
    stage.askers["superuser"] = root
    root.does("quell")
    assert stage.principal("superuser").permission <= 1
    give(stage, "CmdCreate")
    assert (await stage.asked("create box", stage.principal("superuser"), 5)).status is Status.REFUSED
    root.does("unquell")
    assert stage.principal("superuser").permission == 5


async def test_a_superuser_does_not_lift_the_assistant_above_its_own_level(stage: Stage) -> None:
    stage.askers["superuser"] = stage.village.player("Root", "Player", superuser=True)
    give(stage, "CmdCreate")
    assert (await stage.asked("create box", stage.principal("superuser"), 2)).status is Status.REFUSED
    assert (await stage.asked("create box", stage.principal("superuser"), 3)).status is Status.DONE
    assert [(ran.permission, ran.is_superuser) for ran in RAN] == [(3, False)]


async def test_what_is_stored_on_the_character_gives_it_nothing(stage: Stage) -> None:
    """An admin who types `perm Sage = Developer` does not make everybody a developer who talks to it."""
    stage.sage.permissions.add("Developer")
    stage.sage.db_lock_storage = stage.sage.db_lock_storage  # as saved
    assert permission_now(stage) == 1
    give(stage, "CmdCreate")
    assert (await stage.asked("create box", stage.principal("5"), 2)).status is Status.REFUSED
    assert RAN == []


@pytest.mark.parametrize(
    "asker",
    [None, Principal("assistant:9", "Rook", Kind.ASSISTANT, 5), Principal("thing:9", "Golem", Kind.WORLD, 5)],
    ids=["nobody", "another assistant", "a thing"],
)
async def test_nobody_at_all_brings_about_no_more_than_a_player(stage: Stage, asker: Principal | None) -> None:
    for name, line in (("CmdCreate", "create box"), ("CmdSetHelp", "sethelp lore = Old.")):
        give(stage, name)
        assert (await stage.asked(line, asker, 5)).status is Status.REFUSED
    assert RAN == []


async def test_only_who_could_do_it_can_allow_it_and_once(stage: Stage) -> None:
    give(stage, "CmdCreate")
    player, approvals = stage.principal("1"), stage.approvals
    assert (await stage.asked("create box", player, 1, approvals=approvals)).status is Status.REFUSED
    (asked,) = approvals.pending()
    assert asked.shown == "@create box"
    for low in ("0", "1", "2"):
        assert isinstance(approvals.approve(asked.number, stage.principal(low)), Denied)
    stage.askers["4"].does("quell")
    assert isinstance(approvals.approve(asked.number, stage.principal("4")), Denied)
    other = Principal("assistant:9", "Rook", Kind.ASSISTANT, 5)
    assert isinstance(approvals.approve(asked.number, other), Denied)
    assert (await stage.asked("create box", player, 1, approvals=approvals)).status is Status.REFUSED
    assert RAN == []
    assert isinstance(approvals.approve(asked.number, stage.principal("3")), Given)
    assert (await stage.asked("create crate", player, 1, approvals=approvals)).status is Status.REFUSED
    assert (await stage.asked("create box", player, 1, approvals=approvals)).status is Status.DONE
    assert [(ran.key, ran.permission) for ran in RAN] == [("@create", 3)]
    assert (await stage.asked("create box", player, 1, approvals=approvals)).status is Status.REFUSED
    assert permission_now(stage) == 1


async def test_a_command_that_became_another_one_is_not_run(stage: Stage) -> None:
    """What was allowed is the resolved command; the set changes between the decision and the run."""
    give(stage, "CmdLook")
    resolved = await stage.body.resolve("look map")
    give(stage, "CmdPy")
    await stage.body.execute(resolved)
    assert [ran.kind for ran in RAN] == ["CmdLook"]


async def test_the_tables_of_commands_are_drawn_as_for_everybody(stage: Stage) -> None:
    """Without an account Evennia's borders are forty characters wide: a list of objects takes 5 s of CPU."""
    give(stage, "CmdObjects")
    executed = await stage.asked("objects", stage.principal("3"), 3)
    assert executed.status is Status.DONE
    assert "Headers, footers" not in executed.result.text
    assert "Object subtype totals" in executed.result.text


async def test_allowed_things_do_happen(stage: Stage) -> None:
    """Who refused everything would pass the tests above."""
    ben = stage.ben.character
    vase = next(thing for thing in stage.village.hall.contents if thing.key == "vase")
    vase.locks.add("edit:perm(Builder)")
    stage.village.way.locks.add("edit:perm(Builder)")
    for name, line, asker, assistant in (
        ("CmdGet", "get map", 1, 1), ("CmdGive", "give coin to Ben", 1, 1), ("CmdTeleport", "tel lamp = Garden", 3, 3),
        ("CmdDesc", "desc vase = Cracked.", 3, 3), ("CmdSetHelp", "sethelp lore = Old.", 2, 2),
        ("CmdLink", "link north = Hall", 5, 5),
    ):  # fmt: skip
        give(stage, name)
        executed = await stage.asked(line, stage.principal(str(asker)), assistant)
        assert executed.status is Status.DONE, (line, executed.result)
    assert [thing.key for thing in stage.sage.contents] == ["map"]
    assert [thing.key for thing in ben.contents] == ["coin"]
    assert "lamp" in [thing.key for thing in stage.village.garden.contents]
    assert vase.db.desc == "Cracked."
    from evennia.help.models import HelpEntry  # noqa: PLC0415  (a model: after Django was set up)

    assert [entry.key for entry in HelpEntry.objects.all()] == ["lore"]
    assert stage.village.way.destination is stage.village.hall
