import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import evennia.commands.default
import pytest
from evennia.commands.cmdset import CmdSet
from evennia.commands.command import Command
from evennia.utils.evmenu import get_input
from twisted.internet.defer import CancelledError, Deferred

from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.border import FAILED
from mud_assistant.assistant.worlds.evennia.body.game_commands import USE_A_TOOL
from mud_assistant.assistant.worlds.evennia.body.running import ASKS_BACK, EvenniaCommand
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand
from mud_assistant.tools.policy import decide as policy
from mud_assistant.tools.testing import now
from tests.evennia.stock_commands import DENIED, NEVER, SPEECH, STOCK
from tests.evennia.village import Village

pytestmark = pytest.mark.usefixtures("db")


def give(character: Any, *commands: type[Command]) -> None:
    """Put commands into what the character can type."""
    own = CmdSet()
    own.key = "tests"
    for command in commands:
        own.add(command())
    character.cmdset.add(own)


def stock() -> Iterator[type[Command]]:
    """Every command class that this Evennia brings."""
    for module in pkgutil.iter_modules(evennia.commands.default.__path__):
        if module.name != "tests":
            brought = importlib.import_module(f"evennia.commands.default.{module.name}")
            for _, found in inspect.getmembers(brought, inspect.isclass):
                if issubclass(found, Command) and found.__module__ == brought.__name__:
                    yield found


def test_every_stock_command_is_decided_upon() -> None:
    assert {found.__name__ for found in stock()} == set(STOCK)


def test_every_stock_command_is_allowed_or_denied_as_it_was_decided(sage: Any, body: EvenniaBody) -> None:
    decided: dict[str, int | str] = {}
    for found in stock():
        if STOCK[found.__name__] == NEVER:
            continue
        give(sage, type(found.__name__, (found,), {"key": found.key, "locks": found.locks}))
        word = found.key
        try:
            command = now(body.resolve(f"{word} x" if found.arg_regex is None else word))
        except ToolFailed as refused:
            # A command for accounts only is no command of a character's; it must be denied all the same.
            is_denied = policy.is_denied(found.key, policy.DENIED)
            decided[found.__name__] = SPEECH if str(refused) == USE_A_TOOL else DENIED if is_denied else str(refused)
        else:
            name = "/".join((command.name, *command.switches))
            is_denied = policy.is_denied(name, policy.DENIED)
            decided[found.__name__] = DENIED if is_denied else command.permission
        sage.cmdset.remove("tests")
    assert decided == {name: what for name, what in STOCK.items() if what != NEVER}


@pytest.mark.parametrize(
    ("line", "name", "switches", "permission", "shown"),
    [
        ("get map", "get", (), 0, "get map"),
        ("grab map", "get", (), 0, "get map"),
        ("@teleport/quiet x", "@teleport", ("quiet",), 3, "@teleport/quiet x"),
        ("tel/q/unknown x", "@teleport", ("quiet", "unknown"), 3, "@teleport/q/unknown x"),
        ("CREATE sword", "@create", (), 3, "@create sword"),
        ("time", "@time", (), 1, "@time"),
        ("sethelp/append a = b", "sethelp", ("append",), 2, "sethelp/append a = b"),
        ("ban x", "ban", (), 5, "ban x"),
        ("north", "north", (), 0, "north"),
        ("n", "north", (), 0, "north"),
        ("get a|rb|/c", "get", (), 0, "get a||\u200brb||\u200b/c"),
    ],
)
def test_a_line_is_what_the_game_takes_it_for(
    body: EvenniaBody, line: str, name: str, *, switches: tuple[str, ...], permission: int, shown: str
) -> None:
    command = now(body.resolve(line))
    assert (command.name, command.switches, command.permission, command.line) == (name, switches, permission, shown)
    assert command == now(body.resolve(line))


def test_nicks_do_not_rewrite_what_is_typed(sage: Any, body: EvenniaBody) -> None:
    sage.nicks.add("get $1", "py $1", category="inputline")
    assert now(body.resolve("get map")).name == "get"


@pytest.mark.parametrize(
    "line",
    ["get {map}", "get $eval(1)", "get }", "get a\nget b", "get \x1b[2J", "get \x9b", "get \u2028b", "x" * 501],
)
def test_a_line_that_hides_something_is_refused(body: EvenniaBody, line: str) -> None:
    with pytest.raises(ToolFailed, match=r"must not hold|at most 500"):
        now(body.resolve(line))


