"""Quiet lasts over restarts, other processes heed it within seconds, and promises are kept all the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import Struct
from twisted.internet.task import Clock

from mud_assistant.assistant.events.goal import Goal, GoalKind, GoalState
from mud_assistant.assistant.journal import JournalUnreadable
from mud_assistant.assistant.life.peace import EVERYBODY, OwnersQuiet, Stillness
from mud_assistant.assistant.runtime.in_memory import QuietInMemory
from mud_assistant.assistant.service.operations import listed_promises, quiet
from mud_assistant.assistant.service.operations.operated import KnownAssistant, Operated
from mud_assistant.assistant.service.operations.operators import NotAllowed, NotFound, Operator, VisitorRole
from mud_assistant.assistant.service.operations.planning import plan
from mud_assistant.assistant.service.quieting import CHANGED, READ_SECONDS, Quieting
from mud_assistant.llm.testing import FakeOllama, serve
from mud_assistant.resilience import Launcher
from mud_assistant.tools import Kind, Principal
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.service.test_service import asks, hello
from tests.assistant.service.village import Village, village

pytestmark = pytest.mark.usefixtures("reactor_baseline")
OWNER = Operator(Principal("operator:1", "Boss", Kind.OPERATOR, 5), VisitorRole.OWNER)
GOAL = Goal("g.0", GoalKind.REMIND, "remind you at dawn: the bread", ANN, 0.0, what="the bread")


class Knowing(Struct):
    """A world in which Sage is known, running or not, and which keeps settings unless it is only looked at."""

    store: Any = "a file"

    def assistants(self) -> tuple[KnownAssistant, ...]:
        return (KnownAssistant(SAGE.id, SAGE.name),)


def there(here: Village) -> Operated:
    return Operated(here.service, Knowing())


async def test_it_lasts_over_a_restart_and_goes_with_what_is_erased(tmp_path: Path) -> None:
    async with village(tmp_path) as here:
        assert "does nothing of its own accord" in await quiet.want_quiet(there(here), OWNER, SAGE.id, quiet=True)
        assert "is away" in await quiet.send_away(there(here), OWNER, SAGE.id, away=True)
        with pytest.raises(NotFound):
            await quiet.want_quiet(there(here), OWNER, "assistant:9", quiet=True)
    async with village(tmp_path) as here:
        await here.service.parts.ready()
        state = here.service.parts.quiet.state
        assert (state.is_quiet(SAGE.id), state.is_away(SAGE.id), state.is_quiet(EVERYBODY)) == (True, True, False)
        await here.service.erase(SAGE.id)
    async with village(tmp_path) as here:
        await here.service.parts.ready()
        assert here.service.parts.quiet.state.keys == frozenset()


async def test_only_an_operator_may() -> None:
    viewer = Operator(OWNER.principal, VisitorRole.VIEWER)
    for deed in (
        lambda one: quiet.want_quiet(one, viewer, EVERYBODY, quiet=True),
        lambda one: listed_promises.drop(one, viewer, SAGE.id, GOAL.id),
    ):
        with pytest.raises(NotAllowed):
            await deed(Operated(None, Knowing()))  # type: ignore[arg-type,no-untyped-call]


async def test_where_a_journal_is_only_looked_at_nothing_is_changed_or_estimated(tmp_path: Path) -> None:
    async with village(tmp_path) as here:
        looked_at = Operated(here.service, Knowing(None))
        for deed in (
            quiet.want_quiet(looked_at, OWNER, EVERYBODY, quiet=True),
            quiet.send_away(looked_at, OWNER, SAGE.id, away=True),
            listed_promises.drop(looked_at, OWNER, SAGE.id, GOAL.id),
            plan(looked_at, OWNER, SAGE.id),
        ):
            with pytest.raises(NotAllowed, match="only looked at"):
                await deed
        assert await listed_promises.promised(looked_at, SAGE.id) == []


async def test_a_promise_of_one_that_does_not_run_is_dropped_in_the_journal(tmp_path: Path) -> None:
    async with serve(FakeOllama(reactor, hello), reactor) as url:
        async with village(tmp_path) as here:
            sage = here.start(asks(url))
            await sage.settled()
            assert sage.assistant is not None
            await sage.assistant.context.memory.journal.save_goals([GOAL])
            await here.service.stop(SAGE.id)
            [shown] = await listed_promises.promised(there(here), SAGE.id)
            assert (shown.number, shown.text, shown.state) == (1, GOAL.text, GoalState.OPEN)
            assert (
                await listed_promises.drop(there(here), OWNER, SAGE.id, GOAL.id) == f"Sage will not do it: {GOAL.text}."
            )
            with pytest.raises(NotFound):
                await listed_promises.drop(there(here), OWNER, SAGE.id, GOAL.id)
        async with village(tmp_path) as here:
            sage = here.start(asks(url))
            await sage.settled()
            [shown] = await listed_promises.promised(there(here), SAGE.id)
            assert (shown.number, shown.state, shown.why) == (0, GoalState.DROPPED, listed_promises.BY_OWNER)
            assert sage.assistant is not None
            assert len(sage.assistant.context.memory.goals) == 0


class Shared:
    """The notices of processes that share a journal, as they reach one of them."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.on_notice: Callable[[str], None] = lambda _: None
        self.lost = False

    def tell(self, words: str) -> None:
        self.told.append(words)
        if not self.lost:
            self.on_notice(words)


