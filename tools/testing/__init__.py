"""Worlds and tools for tests: recording, waiting, crashing. They pass the same contract tests as the real ones."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec import Struct, structs
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mud_assistant.llm.messages import JSON, ToolCall
from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand, GameTime, Person, Route, Scene, World
from mud_assistant.tools.memories import Memories
from mud_assistant.tools.testing.memories import ListedMemories
from mud_assistant.tools.testing.odd_tools import WaitingTool as WaitingTool
from mud_assistant.tools.testing.odd_tools import crashing_tool as crashing_tool
from mud_assistant.tools.testing.odd_tools import simple_tool as simple_tool
from mud_assistant.tools.text.lenient import pick
from mud_assistant.tools.text.route import search_route
from mud_assistant.tools.trust import Audience, Kind, Principal

T = TypeVar("T")

SAGE = Principal("assistant:sage", "Sage", Kind.ASSISTANT)
ANNA = Principal("player:anna", "Anna")


def now(awaitable: Awaitable[T]) -> T:
    """Return the result of an awaitable that need not wait, or raise its error. Raises AssertionError if it waits."""

    async def wait() -> T:
        return await awaitable

    results: list[T | Failure] = []
    waiting = Deferred.fromCoroutine(wait())
    waiting.addBoth(results.append)
    if not results:
        waiting.cancel()
        raise AssertionError("it still waits")
    result = results[0]
    if isinstance(result, Failure):
        result.raiseException()
    return result


class Act(Struct, frozen=True):
    """One thing a character did. `target` is the name of a person, a channel or a command, or a direction."""

    verb: str
    text: str = ""
    target: str = ""


class RecordingWorld:
    """A world of one scene that notes what is done in it.

    `beyond` is the scene behind each exit (an exit without one leads to a bare room). `refusals` maps a verb to the
    sentence this world refuses it with. `commands` maps the first word of a line to the command it is, whose line is
    left empty; a test may change it during a run. `elsewhere` are the names of those who are in the game and not in the
    scene. A test may set `clock` and `idle` too.
    """

    def __init__(
        self,
        scene: Scene,
        actor: Principal = SAGE,
        *,
        beyond: Mapping[str, Scene] | None = None,
        refusals: Mapping[str, str] | None = None,
        commands: Mapping[str, GameCommand] | None = None,
        elsewhere: Sequence[str] = (),
        channels: Sequence[str] = ("public",),
    ) -> None:
        self.scene = self.home = scene
        self.actor = actor
        self.acts: list[Act] = []
        self._beyond = beyond or {}
        self.commands = dict(commands or {})
        self._refusals = refusals or {}
        self._elsewhere = tuple(elsewhere)
        self._channels = channels
        self.clock: GameTime | None = None
        #: How long everybody has typed nothing, in seconds.
        self.idle = 0.0
        scenes = (scene, *self._beyond.values())
        #: Who is in the game, by their ids; a test may change it.
        self.known = {one.id: _who(one) for scene in scenes for one in scene.people if one.id}

    async def look(self) -> Scene:
        """Return the scene."""
        self._check("look")
        return self.scene

    async def inspect(self, target: str) -> str:
        """Return the description of a thing, a person or an exit of the scene."""
        self._check("inspect")
        seen = [(thing.name, thing.description) for thing in self.scene.things]
        seen += [(thing.name, thing.description) for thing in self.scene.carried]
        seen += [(person.name, person.description) for person in self.scene.people]
        seen += [(way, f"A way out: {way}.") for way in self.scene.exits]
        name, description = seen[pick(target, [name for name, _ in seen])]
        return description or f"You see nothing special about {name}."

    async def who(self) -> Sequence[Person]:
        """Return the actor and the people of the scene."""
        self._check("who")
        return (Person(self.actor.name, is_ai=self.actor.kind is Kind.ASSISTANT), *self.scene.people)

    async def say(self, text: str) -> None:
        """Note the speech."""
        self._act(Act("say", text))

    async def emote(self, text: str) -> None:
        """Note the act."""
        self._act(Act("emote", text))

    async def whisper(self, target: str, text: str, *, only: Audience = None) -> None:
        """Note the whisper, when a person of that name, and of those in `only`, is there."""
        self._act(Act("whisper", text, self._find(target, (), only, "Here are")))

    def hears(self, who: Principal) -> bool:
        """Tell whether a person of that name is in the scene."""
        return who.name in {person.name for person in self.scene.people}

    async def page(self, target: str, text: str, *, only: Audience = None) -> None:
        """Note the page, when a person of that name, and of those in `only`, is in the scene or `elsewhere`."""
        self._act(Act("page", text, self._find(target, self._elsewhere, only, "In the game are")))

    def _find(self, target: str, elsewhere: Sequence[str], only: Audience, what: str) -> str:
        """Return the name of the person meant. Raises ToolFailed. One without an id is known by their name alone."""
        people = {person.name: person.id for person in self.scene.people}
        names = list(dict.fromkeys([*people, *elsewhere]))
        name = names[pick(target, names, what=what)]
        if only is not None and (id_ := people.get(name)) and id_ not in only:
            raise ToolFailed(f"{name} is somebody else.")
        return name

    async def speak_on(self, channel: str, text: str) -> None:
        """Note the speech, when there is such a channel."""
        self._act(Act("channel", text, self._channels[pick(channel, self._channels, what="Your channels")]))

    async def move(self, direction: str) -> Scene:
        """Make the scene behind the exit the present scene, and return it."""
        way = self.scene.exits[pick(direction, self.scene.exits, what="Exits")]
        self._act(Act("move", target=way))
        self._elsewhere = (*self._elsewhere, *(person.name for person in self.scene.people))
        self.scene = self._beyond.get(way, Scene(f"{self.scene.room}, {way}", "A bare room.", (way,)))
        return self.scene

    async def route(self, place: str) -> Route:
        """Return the way to a room of this world that `place` names."""
        self._check("route")
        behind = {way: self._beyond.get(way, Scene(f"{self.scene.room}, {way}", "")).room for way in self.scene.exits}
        name, steps, _ = await search_route(
            "", lambda room: () if room else [(way, name, way) for way, name in behind.items()], place
        )
        return Route(name, steps)

    async def go_home(self) -> Scene:
        """Make the first scene the present scene again, and return it."""
        if self.scene.room == self.home.room:
            raise ToolFailed("You are at home already.")
        self._act(Act("home"))
        self.scene = self.home
        return self.scene

    def is_left_alone(self) -> bool:
        """Tell whether this is another scene than the first, with only assistants in it."""
        return self.scene.room != self.home.room and all(person.is_ai for person in self.scene.people)

    def time(self) -> GameTime | None:
        """Return `clock`."""
        return self.clock

    def present(self, seconds: float) -> tuple[Principal, ...]:
        """Return the people of the scene who are no assistants, if they did not idle for longer than `seconds`."""
        here = {person.id for person in self.scene.people if not person.is_ai} if self.idle <= seconds else set()
        return tuple(who for who in self.known.values() if who.id in here)

    def who_is(self, id_: str) -> Principal | None:
        """Return who is `known` by this id."""
        return self.known.get(id_)

    async def resolve(self, line: str) -> GameCommand:
        """Return the command whose word the line begins with."""
        self._check("resolve")
        word, _, text = line.strip().partition(" ")
        command = self.commands.get(word)
        if command is None:
            raise ToolFailed(f"There is no command '{word}'. Commands: {', '.join(self.commands)}.")
        return replace(command, line=" ".join(filter(None, (command.line or command.name, text))))

    async def execute(self, command: GameCommand) -> str:
        """Note the line, under the command's name."""
        self._act(Act("execute", command.line, command.name))
        self.scene = _handed_over(self.scene, command)
        return f"{command.name}: done."

    def _act(self, act: Act) -> None:
        self._check(act.verb)
        self.acts.append(act)

    def _check(self, verb: str) -> None:
        if verb in self._refusals:
            raise ToolFailed(self._refusals[verb])


