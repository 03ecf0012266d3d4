"""Checks one after the other: their deadlines, their findings, what is said meanwhile."""

from __future__ import annotations

import json

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mud_assistant.assistant.checks.check_runner import SLOW_SECONDS, CheckRunner
from mud_assistant.assistant.checks.finding import Finding, FindingState, Problem, Skipped, Unclear


class Room:
    """A runner of checks and what it said."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.shown: list[Finding] = []
        self.waited: list[str] = []
        self.runner = CheckRunner(
            self.clock, self.shown.append, self.waited.append, lambda text: text.replace("planted", "[key]")
        )


def ended(room: Room, error: Exception | str) -> Finding:
    async def work() -> str:
        if isinstance(error, Exception):
            raise error
        return error

    Deferred.fromCoroutine(room.runner.check("it", 5, work))
    return room.shown[-1]


def test_each_end_has_its_state() -> None:
    room = Room()
    assert ended(room, "well") == Finding("it", FindingState.OK, "well")
    assert ended(room, Unclear("who knows")) == Finding("it", FindingState.UNKNOWN, "who knows")
    assert ended(room, Skipped("not now")) == Finding("it", FindingState.SKIPPED, "not now")
    assert room.runner.all_is_well
    assert ended(room, Problem("bad")) == Finding("it", FindingState.WRONG, "bad")
    assert not room.runner.all_is_well


def test_a_finding_is_one_line_without_keys() -> None:
    assert ended(Room(), Problem("planted\r\n\x1b[2Jand  more")).sentence == "[key] [2Jand more"


def test_a_check_that_never_ends_is_cancelled_at_its_deadline_and_told() -> None:
    room, cancelled = Room(), []

    async def work() -> str:
        try:
            return await Deferred(lambda _: cancelled.append(True))
        except CancelledError:
            cancelled.append(True)
            raise

    done = Deferred.fromCoroutine(room.runner.check("it", 5, work, "start it"))
    room.clock.pump([1.0] * 4)
    assert room.shown == []
    room.clock.advance(1)
    assert room.shown == [Finding("it", FindingState.WRONG, "there was no answer within 5 s; start it")]
    assert cancelled == [True, True]
    assert done.called
    assert room.clock.getDelayedCalls() == []


def test_what_takes_long_is_told_again_and_again() -> None:
    room, waiting = Room(), Deferred[str]()

    async def work() -> str:
        return await waiting

    Deferred.fromCoroutine(room.runner.check("model tools", 60, work))
    room.clock.pump([SLOW_SECONDS - 0.1, 0.1, SLOW_SECONDS])
    assert room.waited == ["model tools: waiting for 3 s", "model tools: waiting for 6 s"]
    waiting.callback("well")
    room.clock.advance(60)
    assert len(room.waited) == 2


def test_who_leaves_leaves_nothing_behind() -> None:
    room, failed = Room(), list[Failure]()

    async def work() -> str:
        return await Deferred()

    done = Deferred.fromCoroutine(room.runner.check("it", 5, work))
    done.addErrback(failed.append)
    done.cancel()
    assert [failure.type for failure in failed] == [CancelledError]
    assert room.clock.getDelayedCalls() == []
    assert room.shown == []


def test_for_machines_and_for_people() -> None:
    finding = Finding("model key", FindingState.WRONG, 'say "x"')
    assert json.loads(finding.json()) == {"check": "model key", "state": "wrong", "sentence": 'say "x"'}
    assert finding.line() == 'wrong    model key: say "x"'
