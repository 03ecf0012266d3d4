"""The tools that look and change nothing: `look`, `inspect` and `who`, and the scene as a model reads it."""

from __future__ import annotations

from pydantic import BaseModel, Field

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.game import Person, Scene
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.tool import Arguments, Category, Labelled, NoArguments, Tool


class Somebody(BaseModel):
    """A person; `is_ai` tells assistants from players and the game's own people."""

    name: str
    is_ai: bool


class SceneView(BaseModel):
    """The scene round a character."""

    room: str
    description: str
    exits: list[str]
    people: list[Somebody]
    things: list[str]
    you_carry: list[str]


class Present(BaseModel):
    """The people who are in the game."""

    people: list[Somebody]


async def look(_: NoArguments, context: ToolContext) -> SceneView | Labelled:
    """Return the room with its exits, people and things."""
    return label_scene(await context.world.look())


LOOK = Tool(
    name="look",
    description="Look around. Shows the room, its exits, the people and the things in it.",
    arguments=NoArguments,
    category=Category.SAFE_CHAIN,
    execute=look,
)


class InspectArguments(Arguments):
    """What to look at."""

    target: str = Field(min_length=1, max_length=100, description="name of the thing or person")


async def inspect(arguments: InspectArguments, context: ToolContext) -> str:
    """Return the description of the target."""
    return await context.world.inspect(one_line(arguments.target))


INSPECT = Tool(
    name="inspect",
    description="Look closely at one thing or person in the room.",
    arguments=InspectArguments,
    category=Category.SAFE_CHAIN,
    execute=inspect,
    targets=("target",),
)


async def who(_: NoArguments, context: ToolContext) -> Present | Labelled:
    """Return everybody in the game, AIs marked; trusted as the least trusted author of these names."""
    people = await context.world.who()
    present = Present(people=[show_person(person) for person in people])
    levels = [person.authority for person in people if person.authority is not None]
    return Labelled(present, min(levels)) if levels else present


WHO = Tool(
    name="who",
    description="List everybody who is in the game now.",
    arguments=NoArguments,
    category=Category.SAFE_CHAIN,
    execute=who,
)


def label_scene(scene: Scene) -> SceneView | Labelled:
    """Return the scene as a model reads it, with the level of the least trusted author of any part."""
    level = scene.min_level
    return show_scene(scene) if level is None else Labelled(show_scene(scene), level)


def show_scene(scene: Scene) -> SceneView:
    """Return `scene` with every text cleaned: names and descriptions are written by strangers."""
    return SceneView(
        room=one_line(scene.room),
        description=clean_heard(scene.description),
        exits=[one_line(way) for way in scene.exits],
        people=[show_person(person) for person in scene.people],
        things=[one_line(thing.name) for thing in scene.things],
        you_carry=[one_line(thing.name) for thing in scene.carried],
    )


def show_person(person: Person) -> Somebody:
    """Return `person` by name."""
    return Somebody(name=one_line(person.name), is_ai=person.is_ai)
