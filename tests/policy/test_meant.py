"""A name is no proof of who somebody is: what is said in private reaches who asked, and never who is only called so.

The model sends its secret by every private way to every form of the asker's name, while people with names like it stand
by, and some leave between the question and the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.worlds.embedded.world import EmbeddedWorld
from mud_assistant.llm.testing import Brain, Call, RecordedRequest, Reply, Step
from mud_assistant.tools import Principal
from mud_assistant.tools.execution.dispatch import Dispatcher
from mud_assistant.tools.game import World
from mud_assistant.tools.policy.config import PolicyConfig
from mud_assistant.tools.result import Executed
from mud_assistant.tools.testing import now, tool_call, tool_context
from mud_assistant.tools.tool import Registry
from mud_assistant.tools.trust import ContextTrust
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS
from tests.effort import times
from tests.policy.stage import SAGE, Stage, stage

SECRET = "zqkelpie"
HISTORIES = int(os.environ.get("MUD_MEANT_HISTORIES", str(times(20))))
NAMES = ("Ann", "Anna", "The Ann", "ANN", "Ann.", "An", "Ann Marie", "Marie Ann")
ROOMY: dict[str, Any] = {"max_spoken": 20, "max_calls": 60}


def forms(name: str) -> list[str]:
    """What a model may make of a name."""
    return list(dict.fromkeys((name, f"The {name}", name.upper(), f"{name}.", name.split(maxsplit=1)[0], name[:2])))


def telling(name: str, meanwhile: Callable[[], object]) -> Brain:
    """A model that tells its secret to whoever has the name, after `meanwhile`."""
    calls = [Call(verb, {"target": form, "text": SECRET}) for form in forms(name) for verb in ("whisper", "page")]

    def brain(request: RecordedRequest) -> Step:
        if request.messages[-1]["role"] == "tool":
            return Reply("Well.")
        meanwhile()
        return Reply(calls=tuple(calls))

    return brain


def reached(at: Stage) -> set[str]:
    """The ids of those who heard the secret from the assistant."""
    lines = ((who, line) for who, witness in at.listener.items() for line in witness.heard)
    return {who for who, line in lines if SECRET in line and line.startswith("Sage")}


async def play(chance: Random, how: str) -> tuple[set[str], str, bool]:
    """One history. Who heard it, who asked, and whether they could be reached."""
    names = chance.choices(NAMES, k=chance.randint(2, 4))
    people = tuple(Principal(f"player:m{number}", name) for number, name in enumerate(names))
    asker, *others = chance.sample(people, len(people))
    leavers = [who for who in (asker, *others) if chance.random() < 0.5]
    acts: list[Callable[[], object]] = []
    async with stage(telling(asker.name, lambda: [act() for act in acts]), more=people, **ROOMY) as at:
        for who in leavers:
            goes = (
                at.world.remove if chance.random() < 0.5 else partial(at.world.carry_off, room=at.world.rooms["square"])
            )
            acts.append(partial(goes, at.people[who.id]))
        words = f"my secret is {SECRET}, tell it to me again"
        await getattr(at.people[asker.id], how)("Sage", words)
        await at.settled()
        return reached(at), asker.id, at.people[asker.id] in at.world.bodies


@pytest.mark.parametrize("how", ["whisper", "page"])
async def test_who_is_only_called_so_hears_no_private_word(how: str) -> None:
    asked = told = 0
    for number in range(HISTORIES):
        heard, asker, is_reachable = await play(Random(f"{how}.{number}"), how)  # noqa: S311
        assert heard <= {asker}, f"history {number}"
        asked += is_reachable
        told += is_reachable and asker in heard
    assert asked > HISTORIES / 3
    assert told >= 0.97 * asked, "those who are there are still answered"


def spoken(world: World, call: Any, trust: ContextTrust, *, people: Sequence[Principal]) -> Executed:
    """One call of a run that these people woke."""
    from dataclasses import replace  # noqa: PLC0415

    tools = (*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS)
    dispatcher = Dispatcher(Registry(tools), PolicyConfig(frozenset(tool.name for tool in tools)), Clock(), trust=trust)
    context = replace(tool_context(world, requester=people[0]), actor=SAGE, askers=tuple(people), trust=trust)
    (executed,) = now(dispatcher.answer_all([call], context))
    return executed


ANN, ANNA, OTHER_ANN = (Principal(f"player:{number}", name) for number, name in enumerate(("Ann", "Anna", "Ann")))


@pytest.mark.parametrize(("asker", "there", "wanted"), [
    (ANN, ANNA, "Ann"), (ANN, OTHER_ANN, "Ann"), (ANN, ANNA, "the ann"), (ANNA, ANN, "Anna"), (ANN, ANNA, "An"),
])  # fmt: skip
@pytest.mark.parametrize("private", [True, False])
def test_a_gift_for_who_has_left_goes_to_nobody_else(
    asker: Principal, there: Principal, wanted: str, *, private: bool
) -> None:
    world = EmbeddedWorld()
    body = world.add(SAGE)
    world.add(there)
    thing = world.things[body.room.key][0]
    body.carried.append(thing)
    trust = ContextTrust(audience=frozenset({asker.id}) if private else None)
    given = spoken(body, tool_call("give", thing=thing.name, person=wanted), trust, people=[asker])
    assert "is not here any more" in given.result.text
    assert body.carried == [thing]


def test_a_gift_goes_to_nobody_where_two_have_the_name() -> None:
    world = EmbeddedWorld()
    body = world.add(SAGE)
    world.add(ANN)
    world.add(OTHER_ANN)
    thing = world.things[body.room.key][0]
    body.carried.append(thing)
    given = spoken(body, tool_call("give", thing=thing.name, person="Ann"), ContextTrust(), people=[ANN])
    assert given.result.failed
    assert body.carried == [thing]
