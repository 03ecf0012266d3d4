"""Impulses: what a model may do that nobody asked for, at whose expense, and that nobody is told when it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mud_assistant.assistant.life.impulses import IMPULSE
from mud_assistant.assistant.loop.choosing import triggers_in
from mud_assistant.assistant.loop.spending import INITIATIVE_ACCOUNT, AccountKind, kind_of_account
from mud_assistant.llm.testing import Call, HttpError, RecordedRequest, Reply, Step
from tests.assistant.living import Life, living
from tests.chance import Sure

pytestmark = pytest.mark.usefixtures("reactor_baseline")
ACCOUNT = f"{INITIATIVE_ACCOUNT}Sage"


def chatty(_: RecordedRequest) -> Step:
    return Reply(calls=(Call("say", {"text": "The fire wants another log, I believe."}),))


def restless(request: RecordedRequest) -> Step:
    """Walks off at first, and says something when that is refused."""
    if request.messages[-1]["role"] == "tool":
        return chatty(request)
    return Reply(calls=(Call("move", {"direction": "south"}),))


@asynccontextmanager
async def with_impulses(script: Any, settings: dict[str, Any] | None = None, **more: Any) -> AsyncIterator[Life]:
    """A life that has looked round once, with Ann in the room, and with dice that let every impulse pass."""
    async with living(script, {"impulses": True, "hint": False, **(settings or {})}, **more) as life:
        await life.assistant.settled()
        life.pipeline.random = Sure()
        for _ in range(3):
            life.assistant.tick.wake()
            await life.assistant.settled()
        yield life


async def test_it_is_said_once_at_the_expense_of_its_own_account() -> None:
    async with with_impulses(chatty) as life:
        assert [line for line in life.witness.heard if "another log" in line] == [
            "Sage: The fire wants another log, I believe."
        ]
        assert len(life.fake.chats) == 1
        assert IMPULSE in str(life.fake.chats[0].messages)
        ledger = life.pipeline.ledger
        assert ledger is not None
        assert ledger.spent(ACCOUNT).calls == ledger.spent("assistant:1").calls == 1
        assert kind_of_account(ACCOUNT) is AccountKind.INITIATIVE
        assert [one.what for one in life.assistant.context.memory.reasons.latest if one.taken] == ["impulse"]


async def test_it_may_not_walk_whatever_is_granted() -> None:
    async with with_impulses(restless) as life:
        assert life.home.room.key == "library"
        assert len(life.fake.chats) == 2
        assert "You may not use move" in str(life.fake.chats[1].messages[-1])


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"impulses": False}, {}),
        ({}, {"model": {"asking": "plain"}}),
        ({"initiative_share": 0.0}, {"budget": {"assistant": {"calls": 50}}}),
    ],
)
async def test_there_is_none_unless_the_owner_wants_it_and_pays_for_it(
    settings: dict[str, Any], more: dict[str, Any]
) -> None:
    async with with_impulses(chatty, settings, **more) as life:
        assert life.fake.chats == []


async def test_nobody_is_told_when_it_fails_and_it_is_not_tried_again() -> None:
    async with with_impulses(lambda _: HttpError()) as life:
        assert len(life.fake.chats) == 1
        assert life.witness.heard == []
        assert triggers_in(await life.journal.pending()) == []
        assert not life.assistant.tick.paused


async def test_who_speaks_first_is_answered_first() -> None:
    async with with_impulses(chatty, {"impulses": False}) as life:
        await life.say("Sage, good evening.")
        assert len(life.fake.chats) == 1
        assert IMPULSE not in str(life.fake.chats[0].messages)
