"""The scene and the people around a character, as a model reads them."""

from __future__ import annotations

from pydantic import BaseModel

from tools.game import Person, Scene
from tools.text.clean import clean_heard, one_line
from tools.tool import Labelled


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
