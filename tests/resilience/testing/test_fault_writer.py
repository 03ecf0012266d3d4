"""An answer on its way to a client, in virtual time: nothing goes out before it is due or wanted."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from twisted.internet.task import Clock

from mud_assistant.resilience.testing import PASS, Fault, Faults, HangAfter, Latency, Reset, Slicer
from mud_assistant.resilience.testing.answers import EndlessEvents, GzipBomb, pieces
from mud_assistant.resilience.testing.fault_writer import HIGH_WATER_BYTES, FaultWriter, Schedule
from mud_assistant.resilience.testing.faults import Ending, Record, shape_of


class Client:
    """A transport that takes one piece at a time; `take` says that the last one is on its way."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.producer: Any = None

    def registerProducer(self, producer: Any, streaming: bool) -> None:  # noqa: N802  (Twisted's name)
        assert not streaming
        self.producer = producer
        producer.resumeProducing()

    def unregisterProducer(self) -> None:  # noqa: N802  (Twisted's name)
        self.producer = None

    def write(self, data: bytes) -> None:
        assert data
        self.written.append(data)

    def take(self) -> None:
        if self.producer is not None:
            self.producer.resumeProducing()


class Rig:
    def __init__(self, fault: Fault) -> None:
        self.clock = Clock()
        self.client = Client()
        self.endings: list[Ending] = []
        self.rooms = 0
        self.record = Record(0, 0.0, fault)
        schedule = Schedule(shape_of(fault), Random(1))  # noqa: S311  (no secret)
        self.outlet = FaultWriter(
            self.clock, self.client, schedule, self.record, over=self.endings.append, has_room=self._room
        )
        self.outlet.start()

    def _room(self) -> None:
        self.rooms += 1

    def pour(self, answer: Any, interval: float = 0.0) -> None:
        self.outlet.pour(pieces(answer), interval, Ending.KEEP)

    def take(self, seconds: float = 0.0) -> list[bytes]:
        """What is written when the client takes one piece and some seconds pass."""
        del self.client.written[:]
        self.client.take()
        self.clock.advance(seconds)
        return list(self.client.written)


def test_the_next_piece_waits_for_the_client() -> None:
    rig = Rig(Slicer(2))
    rig.outlet.feed(b"abcde")
    rig.outlet.finish(Ending.KEEP)
    rig.clock.advance(100)
    assert rig.client.written == [b"ab"]
    assert [rig.take(), rig.take(), rig.endings] == [[b"cd"], [b"e"], []]
    rig.take()
    assert rig.endings == [Ending.KEEP]
    assert rig.client.producer is None
    assert rig.record.sent_bytes == 5


def test_a_piece_waits_for_its_time() -> None:
    rig = Rig(Latency(2.0))
    rig.outlet.feed(b"abc")
    rig.clock.advance(1.5)
    assert rig.client.written == []
    rig.clock.advance(0.5)
    assert rig.client.written == [b"abc"]


def test_endless_events_wait_for_a_paused_client() -> None:
    rig = Rig(EndlessEvents(1.0))
    rig.pour(EndlessEvents(1.0), 1.0)
    rig.clock.pump([1.0] * 1000)
    assert len(rig.client.written) == 1  # the head, which the client has not taken
    assert rig.record.sent_bytes == len(rig.client.written[0])
    assert rig.clock.getDelayedCalls() == []
    assert not rig.outlet.is_full
    assert rig.take(1.0) == [b"8\r\n: ping\n\n\r\n"]


def test_endless_events_come_at_their_interval() -> None:
    rig = Rig(EndlessEvents(1.0))
    rig.pour(EndlessEvents(1.0), 1.0)
    for _ in range(50):
        assert rig.take(0.5) == []
        rig.clock.advance(0.5)
        assert rig.client.written == [b"8\r\n: ping\n\n\r\n"]


def test_a_bomb_is_not_made_ahead_of_the_client() -> None:
    rig = Rig(GzipBomb(10**15))
    rig.pour(GzipBomb(10**15))
    for _ in range(5):
        assert len(rig.take()) == 1
    rig.outlet.stopProducing()
    assert rig.take() == []


def test_it_says_when_it_has_enough_and_when_there_is_room() -> None:
    rig = Rig(PASS)
    rig.outlet.feed(b"x")
    rig.outlet.feed(b"y" * HIGH_WATER_BYTES)
    assert (rig.outlet.is_full, rig.rooms) == (False, 1)
    rig.outlet.feed(b"z")
    assert rig.outlet.is_full
    rig.take()
    assert (rig.outlet.is_full, rig.rooms) == (False, 2)


@pytest.mark.parametrize(("fault", "ending"), [(Reset(3), Ending.RESET), (HangAfter(3), Ending.HANG)])
def test_a_cut_waits_until_its_bytes_are_on_their_way(fault: Fault, ending: Ending) -> None:
    rig = Rig(fault)
    rig.outlet.feed(b"abcdef")
    assert (rig.client.written, rig.endings) == ([b"abc"], [])
    rig.take()
    assert rig.endings == [ending]
    rig.outlet.feed(b"more")
    rig.outlet.finish(Ending.KEEP)
    assert (rig.take(), rig.endings) == ([], [ending])


def test_a_canned_answer_can_be_cut_too() -> None:
    rig = Rig(Faults(EndlessEvents(0.0), Reset(20)))
    rig.pour(EndlessEvents(0.0))
    assert len(rig.client.written[0]) == 20
    rig.take()
    assert rig.endings == [Ending.RESET]


def test_a_client_that_left_leaves_no_timer() -> None:
    rig = Rig(Latency(2.0))
    rig.outlet.feed(b"abc")
    rig.outlet.stopProducing()
    assert rig.clock.getDelayedCalls() == []
    rig.outlet.feed(b"more")
    rig.outlet.finish(Ending.CLOSE)
    assert (rig.clock.getDelayedCalls(), rig.endings) == ([], [])
