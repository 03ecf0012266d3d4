from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.task import Clock, deferLater

from mud_assistant.assistant.events.outcome import (
    Answered,
    Cancelled,
    Failed,
    Limit,
    LimitReached,
    NothingToDo,
    Outcome,
)
from mud_assistant.assistant.journal import JournalUnwritable
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.service.troubles import EVERYBODY, Alarms, Lookout, Trouble, TroubleKind, Troubles
from mud_assistant.resilience import Pipeline
from tests.assistant.living import ANN, SAGE, reactor
from tests.assistant.service.village import village

FULL = Trouble(TroubleKind.JOURNAL, EVERYBODY, "", "the disk is full")
REFUSED = Trouble(TroubleKind.KEY, "https://one.example", "Sage", "the key was refused")


class Told:
    """A listener that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Trouble, bool]] = []

    def __call__(self, trouble: Trouble, over: bool) -> None:
        self.told.append((trouble, over))


def test_each_trouble_is_told_once_and_when_it_is_over() -> None:
    troubles, told = Troubles(), Told()
    unwatch = troubles.watch(told)
    troubles.of_journal("the disk is full")
    troubles.of_journal("the disk is full")
    troubles.begin(REFUSED)
    troubles.of_journal("")
    troubles.of_journal("")
    assert told.told == [(FULL, False), (REFUSED, False), (FULL, True)]
    assert list(troubles) == [REFUSED]
    unwatch()
    unwatch()
    troubles.end(*REFUSED.key)
    assert len(told.told) == 3


def test_one_who_comes_later_is_told_what_there_is() -> None:
    troubles, told = Troubles(), Told()
    troubles.of_journal("the disk is full")
    troubles.watch(told)
    assert told.told == [(FULL, False)]


def spent(limit: Limit, account: str) -> LimitReached:
    return LimitReached(limit, "it is used up", account)


#: What becomes of a run, and of which kind and subject a trouble begins of it.
FAILURES: list[tuple[Failed | LimitReached, tuple[TroubleKind, str] | None]] = [
    (spent(Limit.BUDGET, SAGE.id), (TroubleKind.BUDGET, SAGE.id)),
    (spent(Limit.BUDGET, EVERYBODY), (TroubleKind.BUDGET, EVERYBODY)),
    (spent(Limit.BUDGET, ANN.id), None),
    (spent(Limit.RATE, SAGE.id), None),
    (spent(Limit.STEPS, ""), None),
    (Failed("the key was refused", lasting=True), (TroubleKind.MODEL, SAGE.id)),
    (Failed("it is busy"), None),
]
#: How a run ends, and which kinds of trouble are over then.
ENDS: list[tuple[Outcome, set[TroubleKind]]] = [
    (Answered(("say",)), {TroubleKind.BUDGET, TroubleKind.MODEL}),
    (NothingToDo(), {TroubleKind.MODEL}),
    (Cancelled(), set()),
    (Failed("it is busy"), set()),
    (spent(Limit.STEPS, ""), set()),
]


@pytest.mark.parametrize(("end", "over"), ENDS, ids=[type(end).__name__ for end, _ in ENDS])
@pytest.mark.parametrize(("failure", "begins"), FAILURES, ids=range(len(FAILURES)))
def test_a_failure_is_a_trouble_where_a_person_must_see_to_it_until_a_run_shows_otherwise(
    failure: Failed | LimitReached, begins: tuple[TroubleKind, str] | None, end: Outcome, over: set[TroubleKind]
) -> None:
    def later(*_: Any) -> None:
        raise AssertionError("nothing of this is looked up")

    troubles, clock = Troubles(), Clock()
    scrub: Callable[[str], str] = lambda text: text.replace("key", "[key]")  # noqa: E731
    lookout = Lookout(troubles, scrub, Pipeline(clock, Random(0)))  # noqa: S311  (nothing is asked)
    alarms = Alarms(SAGE, lookout, later)
    alarms.failed(failure)
    assert [one.key for one in troubles] == ([] if begins is None else [begins])
    assert all(one.name == SAGE.name and "the key" not in one.sentence for one in troubles)
    alarms.run_ended("run-1", end)
    assert [one.key for one in troubles] == ([] if begins is None or begins[0] in over else [begins])


async def test_a_household_tells_of_its_journal(tmp_path: Path) -> None:
    async with village(tmp_path) as here:
        assert isinstance(here.service.parts.journal, JournalFile)
        store = here.service.parts.journal.store
        told = Told()
        here.service.troubles.watch(told)
        while store.opened is None:
            await deferLater(reactor, 0.01)
        await store.write(lambda db: db.execute("PRAGMA max_page_count = 1").fetchone())
        with pytest.raises(JournalUnwritable):
            await store.write(lambda db: db.execute("INSERT INTO meta VALUES ('fill', hex(zeroblob(1000000)))"))
        assert [(trouble.kind, over) for trouble, over in told.told] == [(TroubleKind.JOURNAL, False)]
        assert "the disk is full" in told.told[0][0].sentence
