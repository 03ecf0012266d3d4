"""The confused deputy: no command does more than the least of the assistant, who asked, and all that was read."""

from collections.abc import Mapping
from itertools import product

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.embedded.commands import COMMANDS
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import Status
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.policy.approvals import Approvals, Denied, Given
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import now, tool_call
from mud_assistant.tools.testing.memories import ListedMemories
from mud_assistant.tools.tool import Registry
from mud_assistant.tools.trust import ContextTrust, Kind, Label, Principal, Source
from mud_assistant.tools.verbs import GAME_COMMAND_TOOLS

#: A line for every command, in a room with a map, a book and a hearth where the assistant carries a coin and a jug.
LINES = {
    "get": "take map", "drop": "drop coin", "give": "hand coin to Ben", "shout": "yell Fire!", "create": "make lamp",
    "destroy": "del map", "teleport": "tp/quiet Ben to mill", "ban": "@ban Ben", "py": "! 1 + 1", "quell": "unquell",
    "nick": "nicks hi = py", "put": "put coin on map", "open": "open book of herbs", "close": "shut book of herbs",
    "light": "light hearth", "pour": "pour jug",
}  # fmt: skip
DENIED = {"py", "quell", "nick"}
LEVELS = range(6)
ASKERS: Mapping[str, tuple[Principal | None, int]] = {
    **{f"player {level}": (Principal("player:ann", "Ann", permission=level), level) for level in LEVELS},
    "nobody": (None, 0),
    "assistant": (Principal("assistant:2", "Rook", Kind.ASSISTANT, 5), 0),
    "the game": (Principal("world", "Mira", Kind.WORLD, 5), 1),
}
LABELS = (
    *(Label(Source.PLAYER, level) for level in LEVELS),
    Label(Source.OPERATOR, 5),
    Label(Source.WORLD, 1),
    Label(Source.WEB, 0),
    Label(Source.MEMORY, 2),
    Label(Source.ASSISTANT, 0),
)


class Ears:
    """Writes down that something was perceived."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        self.heard.append(text)

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        self.heard.append(text)

    def heard_page(self, speaker: Principal, text: str) -> None:
        self.heard.append(text)

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        self.heard.append(text)

    def saw_emote(self, actor: Principal, text: str) -> None:
        self.heard.append(text)

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        self.heard.append(thing)

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        self.heard.append("arrival")

    def saw_departure(self, who: Principal, direction: str) -> None:
        self.heard.append("departure")


class Stage:
    """A game with the assistant, who carries a coin and a jug, beside Ben."""

    def __init__(self, permission: int) -> None:
        self.me = Principal("assistant:1", "Sage", Kind.ASSISTANT, permission)
        self.world, self.listener = EmbeddedWorld(), Ears()
        self.body: EmbeddedBody = self.world.add(self.me)
        self.world.add(Principal("player:ben", "Ben"), listener=self.listener)
        for thing in ("coin", "jug"):
            now(self.body.execute(now(self.body.resolve(f"create {thing}"))))
            now(self.body.execute(now(self.body.resolve(f"get {thing}"))))
        self.clock = Clock()
        self.approvals = Approvals(self.clock.seconds)
        self.start = self.state()

    def state(self) -> object:
        things = {room: list(things) for room, things in self.world.things.items()}
        carried = {who: list(things) for who, things in self.world.carried.items() if things}
        return (
            things,
            carried,
            [(body.principal.id, body.room.key) for body in self.world.bodies],
            [*self.listener.heard],
        )

    def run(self, command: str, asker: Principal | None, label: Label) -> Executed:
        """One run that reads a text with `label` and then tries the command."""
        trust = ContextTrust()
        trust.read(label)
        rules = PolicyConfig(frozenset({"execute_command"}), approvals=self.approvals)
        dispatcher = Dispatcher(Registry(GAME_COMMAND_TOOLS), rules, self.clock, trust=trust)
        context = ToolContext(self.me, self.body, ListedMemories(), asker)
        call = tool_call("execute_command", command=LINES[command])
        (executed,) = now(dispatcher.answer_all([call], context))
        return executed


def test_every_command_is_in_the_table() -> None:
    assert set(LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_effect_above_the_least_of_actor_requester_and_sight(command: str) -> None:
    needed = COMMANDS[command].permission
    for permission, (asker, level), label in product(LEVELS, ASKERS.values(), LABELS):
        stage = Stage(permission)
        executed = stage.run(command, asker, label)
        may = command not in DENIED and min(permission, level, label.authority) >= needed
        assert executed.status is (Status.DONE if may else Status.REFUSED), (permission, asker, label)
        assert (stage.state() != stage.start) is may


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - DENIED))
@pytest.mark.parametrize("asker", sorted(ASKERS))
def test_with_the_approval_of_somebody_high_enough_it_happens_once(command: str, asker: str) -> None:
    stage, label, who = Stage(0), Label(Source.WEB, 0), ASKERS[asker][0]
    needed = COMMANDS[command].permission
    assert stage.run(command, who, label).status is Status.REFUSED
    too_low = Principal("player:low", "Low", permission=needed - 1)
    assert isinstance(stage.approvals.approve(1, too_low), Denied)
    assert stage.run(command, who, label).status is Status.REFUSED
    assert stage.state() == stage.start
    assert isinstance(stage.approvals.approve(1, Principal("player:boss", "Boss", permission=needed)), Given)
    assert stage.run(command, who, label).status is Status.DONE
    after = stage.state()
    assert after != stage.start
    assert stage.run(command, who, label).status is not Status.DONE
    assert stage.state() == after


@pytest.mark.parametrize("command", sorted(DENIED))
def test_what_is_denied_cannot_even_be_asked_for(command: str) -> None:
    stage = Stage(5)
    operator = Principal("op", "Op", Kind.OPERATOR, 5)
    assert stage.run(command, operator, Label(Source.OPERATOR, 5)).status is Status.REFUSED
    assert stage.approvals.pending() == ()
    assert isinstance(stage.approvals.approve(1, operator), Denied)
    assert stage.state() == stage.start
