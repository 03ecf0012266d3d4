"""A stage for the confused deputy: real people of every rank, a real assistant, every stock command, all watched.

What the game really runs is written down by the commands themselves: each is a subclass of the stock one that notes,
when the game calls its `at_pre_cmd`, who runs it, with which switches, and what permission he has at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from evennia import CmdSet
from evennia.commands import cmdhandler
from evennia.commands.default.cmdset_account import AccountCmdSet
from evennia.commands.default.cmdset_character import CharacterCmdSet
from evennia.commands.default.cmdset_session import SessionCmdSet
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.evennia.body.body import EvenniaBody
from mud_assistant.assistant.worlds.evennia.body.identity import Ladder, permission_of, principal_of
from mud_assistant.tools import (
    Approvals,
    ContextTrust,
    Dispatcher,
    Executed,
    Kind,
    Label,
    PolicyConfig,
    Principal,
    Registry,
    Source,
)
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.testing import tool_call
from mud_assistant.tools.testing.memories import ListedMemories
from mud_assistant.tools.verbs import GAME_COMMAND_TOOLS
from tests.evennia.village import Player, Village

LEVELS = range(6)
RANKS = ("Guest", "Player", "Helper", "Builder", "Admin", "Developer")
STOCK_SETS = (CharacterCmdSet, AccountCmdSet, SessionCmdSet)


@dataclass(frozen=True, slots=True)
class Ran:
    """One command as the game ran it. `permission` is what its caller had just then."""

    key: str
    kind: str
    args: str
    caller: Any
    permission: int
    is_superuser: bool


RAN: list[Ran] = []


class Watched:
    """Notes every run; mixed into each stock command."""

    def at_pre_cmd(self) -> Any:
        """Write it down, then do as the stock command does."""
        command: Any = self
        caller = command.caller
        name = type(self).__mro__[2].__name__
        RAN.append(
            Ran(command.key, name, command.args, caller, permission_of(caller, Ladder.of_game()),
                bool(getattr(caller, "is_superuser", False)))
        )  # fmt: skip
        return super().at_pre_cmd()  # type: ignore[misc]  # Evennia's Command has it


def stock_commands() -> list[Any]:
    """An instance of every command of all stock sets, each class once; what a set adds only for itself left out."""
    found: dict[str, Any] = {}
    for made in STOCK_SETS:
        for command in made().commands:
            if not command.key.startswith("__"):
                found.setdefault(type(command).__name__, command)
    return [found[name] for name in sorted(found)]


COMMANDS = {type(command).__name__: command for command in stock_commands()}
#: What would do something, for the commands that need to be told; the others are tried bare.
ARGUMENTS = {
    "CmdAccounts": "Ben", "CmdBan": "Ben", "CmdBatchCode": "example", "CmdBatchCommands": "example", "CmdBoot": "Ben",
    "CmdChannel": "public = Hi", "CmdCharCreate": "Twin", "CmdCharDelete": "Ben", "CmdCopy": "map = chart",
    "CmdCpAttr": "map/desc = lamp/label", "CmdCreate": "box", "CmdDesc": "map = Torn.", "CmdDestroy": "lamp",
    "CmdDig": "Cellar", "CmdDrop": "coin", "CmdEmit": "Ben = A voice!", "CmdExamine": "map", "CmdFind": "map",
    "CmdForce": "Ben = drop all", "CmdGet": "map", "CmdGive": "coin to Ben", "CmdHelp": "look", "CmdIC": "Ben",
    "CmdLink": "north = Hall", "CmdLock": "map = get:all()", "CmdLook": "map", "CmdMvAttr": "map/desc = lamp/label",
    "CmdName": "vase = urn", "CmdNewPassword": "Ben = mallory1", "CmdNick": "look = py 1", "CmdOOCLook": "map",
    "CmdOpen": "hatch = Garden", "CmdOption": "RAW = on", "CmdPage": "Ben = Hi", "CmdPassword": "a password = mallory1",
    "CmdPerm": "Ben = Developer", "CmdPose": "waves", "CmdPy": "1 + 1", "CmdQuell": "", "CmdSay": "Hi",
    "CmdScripts": "map = evennia.scripts.scripts.DefaultScript", "CmdService": "x",
    "CmdSetAttribute": "map/colour = red",
    "CmdSetDesc": "An owl.", "CmdSetHelp": "lore = Old.", "CmdSetHome": "Ben = Garden", "CmdSetObjAlias": "map = py",
    "CmdSpawn": "goblin", "CmdTag": "map = sold", "CmdTasks": "1", "CmdTeleport": "Ben = Garden",
    "CmdTunnel": "u = Attic",
    "CmdTypeclass": "map = typeclasses.characters.Character", "CmdUnLink": "north", "CmdUnban": "1", "CmdWall": "Fire!",
    "CmdWhisper": "Ben = Hi", "CmdWipe": "map/desc",
}  # fmt: skip
#: What the product's design says nobody's assistant may run: code, permissions and locks, passwords and accounts, the
#: server, acting through others, and what rewrites later commands.
NEVER = {
    "CmdAccounts", "CmdBatchCode", "CmdBatchCommands", "CmdCharCreate", "CmdCharDelete", "CmdForce", "CmdIC", "CmdLock",
    "CmdNewPassword", "CmdNick", "CmdOOC", "CmdPassword", "CmdPerm", "CmdPy", "CmdQuell", "CmdQuit", "CmdReload",
    "CmdReset", "CmdScripts", "CmdService", "CmdServerLoad", "CmdSessions", "CmdSetObjAlias", "CmdShutdown", "CmdSpawn",
    "CmdTasks", "CmdTypeclass", "CmdOption", "CmdIRC2Chan", "CmdRSS2Chan", "CmdGrapevine2Chan", "CmdDiscord2Chan",
}  # fmt: skip
#: What has a tool of its own, which cleans and counts the words, or speaks with no speaker.
NOT_AS_A_COMMAND = {"CmdSay", "CmdWhisper", "CmdPose", "CmdPage", "CmdChannel", "CmdEmit"}


def watched(command: Any) -> Any:
    """The same command, of a class that notes each run."""
    kind = type(command)
    return type(kind.__name__, (Watched, kind), {"__module__": kind.__module__})()


class Everything(CmdSet):  # type: ignore[misc]  # Evennia has no types
    """The commands of one test on the assistant's character: also those that only accounts have."""

    key = "Everything"
    priority = 200
    duplicates = False
    chosen: Sequence[Any] = ()


