"""Five hundred promises whose askers lose their rank, mute, are forgotten, stay away or leave: what is still done."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.living_town import HOUR, Inhabitant, Town, many_rooms
from benchmarks.month_scenes import MINUTE, ROOMS, Watcher
from mud_assistant.assistant.characters import Character
from mud_assistant.assistant.events.goal import Goal, GoalKind
from mud_assistant.tools import Principal

GOALS, A_CHARACTER = 500, 5
FATES = ("kept", "falls", "mutes", "forgotten", "gone", "away")
#: What a gesture needs here, and the rank of those who ask for one.
NEEDED = 3


async def fated(reactor: Any, folder: Path) -> dict[str, int]:
    """Have 500 promised gestures become due after something happened to who asked for them; count what is done."""
    dice = Random(4)  # noqa: S311
    town = Town(reactor, many_rooms(ROOMS, dice), journal=folder / "goals.sqlite")
    await town.open()
    ears = Watcher()
    settings = {"permission": NEEDED, "world_text_permission": NEEDED, "required_permission": {"emote": NEEDED}}
    fates = {number: FATES[number % len(FATES)] for number in range(GOALS)}
    for at in range(GOALS // A_CHARACTER):
        one = await town.settle(f"No{at}", f"room{at % ROOMS}", Character(""), **settings)
        await _promise(town, one, range(at * A_CHARACTER, (at + 1) * A_CHARACTER), ears)
    for room in town.world.rooms:
        town.player(Principal(f"player:ear{room}", f"Ear{room}"), room, ears)
    for number, fate in fates.items():
        await _befall(town, number, fate)
    await town.until(town.clock.seconds() + 1.2 * HOUR)
    town.clock.advance(15 * 24 * HOUR)  # at one leap: nobody is there, and nothing is due
    await town.until(town.clock.seconds() + HOUR / 4)
    shown = {int(text.split()[-1].rstrip(".")) for _, text in ears.seen if text.startswith("waves flag")}
    done = Counter(fates[number] for number in shown)
    await town.close()
    return {**{fate: done[fate] for fate in FATES}, "asked": sum(fate == "kept" for fate in fates.values())}


def _asker(number: int, permission: int = NEEDED) -> Principal:
    return Principal(f"player:{number}", f"Asker{number}", permission=permission)


async def _promise(town: Town, one: Inhabitant, numbers: range, ears: Watcher) -> None:
    """Let a character have promised one gesture to each of these askers."""
    now, goals = town.clock.seconds(), []
    for number in numbers:
        fate = FATES[number % len(FATES)]
        due = now + (15 * 24 * HOUR if fate == "away" else HOUR)
        goals.append(
            Goal(f"g{number}", GoalKind.CHORE, f"wave flag {number}", _asker(number), now, NEEDED,
                 what=f"waves flag {number}.", due=due)
        )  # fmt: skip
        town.player(_asker(number), one.body.room.key, ears)
    await one.journal.save_goals(goals)
    one.alive.context.memory.goals.put(goals)
    await town.until(now + MINUTE / 60)


async def _befall(town: Town, number: int, fate: str) -> None:
    """Let something happen to an asker."""
    one = town.people[f"No{number // A_CHARACTER}"]
    body = next(body for body in town.world.bodies if body.principal.id == _asker(number).id)
    match fate:
        case "falls":
            room = body.room.key
            town.world.remove(body)
            town.player(_asker(number, 0), room, Watcher())
        case "mutes":
            await one.alive.mute(_asker(number))
        case "forgotten":
            await one.alive.forget(_asker(number))
        case "gone":
            town.world.remove(body)
            town.world.departed.pop(_asker(number).id, None)
        case "away":
            town.world.remove(body)
        case _:
            return
