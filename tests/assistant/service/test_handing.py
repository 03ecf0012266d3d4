"""Assistants that go from one process to another through their journal: given, stopped on purpose, taken by force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from mud_assistant.assistant.journal import HeldElsewhere
from mud_assistant.assistant.runtime.sharing.journal import SharedJournal
from mud_assistant.assistant.runtime.sharing.leases import LOOK_SECONDS
from mud_assistant.assistant.service.handing import hand_over
from mud_assistant.assistant.service.runner import AssistantRunner, RunnerState
from mud_assistant.llm.testing import Call, FakeOllama, Reply, serve
from mud_assistant.resilience import CallTarget
from tests.assistant.living import SAGE, reactor
from tests.assistant.service.village import Village, village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
HELLO = Reply(calls=(Call("say", {"text": "Hello, Ann."}),))


def journal_of(home: Village) -> SharedJournal:
    journal = home.service.parts.journal
    assert isinstance(journal, SharedJournal)
    return journal


async def until(is_so: Any) -> None:
    for _ in range(600):
        if is_so():
            return
        await deferLater(reactor, 0.05)
    raise AssertionError("it did not come to be so within 30 seconds")


def is_awake(home: Village) -> bool:
    runner = home.service.runners.get(SAGE.id)
    return runner is not None and runner.state is RunnerState.AWAKE


async def waits(runner: AssistantRunner) -> None:
    with pytest.raises(HeldElsewhere):
        await runner.first_attempt()


async def test_a_run_is_suspended_and_taken_up_where_the_assistant_is_given(tmp_path: Path, postgres_url: str) -> None:
    fake = FakeOllama(reactor, [Reply(calls=HELLO.calls, delay_seconds=30.0), HELLO])
    async with serve(fake, reactor) as url:
        shared = {"journal": {"url": postgres_url}}
        model = {"provider": "ollama", "url": url, "model": "sage", "examples": False}
        settings = {**shared, "model": model}
        async with (
            village(tmp_path, settings=shared, process="here") as here,
            village(tmp_path, settings=shared, process="there") as there,
        ):
            sage = here.start(settings)
            await sage.first_attempt()
            other = there.start(settings)
            await waits(other)
            assert (here.is_embodied, there.is_embodied) == (True, False)
            here.says(sage, "Hello, you there.")
            await until(lambda: any("you there" in str(chat.messages) for chat in fake.chats))
            await hand_over(here.service, journal_of(here), SAGE.id, "there")
            await until(lambda: is_awake(there))
            await there.service.runners[SAGE.id].settled()
            assert there.witness.heard == ["Sage: Hello, Ann."]
            assert here.witness.heard == []
            assert (here.is_embodied, there.is_embodied) == (False, True)
            assert "run by there" in here.service.runners[SAGE.id].trouble
            assert list(here.service.troubles) == []


@pytest.mark.parametrize("keeps", [False, True])
async def test_one_that_is_stopped_here_starts_elsewhere_unless_its_lease_is_kept(
    tmp_path: Path, postgres_url: str, keeps: bool
) -> None:
    async with serve(FakeOllama(reactor, lambda _: HELLO), reactor) as url:
        shared = {"journal": {"url": postgres_url}}
        settings = {**shared, "model": {"provider": "ollama", "url": url, "model": "sage", "examples": False}}
        async with village(tmp_path, settings=shared, process="there") as there:
            async with village(tmp_path, settings=shared, process="here") as here:
                await here.start(settings).first_attempt()
                journal_of(here).keeps_stopped = keeps
                other = there.start(settings)
                await waits(other)
                await here.service.stop(SAGE.id)
                looked: Deferred[None] = deferLater(reactor, 2.0)
                await looked
                assert is_awake(there) is not keeps
            await until(lambda: is_awake(there))


async def test_a_journal_whose_closing_nobody_waits_for_leaves_nothing_on_the_reactor(
    tmp_path: Path, postgres_url: str
) -> None:
    async with serve(FakeOllama(reactor, lambda _: HELLO), reactor) as url:
        shared = {"journal": {"url": postgres_url}}
        async with village(tmp_path, settings=shared, process="here") as here:
            await here.start({**shared, "model": {"provider": "ollama", "url": url, "model": "sage"}}).first_attempt()
            journal = journal_of(here)
            before = [call for call in reactor.getDelayedCalls() if call.func == journal._tidy]
            closing = Deferred.fromCoroutine(journal.close())
            left = [call for call in reactor.getDelayedCalls() if call.func == journal._tidy]
            assert (len(before), left) == (1, [])
            await closing


async def test_one_that_is_halted_and_started_at_once_stays_where_it_is(tmp_path: Path, postgres_url: str) -> None:
    async with serve(FakeOllama(reactor, lambda _: HELLO), reactor) as url:
        shared = {"journal": {"url": postgres_url}}
        settings = {**shared, "model": {"provider": "ollama", "url": url, "model": "sage", "examples": False}}
        async with (
            village(tmp_path, settings=shared, process="here") as here,
            village(tmp_path, settings=shared, process="there") as there,
        ):
            sage = here.start(settings)
            await sage.first_attempt()
            await waits(there.start(settings))
            here.says(sage, "Hello, you there.")
            here.service.halt(SAGE.id)
            again = here.start(settings)
            await again.settled()
            await deferLater(reactor, LOOK_SECONDS)  # the lease is no more free than before
            assert again.state is RunnerState.AWAKE
            assert not is_awake(there)
            assert here.witness.heard == ["Sage: Hello, Ann."]
            assert there.witness.heard == []


async def test_a_wait_that_a_server_asks_for_reaches_the_other_process(tmp_path: Path, postgres_url: str) -> None:
    shared = {"journal": {"url": postgres_url}}
    target = CallTarget("http://models.example", "5f3a", "small")
    async with (
        village(tmp_path, settings=shared, process="here") as here,
        village(tmp_path, settings=shared, process="there") as there,
    ):
        for home in (here, there):
            await home.service.parts.ready()
        ours, theirs = (home.service.pipeline.quota(target) for home in (here, there))

        def is_heeded() -> bool:
            ours.cool(max(ours.cool_until, reactor.seconds() + 60.0) + 2.0, "come back later")  # until it listens
            return theirs.cool_until > float(reactor.seconds()) + 50.0

        await until(is_heeded)