def _who(person: Person) -> Principal:
    """Return who somebody of a scene is."""
    return Principal(person.id, person.name, Kind.ASSISTANT if person.is_ai else Kind.PLAYER)


def _handed_over(scene: Scene, command: GameCommand) -> Scene:
    """Move the thing that a `get`, a `drop` or a `give` is about, where there is one of that name."""
    name = command.line.partition(" ")[2]
    if command.name == "give":
        name = name.rpartition(" to ")[0]
    thing = next((one for one in (*scene.carried, *scene.things) if one.name == name), None)
    if command.name not in {"get", "drop", "give"} or thing is None:
        return scene
    things = tuple(one for one in scene.things if one is not thing)
    carried = tuple(one for one in scene.carried if one is not thing)
    match command.name:
        case "get":
            carried = (*carried, thing)
        case "drop":
            things = (*things, thing)
    return replace(scene, things=things, carried=carried)


def tool_context(
    world: World | None = None, memories: Memories | None = None, requester: Principal | None = ANNA
) -> ToolContext:
    """Return a context for Sage; by default in a recording world with only Anna, and with nothing remembered."""
    world = world or RecordingWorld(Scene("A bare room", "There is nothing here.", people=(Person(ANNA.name),)))
    return ToolContext(SAGE, world, memories or ListedMemories(), requester, "run-1")


def tool_call(name: str, **arguments: JSON) -> ToolCall:
    """Return a call of `name` whose id is made of the name."""
    return ToolCall(f"call_{name}", name, arguments)


def numbered(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return `calls` with ids that tell equal ones apart."""
    return [structs.replace(call, id=f"call_{at}") for at, call in enumerate(calls)]
