"""The tools that move a character: `move` through an exit, `follow` a person, `stay` and go `home`.

`follow` only notes the person. When that person leaves, a rule makes the character walk after them
(`assistant/loop/unasked.py`). Each walk is a `move` that policy judges on behalf of the requester.
"""

from __future__ import annotations

from pydantic import Field

from mud_assistant.tools.context import ToolContext
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.tool import Arguments, Category, Labelled, NoArguments, Reach, Tool
from mud_assistant.tools.verbs.handling import find_person
from mud_assistant.tools.verbs.looking import SceneView, label_scene, show_scene

SWITCHED_OFF = "You follow nobody in this game. It was not done."


class MoveArguments(Arguments):
    """Which way to go."""

    direction: str = Field(min_length=1, max_length=100, description="name of an exit, for example: north")


async def move(arguments: MoveArguments, context: ToolContext) -> SceneView | Labelled:
    """Walk through the exit and return the scene at the other end."""
    there = await context.world.move(one_line(arguments.direction))
    if context.following is not None:
        context.following.look_for_leader(there.people)
    return label_scene(there)


async def _reconcile_move(_: MoveArguments, context: ToolContext) -> str:
    """Tell where the character is now, when it is not known whether it walked."""
    there = show_scene(await context.world.look())
    return f"You were interrupted while walking. Now you see:\n{there.model_dump_json()}"


MOVE = Tool(
    name="move",
    description="Walk to another room through an exit.",
    arguments=MoveArguments,
    category=Category.DANGEROUS,
    execute=move,
    reconcile=_reconcile_move,
    targets=("direction",),
    reach=Reach.NOBODY,
)


class FollowArguments(Arguments):
    """Whom."""

    person: str = Field(min_length=1, max_length=100, description="name of the person to walk after")


async def follow(arguments: FollowArguments, context: ToolContext) -> str | Labelled:
    """Follow the person and confirm it.

    Raises ToolFailed for a person who is not here, for another assistant, and where following is switched off.
    """
    scene = await context.world.look()
    person = find_person(arguments.person, scene, context)
    name = one_line(person.name)
    if person.is_ai or not person.id:
        raise ToolFailed(f"You cannot follow {name}: you follow people only.", scene.min_level)
    if context.following is None or not context.following.minutes:
        raise ToolFailed(SWITCHED_OFF)
    context.following.begin(person, context.requester)
    told = f"You follow {name} from now on, until you use stay."
    return told if person.authority is None else Labelled(told, person.authority)


async def stay(_: NoArguments, context: ToolContext) -> str:
    """Stop following and confirm it."""
    if context.following is not None:
        context.following.end()
    return "You stay here, and follow nobody."


async def home(_: NoArguments, context: ToolContext) -> SceneView | Labelled:
    """Go home and return the scene there. Raises ToolFailed if the character is there already or has no home."""
    scene = await context.world.go_home()
    if context.following is not None:
        context.following.end()
    return label_scene(scene)


async def _reconcile_follow(_: FollowArguments, context: ToolContext) -> str:
    """Tell whom the character follows now."""
    leader = context.following.leader if context.following is not None else None
    return f"You were interrupted, and follow {one_line(leader.name) if leader else 'nobody'}."


async def _reconcile_stay(_: NoArguments, context: ToolContext) -> str:
    """Stay: doing that twice changes nothing."""
    return await stay(NoArguments(), context)


async def _reconcile_home(_: NoArguments, context: ToolContext) -> str:
    """Tell where the character is now."""
    there = show_scene(await context.world.look())
    return f"You were interrupted on the way home. Now you see:\n{there.model_dump_json()}"


FOLLOW = Tool(
    name="follow",
    description="Walk after a person from now on, wherever they go, until you use stay.",
    arguments=FollowArguments,
    category=Category.DANGEROUS,
    execute=follow,
    reconcile=_reconcile_follow,
    targets=("person",),
    reach=Reach.NOBODY,
)
STAY = Tool(
    name="stay",
    description="Stay where you are and follow nobody any more.",
    arguments=NoArguments,
    category=Category.DANGEROUS,
    execute=stay,
    required_permission=0,
    reconcile=_reconcile_stay,
    reach=Reach.NOBODY,
)
HOME = Tool(
    name="home",
    description="Go back to your home.",
    arguments=NoArguments,
    category=Category.DANGEROUS,
    execute=home,
    required_permission=0,
    reconcile=_reconcile_home,
    reach=Reach.NOBODY,
)
