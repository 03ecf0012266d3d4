"""The commands of the embedded game, as a table: `resolve` finds the command of a line, `run` runs it.

The game checks no permissions. The policy (`tools/policy/decide.py`) must refuse what may not happen before it comes
here, and the tests rely on the policy being the only check.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from mud_assistant.assistant.worlds.embedded.game import Occupant
from mud_assistant.assistant.worlds.embedded.hamlet import level_of_body
from mud_assistant.tools.errors import ToolFailed
from mud_assistant.tools.game import GameCommand, Target, Thing
from mud_assistant.tools.text.clean import one_line
from mud_assistant.tools.text.lenient import candidates, pick


class Command(Struct, frozen=True):
    """One command. `run(body, text, switches)` gets the text after the name and returns what the game prints.

    `finds(body, text)` returns what the command would act on just now.
    """

    name: str
    permission: int
    run: Callable[[Occupant, str, frozenset[str]], str]
    aliases: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    finds: Callable[[Occupant, str], list[Target]] = lambda _, __: []


def resolve(line: str) -> GameCommand:
    """Return the command that `line` means, with an alias replaced by its name. Raises ToolFailed for none."""
    typed, _, text = line.strip().partition(" ")
    word, *switches = typed.casefold().lstrip("@+").split("/")
    command = _BY_WORD.get(word)
    if command is None:
        raise ToolFailed(f"There is no command '{one_line(word, max_chars=40)}'. Commands: {', '.join(COMMANDS)}.")
    unknown = [switch for switch in switches if switch not in command.switches]
    if unknown:
        raise ToolFailed(f"{command.name} has no switch '{one_line(unknown[0], max_chars=40)}'.")
    whole = " ".join(filter(None, ("/".join((command.name, *switches)), text.strip())))
    return GameCommand(whole, command.name, tuple(switches), command.permission)


def find_targets(body: Occupant, command: GameCommand) -> tuple[Target, ...]:
    """List the body's room, then all the command would act on at this moment: everything its words may mean."""
    text = command.line.partition(" ")[2]
    return (Target(body.room.key, body.room.name), *COMMANDS[command.name].finds(body, text))


def find_people(body: Occupant, command: GameCommand) -> frozenset[str]:
    """Return the ids of the people whom the command would act on at this moment."""
    bodies = {one.principal.id for one in body.world.bodies}
    people = bodies | {one.principal.id for one in body.world.residents}
    return frozenset(people.intersection(target.id for target in find_targets(body, command)))


def run(body: Occupant, command: GameCommand) -> str:
    """Run the command for `body`, and return what the game prints."""
    text = command.line.partition(" ")[2]
    return COMMANDS[command.name].run(body, text, frozenset(command.switches))


def _get(body: Occupant, text: str, _: frozenset[str]) -> str:
    here = body.world.things[body.room.key]
    for at in candidates(text, [thing.name for thing in here]):
        if here[at].name in body.room.fixed:
            raise ToolFailed(f"The {here[at].name} cannot be taken.")
    thing = _take(here, text, "You see")
    body.carried.append(thing)
    body.show(f"takes the {thing.name}.")
    return f"You take the {thing.name}."


def _drop(body: Occupant, text: str, _: frozenset[str]) -> str:
    thing = _take(body.carried, text, "You carry")
    body.world.things[body.room.key].append(thing)
    body.show(f"drops the {thing.name}.")
    return f"You drop the {thing.name}."


def _give(body: Occupant, text: str, _: frozenset[str]) -> str:
    what, whom = _two(text, "give THING to PERSON")
    receiver = body.other(whom)
    thing = _take(body.carried, what, "You carry")
    body.world.carried[receiver.id].append(thing)
    getting = [other for other in body.world.bodies_with(body) if other.principal is receiver]
    others = [other for other in body.world.bodies_with(body) if other.principal is not receiver]
    body.world.tell(
        others, lambda listener: listener.saw_emote(body.principal, f"gives the {thing.name} to {receiver.name}.")
    )
    body.world.tell(getting, lambda listener: listener.was_given(body.principal, thing.name, thing.authority))
    return f"You give the {thing.name} to {receiver.name}."


