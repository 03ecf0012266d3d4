from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.task import deferLater

from mud_assistant.assistant.journal import JournalUnwritable
from mud_assistant.assistant.runtime.storage import JournalFile
from mud_assistant.assistant.service.troubles import EVERYBODY, Trouble, TroubleKind, Troubles
from tests.assistant.living import reactor
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
