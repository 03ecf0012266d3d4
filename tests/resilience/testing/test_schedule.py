"""What the fault proxy decides, without a socket: plans, timetables, canned answers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any

import pytest

from mud_assistant.resilience import testing
from mud_assistant.resilience.testing import (
    PASS,
    Bandwidth,
    EndlessEvents,
    Fault,
    Faults,
    GzipBomb,
    HalfEvent,
    Hang,
    HangAfter,
    HtmlPage,
    HugeHeader,
    Latency,
    Plan,
    Refuse,
    Reset,
    Slicer,
    SlowClose,
    Status,
    Truncate,
    always,
    at_random,
    every,
    sequence,
    server_error,
    throttled,
)
from mud_assistant.resilience.testing.answers import BLOCK_BYTES, bomb, pieces
from mud_assistant.resilience.testing.fault_writer import Schedule
from mud_assistant.resilience.testing.faults import Ending, shape_of

A, B = Status(500), Reset()


def chance(seed: int) -> Random:
    return Random(seed)  # noqa: S311  (no secret)


def test_every_public_name_exists_once() -> None:
    assert len(testing.__all__) == len(set(testing.__all__))
    assert [name for name in testing.__all__ if not hasattr(testing, name)] == []


def planned(plan: Plan, count: int) -> list[Fault]:
    return [plan(index, b"") for index in range(count)]


def test_plans() -> None:
    assert planned(always(A), 3) == [A, A, A]
    assert planned(sequence(A, PASS, B), 5) == [A, PASS, B, PASS, PASS]
    assert planned(sequence(A, then=B), 3) == [A, B, B]
    assert planned(every(3, [A, B]), 9) == [PASS, PASS, A, PASS, PASS, B, PASS, PASS, A]
    assert planned(every(1, [A, B]), 3) == [A, B, A]


def test_a_plan_by_chance_keeps_its_share_and_repeats_itself() -> None:
    faults = planned(at_random(0.25, [A, B], chance(7)), 4000)
    assert faults == planned(at_random(0.25, [A, B], chance(7)), 4000)
    assert 800 < sum(fault != PASS for fault in faults) < 1200
    assert {A, B, PASS} == set(faults)
    assert set(planned(at_random(0, [A], chance(7)), 50)) == {PASS}
    assert set(planned(at_random(1, [A], chance(7)), 50)) == {A}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Latency(-1),
        lambda: Latency(1, -1),
        lambda: Bandwidth(0),
        lambda: SlowClose(-1),
        lambda: Slicer(0),
        lambda: Slicer(1, -1),
        lambda: HangAfter(-1),
        lambda: Reset(-1),
        lambda: Truncate(-1),
        lambda: Status(100),
        lambda: EndlessEvents(-1),
        lambda: HugeHeader(0),
        lambda: HugeHeader(100, 13),
        lambda: GzipBomb(-1),
        lambda: throttled(-1),
        lambda: server_error(404),
        lambda: every(0, [A]),
        lambda: every(1, []),
        lambda: at_random(1.5, [A], chance(1)),
        lambda: at_random(0.5, [], chance(1)),
        lambda: Faults(Hang(), Reset()),
        lambda: Faults(HtmlPage(), HalfEvent()),
        lambda: Faults(Latency(1), Latency(2)),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"give|combine|let every"):
        make()


def schedule(*faults: Any) -> Schedule:
    return Schedule(shape_of(Faults(*faults)), chance(3))


def test_without_a_fault_everything_is_due_at_once() -> None:
    timetable = schedule()
    assert timetable.of(b"abc", 10.0) == [(10.0, b"abc")]
    assert timetable.of(b"", 10.0) == []
    assert timetable.end(Ending.KEEP, 11.0) == [(11.0, Ending.KEEP)]
    assert timetable.of(b"more", 12.0) == []
    assert timetable.end(Ending.CLOSE, 12.0) == []


def test_latency_delays_each_piece_and_the_end_follows_the_last() -> None:
    timetable = schedule(Latency(2.0))
    assert timetable.of(b"a", 10.0) == [(12.0, b"a")]
    assert timetable.of(b"b", 11.0) == [(13.0, b"b")]
    assert timetable.end(Ending.KEEP, 11.0) == [(13.0, Ending.KEEP)]


def test_jitter_keeps_the_order_and_its_bounds() -> None:
    timetable = schedule(Latency(1.0, 0.5))
    times = [due for step in range(200) for due, _ in timetable.of(b"x", step / 100)]
    assert times == sorted(times)
    assert all(step / 100 + 0.5 <= time <= step / 100 + 3.5 for step, time in enumerate(times))
    assert len(set(times)) > 10
    assert min(schedule(Latency(0.1, 5.0)).of(b"x", 10.0))[0] >= 10.0


def test_bandwidth_adds_up() -> None:
    timetable = schedule(Bandwidth(100))
    first = timetable.of(b"x" * 50, 0.0)
    assert [len(piece) for _, piece in first if isinstance(piece, bytes)] == [5] * 10
    assert first[-1][0] == pytest.approx(0.5)
    assert timetable.of(b"x" * 5, 0.1)[-1][0] == pytest.approx(0.55)
    assert timetable.of(b"x" * 5, 9.0)[-1][0] == pytest.approx(9.05)
    assert schedule(Bandwidth(2)).of(b"xy", 0.0) == [(0.5, b"x"), (1.0, b"y")]


def test_slices_have_a_pause_between_them() -> None:
    timetable = schedule(Slicer(2, 0.5), Latency(1.0))
    assert timetable.of(b"abcde", 0.0) == [(1.0, b"ab"), (1.5, b"cd"), (2.0, b"e")]
    assert timetable.of(b"f", 0.0) == [(2.5, b"f")]


@pytest.mark.parametrize(
    ("fault", "ending"),
    [(HangAfter(3), Ending.HANG), (Reset(3), Ending.RESET), (Truncate(3), Ending.CLOSE)],
)
def test_a_cut_comes_after_its_bytes(fault: Any, ending: Ending) -> None:
    timetable = schedule(fault)
    assert timetable.of(b"", 0.0) == []
    assert timetable.of(b"ab", 0.0) == [(0.0, b"ab")]
    assert timetable.of(b"cdef", 1.0) == [(1.0, b"c"), (1.0, ending)]
    assert timetable.of(b"gh", 2.0) == []


@pytest.mark.parametrize(
    ("fault", "ending"),
    [(Hang(), Ending.HANG), (Refuse(), Ending.CLOSE), (Reset(), Ending.RESET), (Truncate(0), Ending.CLOSE)],
)
def test_a_cut_before_the_first_byte_asks_nobody(fault: Any, ending: Ending) -> None:
    assert not shape_of(fault).asks
    assert schedule(fault).of(b"", 1.0) == [(1.0, ending)]
    assert schedule(fault, Latency(2.0)).of(b"", 1.0) == [(3.0, ending)]


def test_only_a_close_is_slow() -> None:
    assert schedule(SlowClose(4.0)).end(Ending.CLOSE, 1.0) == [(5.0, Ending.CLOSE)]
    assert schedule(SlowClose(4.0)).end(Ending.KEEP, 1.0) == [(1.0, Ending.KEEP)]


@pytest.mark.parametrize("size", [0, 1, 1000, BLOCK_BYTES, 3 * BLOCK_BYTES + 17])
def test_a_bomb_unpacks_to_its_size(size: int) -> None:
    packed = b"".join(bomb(size))
    assert zlib.decompress(packed, 31) == bytes(size)
    assert len(packed) < 100 + size / 500


@pytest.mark.parametrize("bytes_", [1, 100, 1000, 1001, 300_000])
def test_a_huge_header_has_its_size(bytes_: int) -> None:
    head = b"".join(pieces(HugeHeader(bytes_)))
    padding = [line for line in head.split(b"\r\n") if line.startswith(b"X-Padding")]
    assert max(len(line) + 2 for line in padding) <= 1000
    size = sum(len(line) + 2 for line in padding)
    assert bytes_ <= size < bytes_ + 13


def test_endless_events_have_no_end() -> None:
    assert len(list(islice(pieces(EndlessEvents(0)), 1000))) == 1000
