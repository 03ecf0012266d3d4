"""Two services with one journal in PostgreSQL: quiet counts in both, and what another process runs is left to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.journal import HeldElsewhere
from mud_assistant.assistant.life.peace import EVERYBODY
from mud_assistant.assistant.service.operations import listed_promises, quiet
from mud_assistant.assistant.service.operations.planning import plan
from mud_assistant.llm.testing import FakeOllama, serve
from tests.assistant.living import SAGE, reactor
from tests.assistant.service.test_quiet import GOAL, OWNER, there
from tests.assistant.service.test_service import asks, hello
from tests.assistant.service.village import Village, village

pytestmark = pytest.mark.usefixtures("reactor_baseline")


async def lives_with_a_promise(here: Village, settings: Mapping[str, Any]) -> None:
    """Start Sage, who answers and then has the promise."""
    sage = here.start(settings)
    here.says(sage, "Sage, hello")
    await sage.settled()
    assert sage.assistant is not None
    await sage.assistant.context.memory.journal.save_goals([GOAL])


async def test_all_processes_are_quiet_at_once_and_after_a_restart(tmp_path: Path, postgres_url: str) -> None:
    shared = {"journal": {"url": postgres_url}}
    async with village(tmp_path, settings=shared, process="a") as one:
        async with village(tmp_path, settings=shared, process="b") as two:
            for here in (one, two):
                await here.service.parts.ready()
            await quiet.want_quiet(there(one), OWNER, EVERYBODY, quiet=True)
            while not two.service.parts.quiet.state.is_quiet(EVERYBODY):
                await deferLater(reactor, 0.01)
        async with village(tmp_path, settings=shared, process="c") as later:
            await later.service.parts.ready()
            assert later.service.parts.quiet.state.is_quiet(EVERYBODY)
            await quiet.want_quiet(there(later), OWNER, EVERYBODY, quiet=False)
            while one.service.parts.quiet.state.keys:
                await deferLater(reactor, 0.01)


async def test_a_promise_is_dropped_where_the_assistant_runs(tmp_path: Path, postgres_url: str) -> None:
    shared = {"journal": {"url": postgres_url}}
    async with (
        serve(FakeOllama(reactor, hello), reactor) as url,
        village(tmp_path, settings=shared, process="a") as one,
        village(tmp_path, settings=shared, process="b") as two,
    ):
        await lives_with_a_promise(one, {**asks(url), **shared})
        [shown] = await listed_promises.promised(there(two), SAGE.id)
        assert shown.text == GOAL.text
        with pytest.raises(HeldElsewhere):
            await listed_promises.drop(there(two), OWNER, SAGE.id, GOAL.id)
        assert (await plan(there(two), OWNER, SAGE.id)).tokens is not None
        await one.service.stop(SAGE.id)
        while True:  # the lease is given back behind the stop
            try:
                await listed_promises.drop(there(two), OWNER, SAGE.id, GOAL.id)
            except HeldElsewhere:
                await deferLater(reactor, 0.01)
            else:
                break
        [shown] = await listed_promises.promised(there(one), SAGE.id)
        assert shown.why == listed_promises.BY_OWNER


async def test_a_process_that_was_started_again_drops_a_promise_at_once(tmp_path: Path, postgres_url: str) -> None:
    """It died with the lease of an assistant that it does not run any more."""
    shared = {"journal": {"url": postgres_url}}
    async with (
        serve(FakeOllama(reactor, hello), reactor) as url,
        village(tmp_path, settings=shared, process="a") as dead,
        village(tmp_path, settings=shared, process="b") as other,
        village(tmp_path, settings=shared, process="a") as again,
    ):
        await lives_with_a_promise(dead, {**asks(url), **shared})
        with pytest.raises(HeldElsewhere):
            await listed_promises.drop(there(other), OWNER, SAGE.id, GOAL.id)
        await listed_promises.drop(there(again), OWNER, SAGE.id, GOAL.id)
        [shown] = await listed_promises.promised(there(again), SAGE.id)
        assert shown.why == listed_promises.BY_OWNER
