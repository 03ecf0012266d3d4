"""A service of one assistant in the embedded world, in memory: what a trial is, without its terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mud_assistant.assistant.config.options import merged
from mud_assistant.assistant.config.settings import SettingsError
from mud_assistant.assistant.errors import NoModelError
from mud_assistant.assistant.events.outcome import Failed, LimitReached
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.runtime.listener import BodyListener
from mud_assistant.assistant.service import runner as runners
from mud_assistant.assistant.service.host import Embodiment, ServiceConfig, ServiceHooks
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.worlds.embedded.world import EmbeddedBody, EmbeddedWorld
from mud_assistant.llm.testing import Call, FakeOllama, HttpError, Reply, serve
from tests.assistant.living import ANN, SAGE, Witness, reactor

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))
DEAD = "http://127.0.0.1:1"


def settings(url: str, **more: Any) -> dict[str, Any]:
    model = {"provider": "ollama", "url": url, "model": "sage", "max_attempts": 1, "examples": False}
    return {"model": model, "assistant": {"join_seconds": 0}, **more}


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@asynccontextmanager
async def service(folder: Path, hooks: ServiceHooks | None = None) -> AsyncIterator[AssistantService]:
    inputs = ServiceConfig(merged({}), folder, {}, lambda: 1_000_000.0, Secrets(), None)
    made = AssistantService(reactor, inputs, Random(1), hooks)  # noqa: S311  (jitter)
    made.open()
    try:
        yield made
    finally:
        await made.finish()


def sage_in(
    world: EmbeddedWorld, made: AssistantService, tables: dict[str, Any], failures: list[Failed | LimitReached]
) -> tuple[AssistantRunner, EmbeddedBody]:
    """Sage's runner, which hears what Sage's body perceives, and Ann's body."""
    body = world.add(SAGE)
    runner = made.start(Embodiment(SAGE, body, failed=failures.append), merged(tables))
    body.listener = BodyListener(SAGE, runner.hear, body.alone_with, body.others_than)
    return runner, world.add(ANN, listener=Witness())


async def test_what_is_said_in_the_world_before_there_is_a_model_is_answered_and_nothing_is_kept(
    tmp_path: Path,
) -> None:
    fake = FakeOllama(reactor, lambda _: HELLO)
    async with serve(fake, reactor) as url, service(tmp_path) as made:
        assert await made.parts.opened() is None
        runner, ann = sage_in(EmbeddedWorld(), made, settings(url), [])
        await ann.say("Sage, hello")
        await runner.first_attempt()
        await runner.settled()
        assert isinstance(ann.listener, Witness)
        assert ann.listener.heard == ["Sage: Hello, Ann."]
        assert await made.usage(7) == []
        await made.erase(SAGE.id)
    assert files_in(tmp_path) == []


async def test_the_first_attempt_fails_with_its_cause_and_the_runner_goes_on_trying(tmp_path: Path) -> None:
    async with service(tmp_path) as made:
        runner, _ = sage_in(EmbeddedWorld(), made, settings(DEAD), [])
        with pytest.raises(NoModelError, match="ollama serve"):
            await runner.first_attempt()
        assert runner.state is RunnerState.WAITING


async def test_a_tool_that_does_not_exist_is_told_before_a_model_is_looked_for(tmp_path: Path) -> None:
    async with service(tmp_path) as made:
        tables = settings(DEAD, assistant={"tools": ["say", "fly"]})
        runner, _ = sage_in(EmbeddedWorld(), made, tables, [])
        began = reactor.seconds()
        with pytest.raises(SettingsError, match="no tool 'fly'"):
            await runner.first_attempt()  # which was over before this asked
        assert reactor.seconds() - began < runners.FIRST_PAUSE / 2


async def test_who_stops_it_in_the_middle_of_the_first_attempt_is_not_held_up(tmp_path: Path) -> None:
    async with service(tmp_path) as made:
        runner, _ = sage_in(EmbeddedWorld(), made, settings(DEAD), [])
        await made.stop(SAGE.id)
        assert runner.state is RunnerState.STOPPED


async def test_a_surface_is_told_which_model_is_left_out_and_why_a_run_failed(tmp_path: Path) -> None:
    told, failures = list[str](), list[Failed | LimitReached]()
    fake = FakeOllama(reactor, [HttpError(500, "down")])
    async with (
        serve(fake, reactor) as url,
        service(tmp_path, ServiceHooks(left_out=told.append, key_again="type {reference}")) as made,
    ):
        tables = settings(url, fallback=[{"provider": "local", "url": f"{DEAD}/v1", "max_attempts": 1}])
        runner, ann = sage_in(EmbeddedWorld(), made, tables, failures)
        await runner.first_attempt()
        assert len(told) == 1
        assert "cannot connect" in told[0]
        await ann.say("Sage, hello")
        await runner.settled()
        assert len(failures) == 1