def _put(body: Occupant, text: str, switches: frozenset[str]) -> str:
    found = _PUT.fullmatch(text)
    if found is None:
        return _drop(body, text, switches)
    here = body.world.things[body.room.key]
    place = here[pick(found["where"], [thing.name for thing in here], what="You see")]
    if found["how"] in _INSIDE and _is_locked(place):
        raise ToolFailed(f"The {place.name} is locked.")
    thing = _take(body.carried, found["what"], "You carry")
    here.append(thing)
    body.show(f"puts the {thing.name} {found['how']} the {place.name}.")
    return f"You put the {thing.name} {found['how']} the {place.name}."


def _handle(verb: str, does: str, nouns: str, cannot: str) -> Callable[[Occupant, str, frozenset[str]], str]:
    """Make a command that everybody sees and that changes nothing: only for things called by one of these nouns."""

    def run_it(body: Occupant, text: str, _: frozenset[str]) -> str:
        there = [*body.world.things[body.room.key], *body.carried]
        whole = candidates(text, [thing.name for thing in there])
        name = text if whole else re.split(r" (?:in|into|on|with) ", text)[0]
        thing = there[pick(name, [thing.name for thing in there], what="You see")]
        if not set(thing.name.casefold().split()) & set(nouns.split()):
            raise ToolFailed(f"The {thing.name} {cannot}.")
        if verb == "open" and _is_locked(thing):
            raise ToolFailed(f"The {thing.name} is locked.")
        body.show(f"{does} the {thing.name}.")
        return f"You {verb} the {thing.name}."

    return run_it


def _is_locked(thing: Thing) -> bool:
    return re.search(r"\blocked\b", f"{thing.name} {thing.description}", re.IGNORECASE) is not None


def _shout(body: Occupant, text: str, _: frozenset[str]) -> str:
    if not text:
        raise ToolFailed("Use: shout TEXT")
    others = [other for other in body.world.bodies if other is not body]
    body.world.tell(others, lambda listener: listener.heard_say(body.principal, text, None))
    return "You shout it. Everybody in the game hears you."


def _create(body: Occupant, text: str, _: frozenset[str]) -> str:
    if not text:
        raise ToolFailed("Use: create THING")
    made_by = level_of_body(body.principal, by_owner=False)
    thing = Thing(one_line(text, max_chars=40), "It was made a moment ago.", made_by)
    body.world.things[body.room.key].append(thing)
    body.show(f"makes a {thing.name} out of nothing.")
    return f"You make a {thing.name}."


def _destroy(body: Occupant, text: str, _: frozenset[str]) -> str:
    thing = _take(body.world.things[body.room.key], text, "You see")
    body.show(f"destroys the {thing.name}.")
    return f"You destroy the {thing.name}."


def _teleport(body: Occupant, text: str, switches: frozenset[str]) -> str:
    who, where = _two(text, "teleport PERSON to ROOM")
    bodies, rooms = body.world.bodies, list(body.world.rooms.values())
    moved = bodies[pick(who, [other.principal.name for other in bodies], what="In the game are")]
    room = rooms[pick(where, [room.name for room in rooms], what="Rooms")]
    body.world.carry_off(moved, room, quiet="quiet" in switches)
    return f"{moved.principal.name} is in {room.name} now."


def _ban(body: Occupant, text: str, _: frozenset[str]) -> str:
    bodies = body.world.bodies
    banned = bodies[pick(text, [other.principal.name for other in bodies], what="In the game are")]
    body.world.remove(banned)
    return f"{banned.principal.name} is out of the game."


def _would(what: str) -> Callable[[Occupant, str, frozenset[str]], str]:
    """Make a command that is there only to be refused: it never does what it says."""
    return lambda _, text, __: f"In a real game this would {what}: {text or 'nothing'}"


def _things_here(body: Occupant, text: str) -> list[Target]:
    things = body.world.things[body.room.key]
    fitting = candidates(text, [thing.name for thing in things])
    return [body.world.identities.target(things[at], body.room.key) for at in fitting]


