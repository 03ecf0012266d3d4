"""The tools `take`, `drop` and `give`: things change hands by the game's own commands, with its locks and its words.

Each call becomes the line that a player would type, `get map` or `give map to Ann`, and is handled like
`execute_command`: the game says what the line is, policy decides on that, and exactly that is run. The names in the
line are those of the scene, so none of the model's words reach the game.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from pydantic import BaseModel, Field

from mud_assistant.tools.context import Requirement, ToolContext
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand, Person, Scene, Target, Thing, Written, least_trusted
from mud_assistant.tools.text.clean import clean_heard, one_line
from mud_assistant.tools.text.lenient import candidates, pick, plain
from mud_assistant.tools.tool import Arguments, Category, Labelled, Reach, Tool
from mud_assistant.tools.verbs.execute_command import MOST_TRUST


class ThingArguments(Arguments):
    """Which thing."""

    thing: str = Field(min_length=1, max_length=100, description="name of the thing")


class GiveArguments(ThingArguments):
    """What, and to whom."""

    person: str = Field(min_length=1, max_length=100, description="name of the person who gets it")


class Belongings(BaseModel):
    """What the character carries, for a model that was interrupted."""

    you_carry: list[str]


class _Handling(Struct, frozen=True):
    """The commands that a call becomes, in order, and the thing they are about."""

    thing: Thing
    commands: tuple[GameCommand, ...]

    @property
    def requirement(self) -> Requirement:
        """What the game requires for all of the commands together."""
        return Requirement(
            max(command.permission for command in self.commands),
            tuple(command.full_name for command in self.commands),
            "; ".join(command.line for command in self.commands),
            affects=self._affected if all(command.affects for command in self.commands) else None,
        )

    def _affected(self) -> tuple[Target, ...]:
        found = (command.affects() for command in self.commands if command.affects is not None)
        return tuple(dict.fromkeys(target for targets in found for target in targets))


async def _take(arguments: ThingArguments, context: ToolContext) -> _Handling:
    scene = await context.world.look()
    if not _find_meant(arguments.thing, scene.things) and (held := _find_meant(arguments.thing, scene.carried)):
        raise ToolFailed(f"You carry the {one_line(held[0].name)} already.", held[0].authority)
    thing = await _find(arguments.thing, scene.things, context, verb="get", what="Things here")
    return _Handling(thing, (await context.world.resolve(f"get {one_line(thing.name)}"),))


async def _drop(arguments: ThingArguments, context: ToolContext) -> _Handling:
    scene = await context.world.look()
    thing = await _find(arguments.thing, scene.carried, context, verb="drop", what="You carry")
    return _Handling(thing, (await context.world.resolve(f"drop {one_line(thing.name)}"),))


async def _give(arguments: GiveArguments, context: ToolContext) -> _Handling:
    """Prepare to give what is carried; a thing that only lies in the room is taken first."""
    scene = await context.world.look()
    person = find_person(arguments.person, scene, context)
    things = (*scene.carried, *scene.things)
    thing = await _find(arguments.thing, things, context, verb="get", what="Here are")
    giving = await context.world.resolve(f"give {one_line(thing.name)} to {one_line(person.name)}")
    _check_receiver(giving, person, scene)
    if thing in scene.carried:
        return _Handling(thing, (giving,))
    return _Handling(thing, (await context.world.resolve(f"get {one_line(thing.name)}"), giving))


def _check_receiver(giving: GameCommand, person: Person, scene: Scene) -> None:
    """Raise ToolFailed when the game itself would give it to somebody else than this person."""
    same = [one for one in scene.people if plain(one.name) == plain(person.name)]
    there = {person.id} if giving.people is None or not person.id else giving.people()
    if len(same) > 1 or person.id not in there:
        raise ToolFailed(f"The game cannot tell who of those here is {one_line(person.name)}.", least_trusted(same))


async def take(arguments: ThingArguments, context: ToolContext) -> Labelled:
    """Take the thing and return what the game printed. Raises ToolFailed when the character does not have it then."""
    return await _carry_out(await _take(arguments, context), context)


async def drop(arguments: ThingArguments, context: ToolContext) -> Labelled:
    """Drop the thing and return what the game printed. Raises ToolFailed when the character still has it."""
    return await _carry_out(await _drop(arguments, context), context)


async def give(arguments: GiveArguments, context: ToolContext) -> Labelled:
    """Give the thing and return what the game printed. Raises ToolFailed when the person did not get it."""
    return await _carry_out(await _give(arguments, context), context)


async def _take_needs(arguments: ThingArguments, context: ToolContext) -> Requirement:
    return (await _take(arguments, context)).requirement


async def _drop_needs(arguments: ThingArguments, context: ToolContext) -> Requirement:
    return (await _drop(arguments, context)).requirement


async def _give_needs(arguments: GiveArguments, context: ToolContext) -> Requirement:
    return (await _give(arguments, context)).requirement


async def _reconcile(_: ThingArguments, context: ToolContext) -> str:
    """Tell what the character carries, when it is not known whether the thing changed hands."""
    scene = await context.world.look()
    has = Belongings(you_carry=[one_line(thing.name) for thing in scene.carried])
    return f"You were interrupted. Now this is what you have:\n{has.model_dump_json()}"


async def _carry_out(handling: _Handling, context: ToolContext) -> Labelled:
    """Run the commands in order. Raises ToolFailed when the first changes nothing; a later failure is only told."""
    now, allowed = handling.requirement, context.allowed
    if allowed is None or (allowed.commands, allowed.shown) != (now.commands, now.shown):
        raise ToolFailed("This means something else now. It was not done.")
    if now.permission > allowed.permission:
        raise ToolFailed("This needs more permission now. It was not done.")
    told: list[str] = []
    level = MOST_TRUST
    for command in handling.commands:
        before = _whereabouts(handling.thing, await context.world.look())
        try:
            printed = await context.world.execute(command)
        except ToolFailed as failed:
            if not told:
                raise
            printed = Written(str(failed), MOST_TRUST if failed.authority is None else failed.authority)
        level = min(level, printed.authority if isinstance(printed, Written) else level)
        is_done = _whereabouts(handling.thing, await context.world.look()) != before
        sentence = clean_heard(printed, keep_newlines=True) or ("Done." if is_done else "The game does not let you.")
        if not is_done and not told:
            raise ToolFailed(sentence, level)
        told.append(sentence)
    return Labelled("\n".join(told), level)


def _whereabouts(thing: Thing, scene: Scene) -> tuple[int, int]:
    """Count the things of this name that lie in the room and those that the character carries."""
    here, carried = ([one.name for one in group].count(thing.name) for group in (scene.things, scene.carried))
    return here, carried


async def _find(wanted: str, things: Sequence[Thing], context: ToolContext, *, verb: str, what: str) -> Thing:
    """Find the thing meant, by its name or by another the game knows. Raises ToolFailed that says what there is."""
    meant = _find_meant(wanted, things) or await _by_another_name(wanted, things, verb, context)
    if meant and len({one.name for one in meant}) == 1:
        return meant[0]
    try:
        return things[pick(wanted, [one_line(thing.name) for thing in things], what=what)]
    except ToolFailed as failed:
        failed.authority = least_trusted(things)  # it names all of them, and nothing else
        raise


def _find_meant(wanted: str, things: Sequence[Thing]) -> list[Thing]:
    return [things[at] for at in candidates(wanted, [thing.name for thing in things])]


async def _by_another_name(wanted: str, things: Sequence[Thing], verb: str, context: ToolContext) -> list[Thing]:
    """List the things that the game itself takes this name for, such as by an alias."""
    name = one_line(wanted)
    if not name or not things:
        return []
    try:
        command = await context.world.resolve(f"{verb} {name}")
    except ToolFailed:
        return []  # the caller's sentence that says what there is helps more
    found = {target.id for target in command.affects()} if command.affects else set()
    return [thing for thing in things if thing.id and thing.id in found]


def find_person(wanted: str, scene: Scene, context: ToolContext) -> Person:
    """Find the person meant. Raises ToolFailed that says who is here, and when one who asked is meant and has left."""
    if not scene.people:
        raise ToolFailed("Nobody else is here.")
    here = {person.id for person in scene.people}
    gone = [one_line(who.name) for who in context.people if here.isdisjoint({"", who.id})]
    names = _names(scene.people)
    if (found := candidates(wanted, [*gone, *names])) and found[0] < len(gone):
        sentence = f"{gone[found[0]]} is not here any more. Here are: {', '.join(names)}."
        raise ToolFailed(sentence, least_trusted(scene.people))
    try:
        return scene.people[pick(wanted, names, what="Here are")]
    except ToolFailed as failed:
        failed.authority = least_trusted(scene.people)
        raise


def _names(people: Iterable[Person]) -> list[str]:
    return [one_line(person.name) for person in people]


TAKE = Tool(
    name="take",
    description="Take a thing that lies in the room.",
    arguments=ThingArguments,
    category=Category.DANGEROUS,
    execute=take,
    resolve=_take_needs,
    reconcile=_reconcile,
    targets=("thing",),
    reach=Reach.NOBODY,
)
DROP = Tool(
    name="drop",
    description="Put down a thing that you carry.",
    arguments=ThingArguments,
    category=Category.DANGEROUS,
    execute=drop,
    resolve=_drop_needs,
    reconcile=_reconcile,
    targets=("thing",),
    reach=Reach.NOBODY,
)
GIVE = Tool(
    name="give",
    description="Give a thing that you carry, or that lies in the room, to a person in the room.",
    arguments=GiveArguments,
    category=Category.DANGEROUS,
    execute=give,
    resolve=_give_needs,
    reconcile=_reconcile,
    targets=("thing", "person"),
    reach=Reach.NOBODY,
)