@pytest.mark.parametrize(
    "line",
    ["say Hello", '"Hello', "'Hello", "whisper Anna = psst", "pose x", ":x", "emote x", "page Anna = x",
     "tell Anna = x", "channel public = x", "@channel public = x"],
)  # fmt: skip
def test_speaking_is_for_its_own_tools(sage: Any, body: EvenniaBody, line: str) -> None:
    from evennia.commands.default.comms import CmdObjectChannel, CmdPage  # noqa: PLC0415

    give(sage, CmdPage, CmdObjectChannel)
    with pytest.raises(ToolFailed, match=USE_A_TOOL):
        now(body.resolve(line))


@pytest.mark.parametrize("line", ["__nomatch_command", "__noinput_command x", "", "   "])
def test_the_games_inner_commands_are_none(body: EvenniaBody, line: str) -> None:
    with pytest.raises(ToolFailed, match="There is no command"):
        now(body.resolve(line))


def test_two_of_a_name_are_not_guessed(village: Village, body: EvenniaBody) -> None:
    village.exit("tower", village.hall, village.garden, ("climb",))
    village.exit("tree", village.hall, village.garden, ("climb",))
    with pytest.raises(ToolFailed, match="More than one command is 'climb': tower, tree"):
        now(body.resolve("climb"))


@pytest.mark.parametrize(
    ("locks", "permission"),
    [
        ("cmd:all()", 0),
        ("cmd:perm(Player)", 1),
        ("cmd:pperm(Admin)", None),
        ("cmd:not perm(Builder)", None),
        ("cmd:not perm(muted)", 0),
        ("cmd:false()", None),
        ("cmd:superuser()", None),
        ("cmd:perm(wizards guild)", None),
        ("cmd:id(1) or perm(Builder)", 3),
        ("cmd:attr(is_mage) or perm(Admin)", 4),
        ("cmd:holds(wand)", None),
        ("cmd:tag(x) or attr_gt(a, 1) or locattr(x) or inside() or perm(Helper)", 2),
    ],
)
def test_what_a_lock_asks_is_counted_for_a_stranger(
    sage: Any, body: EvenniaBody, locks: str, permission: int | None
) -> None:
    give(sage, type("Zap", (Command,), {"key": "zap", "locks": locks}))
    try:
        assert now(body.resolve("zap")).permission == (5 if permission is None else permission)
    except ToolFailed:
        assert permission is None


class Seen(Command):  # type: ignore[misc]  # Evennia has no types
    """Notes how it ran."""

    key = "peek"
    aliases = ("spy",)
    locks = "cmd:perm(Builder)"
    ran: list[Any]

    def func(self) -> None:
        self.msg(f"|rpermissions|n {self.caller.permissions.all()}")
        names = [
            name for name in ("Guest", "Player", "Helper", "Builder", "Admin") if self.caller.check_permstring(name)
        ]
        self.msg(f"{self.cmdstring}:{self.args}:{names}:{self.cmdset is not None}")


def test_a_command_runs_with_exactly_what_it_needs(sage: Any, body: EvenniaBody) -> None:
    give(sage, Seen)
    command = now(body.resolve("spy  a  b"))
    assert sage.permissions.all() == ["player"]
    printed = now(body.execute(command))
    assert printed == "permissions ['builder']\nspy:  a  b:['Guest', 'Player', 'Helper', 'Builder']:True"
    assert sage.permissions.all() == ["player"]


def test_what_ran_is_what_was_resolved(village: Village, sage: Any, body: EvenniaBody) -> None:
    give(sage, Seen)
    command = now(body.resolve("peek"))
    sage.cmdset.remove("tests")
    give(sage, type("Other", (Command,), {"key": "peek", "func": lambda self: self.msg("other")}))
    assert "permissions" in now(body.execute(command))


def test_a_real_command_acts_and_tells(village: Village, sage: Any, body: EvenniaBody) -> None:
    anna, _ = village.player("Anna"), village.thing("old map")
    listener, clock = village.hearing(sage)
    anna.raw()
    assert "pick up" in now(body.execute(now(body.resolve("get map"))))
    assert "You give" in now(body.execute(now(body.resolve("give map to Anna"))))
    assert [thing.key for thing in anna.character.contents] == ["old map"]
    assert len(anna.heard()) == 2
    clock.advance(0)
    assert listener.take() == []
    sage.detach()