def everything(commands: Sequence[Any]) -> CmdSet:
    """A set of these commands, watched, which hides the character's own."""
    made = Everything()
    made.mergetype = "Replace"
    for command in commands:
        made.add(watched(command))
    return made


@dataclass
class Stage:
    """A hall with people of every rank, things to act on, and the assistant."""

    village: Village = field(default_factory=Village)
    clock: Clock = field(default_factory=Clock)
    askers: dict[str, Player] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Set the stage: everybody logs in."""
        for level, rank in enumerate(RANKS):
            self.askers[str(level)] = self.village.player(f"Asker{level}", rank)
        self.ben = self.village.player("Ben")
        self.sage = self.village.assistant()
        self.body = EvenniaBody(self.sage, self.clock)
        self.approvals = Approvals(self.clock.seconds)
        for name in ("map", "lamp", "vase"):
            self.village.thing(name, f"A {name}.")
        self.village.thing("coin", "A coin.", self.sage)

    def principal(self, asker: str) -> Principal:
        """Who asks, as the assistant knows them by the game."""
        return principal_of(self.askers[asker].character, self.sage)

    async def asked(
        self, line: str, asker: Principal | None, permission: int, trust: int = 5, approvals: Approvals | None = None
    ) -> Executed:
        """What comes of one run in which the model tries this line, for an assistant allowed this much."""
        seen = ContextTrust()
        seen.read(Label(Source.PLAYER, trust))
        rules = PolicyConfig(frozenset({"execute_command"}), approvals=approvals)
        dispatcher = Dispatcher(Registry(GAME_COMMAND_TOOLS), rules, self.clock, trust=seen)
        me = Principal(f"assistant:{self.sage.pk}", "Sage", Kind.ASSISTANT, permission)
        context = ToolContext(me, self.body, ListedMemories(), asker)
        (executed,) = await dispatcher.answer_all([tool_call("execute_command", command=line)], context)
        return executed


def give(stage: Stage, name: str) -> None:
    """Let the assistant's character have this command and no other."""
    cmdhandler._CMDSET_MERGE_CACHE.clear()  # it knows sets by their places in memory, which are used again
    stage.sage.cmdset.clear()
    stage.sage.cmdset.add(everything([COMMANDS[name]]))


def permission_now(stage: Stage) -> int:
    """What the assistant's character may do just now."""
    return permission_of(stage.sage, Ladder.of_game())


def changes() -> int:
    """Rows written by this connection so far: what a refused command must not move."""
    connection.ensure_connection()
    return int(connection.connection.total_changes)