def _things_carried(body: Occupant, text: str) -> list[Target]:
    fitting = candidates(text, [thing.name for thing in body.carried])
    return [body.world.identities.target(body.carried[at], body.principal.id) for at in fitting]


def _find_put(body: Occupant, text: str) -> list[Target]:
    found = _PUT.fullmatch(text)
    return _things_carried(body, text) if found is None else _things_carried(body, found["what"])


def _find_handled(body: Occupant, text: str) -> list[Target]:
    return [*_things_here(body, text), *_things_carried(body, text)]


def _find_given(body: Occupant, text: str) -> list[Target]:
    what, _, whom = text.rpartition(" to ")
    bodies, residents = body.world.bodies_with(body), body.world.residents_in(body.room)
    others = [other.principal for other in bodies] + [other.principal for other in residents]
    fitting = candidates(whom, [other.name for other in others])
    receivers = [Target(others[at].id, others[at].name, body.room.key) for at in fitting]
    return [*_things_carried(body, what), *receivers]


def _players(body: Occupant, text: str) -> list[Target]:
    bodies = body.world.bodies
    fitting = candidates(text, [other.principal.name for other in bodies])
    return [Target(bodies[at].principal.id, bodies[at].principal.name, bodies[at].room.key) for at in fitting]


def _find_teleported(body: Occupant, text: str) -> list[Target]:
    who, _, where = text.rpartition(" to ")
    rooms = list(body.world.rooms.values())
    fitting = candidates(where, [room.name for room in rooms])
    return [*_players(body, who), *(Target(rooms[at].key, rooms[at].name) for at in fitting)]


def _take(things: list[Thing], name: str, what: str) -> Thing:
    """Take the thing that is meant out of `things`. Raises ToolFailed that lists them."""
    return things.pop(pick(name, [thing.name for thing in things], what=what))


def _two(text: str, use: str) -> tuple[str, str]:
    """Split at the last ' to '. Raises ToolFailed that says how to use the command."""
    first, to, second = text.rpartition(" to ")
    if not (to and first.strip() and second.strip()):
        raise ToolFailed(f"Use: {use}")
    return first, second


#: Nouns of things that can be opened and closed, lit, and poured from.
_OPENED = "box book cabinet casket chest cupboard door drawer gate hatch shutter shutters strongbox trunk window"
_LIT = "candle fire fireplace hearth lamp lantern oven pipe stove torch"
_POURED = "bottle bucket cask flask jug kettle pitcher pot samovar teapot"
_INSIDE = frozenset({"in", "into"})
_PUT = re.compile(r"(?P<what>.+) (?P<how>in|into|on|onto) (?P<where>.+)")
#: All commands, by name.
COMMANDS = {
    command.name: command
    for command in (
        Command("get", 1, _get, ("take", "grab"), finds=_things_here),
        Command("drop", 1, _drop, finds=_things_carried),
        Command("give", 1, _give, ("hand",), finds=_find_given),
        Command("put", 1, _put, ("place",), finds=_find_put),
        Command("open", 1, _handle("open", "opens", _OPENED, "cannot be opened"), finds=_find_handled),
        Command("close", 1, _handle("close", "closes", _OPENED, "cannot be closed"), ("shut",), finds=_find_handled),
        Command("light", 1, _handle("light", "lights", _LIT, "cannot be lit"), finds=_find_handled),
        Command("pour", 1, _handle("pour from", "pours from", _POURED, "holds nothing to pour"), finds=_find_handled),
        Command("shout", 1, _shout, ("yell",)),
        Command("create", 3, _create, ("make",)),
        Command("destroy", 3, _destroy, ("delete", "del"), finds=_things_here),
        Command("teleport", 3, _teleport, ("tel", "tp"), ("quiet",), finds=_find_teleported),
        Command("ban", 4, _ban, finds=_players),
        Command("py", 5, _would("run code"), ("python", "!"), ("noecho",)),
        Command("quell", 1, _would("change your permissions"), ("unquell",)),
        Command("nick", 1, _would("rewrite your later commands"), ("nickname", "nicks")),
    )
}
_BY_WORD = {word: command for command in COMMANDS.values() for word in (command.name, *command.aliases)}
