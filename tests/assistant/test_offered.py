"""Which tools a model is offered: those that can matter to its character in its world, the same at every line."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mud_assistant.assistant.worlds.embedded.hamlet import HAMLET, LIBRARY, Place
from mud_assistant.llm.testing import Call, Reply
from mud_assistant.tools import Registry, Scene
from mud_assistant.tools.game import tools_without_use
from mud_assistant.tools.testing import RecordingWorld
from mud_assistant.tools.verbs import ACCOUNT_TOOLS, ALL_WORLD_TOOLS, WORLD_TOOLS
from tests.assistant.living import Life, living

pytestmark = pytest.mark.usefixtures("reactor_baseline")

HELLO = Reply(calls=(Call("say", {"text": "Good day to you."}),))
CELL = Place((replace(LIBRARY, exits=(), things=LIBRARY.things[1:2]),))
WALKS, HANDLES = {"move", "follow", "stay", "home"}, {"take", "drop", "give"}


def offered(life: Life, at: int = 0) -> set[str]:
    """The tools of a request, as it came over the wire."""
    body: Any = life.fake.chats[at].body
    return {tool["function"]["name"] for tool in body["tools"]}


@pytest.mark.parametrize(
    ("settings", "place", "missing"),
    [
        ({}, HAMLET, set()),
        ({"follow_minutes": 0}, HAMLET, {"follow", "stay"}),
        ({}, CELL, WALKS | HANDLES),
    ],
)
async def test_tools_that_can_do_nothing_are_not_offered(
    settings: dict[str, Any], place: Place, missing: set[str]
) -> None:
    async with living([HELLO], settings, place=place) as life:
        await life.say("Sage, hello")
        assert {tool.name for tool in WORLD_TOOLS} - offered(life) == missing
        assert missing <= life.assistant.context.rules.grant  # what is granted is for the owner to say


@pytest.mark.parametrize(
    ("provider", "examples", "looks"),
    [("openai", None, False), ("openai", True, True), ("ollama", None, True), ("ollama", False, False)],
)
async def test_who_needs_no_hints_is_not_offered_a_look_at_what_it_is_shown(
    provider: str, *, examples: bool | None, looks: bool
) -> None:
    async with living([HELLO], model={"examples": examples}, provider=provider) as life:
        await life.say("Sage, hello")
        assert ("look" in offered(life)) is looks
        assert ("Which call answers what" in str(life.fake.chats[0].messages[0])) is looks


async def test_what_the_owner_lists_is_offered() -> None:
    wanted = ("say", "look", "follow", "take")
    async with living([HELLO], {"tools": wanted, "follow_minutes": 0}, provider="openai", place=CELL) as life:
        await life.say("Sage, hello")
        assert offered(life) == set(wanted)


async def test_the_tools_are_the_same_bytes_at_every_line() -> None:
    registry, hours = Registry([*ALL_WORLD_TOOLS, *ACCOUNT_TOOLS]), [8.0]
    async with living(
        [HELLO], {"may_repeat": True}, provider="openai", registry=registry, hour=lambda: hours[-1]
    ) as life:
        for number in range(4):
            await life.say(f"Sage, hello for time {number}")
            hours.append(hours[-1] + 5)
            await life.ann.execute(
                await life.ann.resolve("get old map" if number == 0 else "drop old map" if number == 1 else "shout so")
            )
            await life.assistant.settled()
        assert len({str(request.body["tools"]) for request in life.fake.chats}) == 1
        assert len({str(request.messages[0]) for request in life.fake.chats}) == 1


def test_a_world_need_not_know_which_tools_are_of_use() -> None:
    assert tools_without_use(RecordingWorld(Scene("A room", "Bare."))) == frozenset()