async def test_another_process_heeds_it_by_a_notice_or_within_five_seconds() -> None:
    clock, kept, shared, launcher = Clock(), QuietInMemory(), Shared(), Launcher()
    here, other = Quieting(kept, clock, shared), Quieting(kept, clock, shared)
    other.follow(launcher)
    ended: list[bool] = []
    other.on_change = lambda: ended.append(True)
    await here.want(Stillness.QUIET, EVERYBODY, is_so=True)
    assert other.state.why(SAGE.id) == "its owner wants quiet of everybody"
    shared.lost = True
    await here.want(Stillness.QUIET, EVERYBODY, is_so=False)
    assert other.state.why(SAGE.id) != ""
    clock.advance(READ_SECONDS)
    assert (other.state.why(SAGE.id), ended, shared.told) == ("", [True], [CHANGED, CHANGED])
    await launcher.stop()


@pytest.mark.parametrize("seed", range(5))
async def test_whenever_something_may_be_done_again_all_are_told_to_look(seed: int) -> None:
    """Owners of two processes want this and that in any order, and a notice may be lost."""
    dice = Random(seed)  # noqa: S311
    clock, kept, shared, launcher = Clock(), QuietInMemory(), Shared(), Launcher()
    both = here, other = Quieting(kept, clock, shared), Quieting(kept, clock, shared)
    other.follow(launcher)
    looked = [0, 0]

    def looks(at: int) -> None:
        looked[at] += 1

    for at, one in enumerate(both):
        one.on_change = partial(looks, at)
    for _ in range(40):
        before, keys, shared.lost = list(looked), here.state.keys, dice.random() < 0.5
        still, of = dice.choice(list(Stillness)), dice.choice((EVERYBODY, SAGE.id, ANN.id))
        await here.want(still, of, is_so=dice.random() < 0.5)
        clock.advance(READ_SECONDS)
        assert [one.state.keys for one in both] == [await kept.load()] * 2
        may_again = keys > here.state.keys
        assert [now > then for now, then in zip(looked, before, strict=True)] == [may_again] * 2
    await launcher.stop()


async def test_what_cannot_be_read_stays_as_it_was() -> None:
    class Away(QuietInMemory):
        async def load(self) -> frozenset[str]:
            raise JournalUnreadable("the database is away")

    clock, shared, launcher = Clock(), Shared(), Launcher()
    one = Quieting(Away(), clock, shared)
    one.follow(launcher)
    await one.want(Stillness.AWAY, SAGE.id, is_so=True)
    clock.advance(READ_SECONDS)
    assert one.state.is_away(SAGE.id)
    await launcher.stop()


def test_why_nothing_is_done() -> None:
    owners = OwnersQuiet()
    assert owners.why(SAGE.id) == ""
    owners.keys = frozenset({f"away {SAGE.id}"})
    assert owners.why(SAGE.id) == "it is away, as its owner wants it"
    assert owners.why("assistant:2") == ""
