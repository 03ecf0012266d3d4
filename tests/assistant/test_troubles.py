from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.task import deferLater

from assistant.journal import JournalUnwritable
from assistant.troubles import JOURNAL, Trouble, Troubles
from tests.assistant.living import reactor
from tests.assistant.service.home import village


def test_each_trouble_is_told_once_and_when_it_is_over() -> None:
    troubles, told = Troubles(), list[Trouble]()
    unwatch = troubles.watch(told.append)
    troubles.tell(JOURNAL, "the disk is full")
    troubles.tell(JOURNAL, "the disk is full")
    troubles.tell("web", "the key was refused")
    troubles.tell(JOURNAL, "")
    troubles.tell(JOURNAL, "")
    assert told == [
        Trouble(JOURNAL, "the disk is full"),
        Trouble("web", "the key was refused"),
        Trouble(JOURNAL, "the disk is full", is_over=True),
    ]
    assert troubles.now == {"web": "the key was refused"}
    unwatch()
    unwatch()
    troubles.tell("web", "")
    assert len(told) == 3


def test_one_who_comes_later_is_told_what_there_is() -> None:
    troubles, told = Troubles(), list[Trouble]()
    troubles.tell(JOURNAL, "the disk is full")
    troubles.watch(told.append)
    assert told == [Trouble(JOURNAL, "the disk is full")]


async def test_a_household_tells_of_its_journal(tmp_path: Path) -> None:
    async with village(tmp_path) as here:
        store = here.household._journal.store
        told: list[Trouble] = []
        here.household.troubles.watch(told.append)
        while store.opened is None:
            await deferLater(reactor, 0.01)
        await store.write(lambda db: db.execute("PRAGMA max_page_count = 1").fetchone())
        with pytest.raises(JournalUnwritable):
            await store.write(lambda db: db.execute("INSERT INTO meta VALUES ('fill', hex(zeroblob(1000000)))"))
        assert [trouble.about for trouble in told] == [JOURNAL]
        assert "the disk is full" in here.household.troubles.now[JOURNAL]