def test_what_others_do_meanwhile_is_heard(village: Village, sage: Any, body: EvenniaBody) -> None:
    anna = village.player("Anna")
    listener, clock = village.hearing(sage)

    def func(command: Any) -> None:
        anna.does("say Thanks!")
        command.msg("done")

    give(sage, type("Nod", (Command,), {"key": "nod", "func": func}))
    assert now(body.execute(now(body.resolve("nod")))) == "done"
    clock.advance(0)
    assert len(listener.take()) == 1
    sage.detach()


def test_a_command_that_asks_back_catches_nothing(sage: Any, body: EvenniaBody) -> None:
    def func(command: Any) -> None:
        get_input(command.caller, "Really?", lambda *_: None)

    give(sage, type("Ask", (Command,), {"key": "ask", "func": func}))
    assert now(body.execute(now(body.resolve("ask")))) == f"Really?\n{ASKS_BACK}"
    assert now(body.resolve("look")).name == "look"
    assert sage.ndb._getinput is None


def test_a_stock_confirmation_destroys_nothing(village: Village, sage: Any, body: EvenniaBody) -> None:
    coin = village.thing("coin")
    coin.locks.add("delete:all();control:all()")
    printed = now(body.execute(now(body.resolve("destroy coin"))))
    assert "Are you sure" in printed
    assert ASKS_BACK in printed
    assert coin.pk


def test_a_command_that_breaks_is_one_sentence_and_no_traceback(sage: Any, body: EvenniaBody) -> None:
    def func(command: Any) -> None:
        raise ZeroDivisionError("secret path")

    give(sage, type("Break", (Command,), {"key": "break", "func": func}))
    with pytest.raises(ToolFailed) as failed:
        now(body.execute(now(body.resolve("break"))))
    assert str(failed.value) == FAILED
    assert sage.permissions.all() == ["player"]
    assert sage.ndb.printout is None


def test_output_is_bounded(sage: Any, body: EvenniaBody) -> None:
    give(sage, type("Flood", (Command,), {"key": "flood", "func": lambda self: [self.msg("x" * 9000)] * 1 and [
        self.msg("y" * 1_000_000) for _ in range(50)] and None}))  # fmt: skip
    assert len(now(body.execute(now(body.resolve("flood"))))) <= 4000


def test_a_command_that_takes_time_is_waited_for(sage: Any, body: EvenniaBody) -> None:
    slow: Deferred[None] = Deferred()

    def parse(command: Any) -> Deferred[None]:
        return slow

    give(sage, type("Slow", (Seen,), {"key": "slow", "locks": "cmd:perm(Admin)", "parse": parse}))
    results: list[str] = []
    running = Deferred.fromCoroutine(_executed(body, now(body.resolve("slow"))))
    running.addCallback(results.append)
    assert results == []
    assert sage.check_permstring("Admin")
    with pytest.raises(ToolFailed, match="Another command"):
        now(body.execute(now(body.resolve("look"))))
    slow.callback(None)
    assert "admin" in results[0]
    assert not sage.check_permstring("Helper")


def test_an_abandoned_command_goes_on_as_a_player(sage: Any, body: EvenniaBody) -> None:
    slow: Deferred[None] = Deferred()
    names: list[Any] = []
    give(sage, type("Slow", (Command,), {
        "key": "slow", "locks": "cmd:perm(Admin)", "parse": lambda self: slow,
        "func": lambda self: names.extend(self.caller.permissions.all())}))  # fmt: skip
    failures: list[Any] = []
    running = Deferred.fromCoroutine(_executed(body, now(body.resolve("slow"))))
    running.addErrback(failures.append)
    running.cancel()
    assert failures[0].check(CancelledError)
    assert not sage.check_permstring("Helper")
    slow.callback(None)
    assert names == ["player"]


def test_a_command_of_another_world_is_none_here(body: EvenniaBody) -> None:
    with pytest.raises(ToolFailed, match="no command of this game"):
        now(body.execute(GameCommand("get map", "get")))


def test_a_command_the_character_itself_may_not_use_is_not_run(sage: Any, body: EvenniaBody) -> None:
    give(sage, type("Zap", (Command,), {"key": "zap", "locks": "cmd:attr(is_mage) or perm(Builder)"}))
    command = now(body.resolve("zap"))
    assert isinstance(command, EvenniaCommand)
    command.command.locks = "cmd:false()"
    command.command.lockhandler.replace("cmd:false()")
    with pytest.raises(ToolFailed, match="does not let you use"):
        now(body.execute(command))


async def _executed(body: EvenniaBody, command: GameCommand) -> str:
    return await body.execute(command)
