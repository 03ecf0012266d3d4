"""The opening of a journal whose database is away: waited for by those who can, and refused to those who cannot."""

from __future__ import annotations

from typing import cast

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.assistant.journal import JournalUnreadable, Opened, ReadOnly, Sound
from mud_assistant.assistant.runtime.storage import KeptJournal
from mud_assistant.assistant.service.opening import FIRST_WAIT, LONGEST_WAIT, JournalOpening
from mud_assistant.resilience.budget.shared import SharedLedger

AWAY = ReadOnly("there", "no server answers", passes=True)
REFUSED = ReadOnly("there", "the server refuses the password")


class Late(KeptJournal):
    """A journal that is found so each time that it is opened."""

    def __init__(self, *found: Opened) -> None:
        self.found = list(found)

    async def open(self) -> Opened:
        return self.found.pop(0)

    async def open_again(self) -> Opened:
        return self.found.pop(0)


class Opening:
    """An opening under way, by a clock that the test moves."""

    def __init__(self, *found: Opened) -> None:
        self.clock, self.journal = Clock(), Late(*found)
        self.opening = JournalOpening(self.journal, self.clock)
        self.told: list[str] = []
        self.waiting = Deferred.fromCoroutine(self.opening.until_over(self.told.append))
        self.early = Deferred.fromCoroutine(self.opening.ready())
        self.failed: list[BaseException | None] = []
        self.early.addErrback(self.note)
        self.result = Deferred.fromCoroutine(self.opening.open())

    def lets_go_on(self) -> bool:
        """Whether those who are patient go on."""
        return bool(self.waiting.called)

    def note(self, failure: Failure) -> None:
        """Keep what was told to somebody who could not wait."""
        self.failed.append(failure.value)


def test_what_is_away_is_tried_again_with_longer_and_longer_waits_and_told_once() -> None:
    it = Opening(*[AWAY] * 6, Sound("there"))
    waits: list[float] = []
    while not it.result.called:
        [call] = it.clock.getDelayedCalls()
        waits.append(call.getTime() - it.clock.seconds())
        it.clock.advance(waits[-1])
    assert waits == [FIRST_WAIT, 1.0, 2.0, LONGEST_WAIT, LONGEST_WAIT, LONGEST_WAIT]
    assert it.told == [AWAY.sentence]
    assert not it.lets_go_on()
    it.opening.end()
    assert it.lets_go_on()
    assert it.result.result == Sound("there")


def test_who_cannot_wait_is_told_why_and_may_come_back() -> None:
    it = Opening(AWAY, Sound("there"))
    late = Deferred.fromCoroutine(it.opening.ready())
    late.addErrback(it.note)
    assert [type(error) for error in it.failed] == [JournalUnreadable, JournalUnreadable]
    assert "no server answers" in str(it.failed[0])
    it.clock.advance(FIRST_WAIT)
    it.opening.end()
    assert Deferred.fromCoroutine(it.opening.ready()).called
    assert len(it.failed) == 2


def test_what_does_not_pass_by_itself_is_not_waited_for() -> None:
    for found in ([REFUSED], [AWAY, REFUSED]):
        it = Opening(*found)
        it.clock.advance(FIRST_WAIT)
        assert it.result.result == REFUSED
        assert it.clock.getDelayedCalls() == []


def test_after_a_refusal_nothing_that_cannot_be_read_is_waited_for() -> None:
    it = Opening(REFUSED)
    it.journal.shared_ledger = cast("SharedLedger", object())

    async def load() -> None:
        raise JournalUnreadable("the server refuses the password")

    Deferred.fromCoroutine(it.opening.read(load)).addErrback(it.note)
    assert [str(error) for error in it.failed] == ["the server refuses the password"]


def test_a_wait_that_is_cancelled_ends_and_leaves_nothing() -> None:
    it = Opening(*[AWAY] * 3)
    for work in (it.result, it.waiting):
        work.cancel()
        work.addErrback(lambda failure: failure.trap(CancelledError))
    assert it.clock.getDelayedCalls() == []
    it.opening.end()


@pytest.mark.parametrize("found", [Sound("there"), REFUSED])
def test_what_is_found_at_once_lets_all_go_on(found: Opened) -> None:
    it = Opening(found)
    it.opening.end()
    assert (it.waiting.called, it.early.called, it.told) == (True, True, [])


def test_what_is_read_while_it_goes_away_again_is_read_once_it_is_back() -> None:
    it = Opening(Sound("there"))
    answers: list[object] = [JournalUnreadable("no server answers"), JournalUnreadable("still none"), "bindings"]

    async def load() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    for shared in (True, False):
        it.journal.shared_ledger = cast("SharedLedger", object()) if shared else None
        it.told.clear()
        answers[:0] = [] if shared else [JournalUnreadable("the file is damaged")]
        reading = Deferred.fromCoroutine(it.opening.read(load))
        for wait in (FIRST_WAIT, 2 * FIRST_WAIT) if shared else ():
            assert not reading.called
            it.clock.advance(wait)
        result: list[object] = []
        reading.addBoth(result.append)
        assert it.told == (["no server answers."] if shared else [])
        assert result[0] == "bindings" if shared else isinstance(result[0], Failure)
