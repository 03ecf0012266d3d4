"""What several commands of an owner have to do with each other: leave that was given, keys, and who is forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.service.host import Embodiment
from mud_assistant.assistant.service.operations.operators import InvalidInput
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.llm.messages import ToolCall
from mud_assistant.llm.testing import Call, FakeOllama, Reply, serve
from mud_assistant.tools import Approvals, Kind, Principal, Requirement, Target
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.service.lived_service import bell, decides
from tests.assistant.service.village import Village, village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
MIRA = Principal("assistant:2", "Mira", Kind.ASSISTANT)
BELL = ToolCall("1", "ring", {"number": "1"})
HERE = Requirement(3, covers=(Target("library", "The Old Library"),))
KEY = "env:MY_KEY"


def asks(url: str, name: str = "Sage", **model: Any) -> dict[str, Any]:
    asked = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False, **model}
    return {"model": asked, "assistant": {"name": name, "join_seconds": 0, "greet_hours": 0}}


def fake() -> FakeOllama:
    return FakeOllama(reactor, lambda _: Reply(calls=(Call("say", {"text": "Hush."}),)))


def sage_with_bell(home: Village, url: str, rung: list[int]) -> AssistantRunner:
    """Return the runner of Sage, who may ring the bell with leave."""
    place = Embodiment(SAGE, home.home, tools=(bell(rung.append),))
    tables = asks(url)
    return home.service.start(place, merged({**tables, "assistant": {**tables["assistant"], "tools": ["say", "ring"]}}))


def mira(home: Village, url: str, **model: Any) -> AssistantRunner:
    """Return the runner of Mira, who lives in the same game."""
    previous = home.service.runners.get(MIRA.id)
    place = Embodiment(MIRA, home.world.add(MIRA)) if previous is None else previous.embodiment
    return home.service.start(place, merged(asks(url, "Mira", **model)))


def wishes(runner: AssistantRunner, requester: Principal | None) -> tuple[Approvals, int]:
    """Return what waits for leave, and the number of the bell that this player wants, or Sage herself."""
    assert runner.assistant is not None
    approvals = runner.assistant.context.tools.approvals
    return approvals, approvals.request(BELL, HERE, requester).number


async def test_an_emergency_stop_ends_what_may_be_done_for_an_hour(tmp_path: Path) -> None:
    async with serve(fake(), reactor) as url, village(tmp_path) as home:
        rung: list[int] = []
        sage = sage_with_bell(home, url, rung)
        await sage.settled()
        approvals, number = wishes(sage, ANN)
        assert sage.assistant is not None
        assert "for the next" in decides(sage.assistant, number, allow=True, for_an_hour=True)
        await sage.settled()
        assert rung == [1]
        await sage_with_bell(home, url, rung).settled()  # a restart leaves it
        assert approvals.use(BELL, HERE, ANN)
        home.service.halt(SAGE.id)
        assert not approvals.use(BELL, HERE, ANN)


async def test_what_nobody_asked_for_is_allowed_once_and_not_for_an_hour(tmp_path: Path) -> None:
    async with serve(fake(), reactor) as url, village(tmp_path) as home:
        rung: list[int] = []
        sage = sage_with_bell(home, url, rung)
        await sage.settled()
        approvals, number = wishes(sage, None)
        assert sage.assistant is not None
        with pytest.raises(InvalidInput, match="only once"):
            decides(sage.assistant, number, allow=True, for_an_hour=True)
        assert [one.number for one in approvals.pending()] == [number]
        assert "this once" in decides(sage.assistant, number, allow=True)
        await sage.settled()
        assert rung == [1]


async def test_who_waits_for_leave_is_told_when_the_process_ends(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    async with serve(fake(), reactor) as url:
        async with village(tmp_path) as home:
            place = Embodiment(SAGE, home.home, notify=lambda who, sentence: told.append((who.id, sentence)))
            sage = home.service.start(place, merged(asks(url)))
            await sage.settled()
            wishes(sage, ANN)
            assert told == []
            home.service.config.secrets.add("a-planted-key-123456")
            assert sage.assistant is not None
            sage.assistant.context.body.notify(ANN, "It is a-planted-key-123456.")
            assert told.pop() == (ANN.id, "It is [key].")
        [(who, sentence)] = told
        assert who == ANN.id
        assert "restarts before Sage was given leave" in sentence


async def test_what_was_spent_until_the_process_ended_is_known_to_the_next_one(tmp_path: Path) -> None:
    async with serve(fake(), reactor) as url:
        async with village(tmp_path) as home:
            sage = home.start(asks(url))
            await sage.settled()
            home.says(sage, "Sage, hello")
            await sage.settled()
        async with village(tmp_path) as home:
            [row] = [row for row in await home.service.usage(7) if row.account == SAGE.id]
            assert row.calls == 1


async def test_a_key_that_two_use_goes_on_to_the_server_of_the_other_when_one_moves(tmp_path: Path) -> None:
    environment = {"MY_KEY": "a-planted-key-123456"}
    async with (
        serve(fake(), reactor) as url,
        serve(fake(), reactor) as elsewhere,
        village(tmp_path, environment=environment) as home,
    ):
        for runner in (home.start(asks(url, key=KEY)), mira(home, url, key=KEY)):
            await runner.settled()
        await home.start(asks(elsewhere, key=KEY), entered=KEY).settled()
        other = mira(home, url, key=KEY)
        await other.first_attempt()
        assert other.state is RunnerState.AWAKE


async def test_the_others_forget_what_one_said_that_is_deleted_and_it_forgets_by_itself(tmp_path: Path) -> None:
    async with serve(fake(), reactor) as url, village(tmp_path) as home:
        sage, other = home.start(asks(url)), mira(home, url)
        for runner in (sage, other):
            await runner.settled()
            home.says(runner, "Sage, the treasure lies below the xylophone.")
            await runner.settled()
        assert sage.assistant is not None
        assert other.assistant is not None
        assert await sage.assistant.rights.knows(ANN)
        assert await other.assistant.rights.knows(ANN)
        await home.service.forget_words(Principal(SAGE.id, "Sage"))
        assert await other.assistant.rights.knows(ANN)
        await home.service.forget_words(ANN)
        assert not await sage.assistant.rights.knows(ANN)
        assert not await other.assistant.rights.knows(ANN)
