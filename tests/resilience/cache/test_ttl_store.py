from __future__ import annotations

from twisted.internet.task import Clock

from mud_assistant.resilience.cache import TtlStore


def test_what_replaces_a_value_counts_instead_of_it() -> None:
    packed_entries: TtlStore[str, str] = TtlStore(Clock().seconds, 10)
    packed_entries.put("k", "old", 6, 60)
    packed_entries.put("k", "new", 7, 60)
    found = packed_entries.find("k")
    assert found is not None
    assert (found.value, len(packed_entries), packed_entries.bytes, packed_entries.evicted) == ("new", 1, 7, 0)


def test_the_time_of_a_value_that_was_replaced_does_not_end_its_successor() -> None:
    clock = Clock()
    packed_entries: TtlStore[str, str] = TtlStore(clock.seconds, 10)
    packed_entries.put("k", "old", 1, 5)
    packed_entries.put("k", "new", 1, 60)
    clock.advance(5)
    packed_entries.put("other", "v", 1, 60)
    assert packed_entries.find("k") is not None


def test_values_without_bytes_go_when_they_expired() -> None:
    clock = Clock()
    packed_entries: TtlStore[int, str] = TtlStore(clock.seconds, 10)
    for number in range(100):
        packed_entries.put(number, "", 0, 5)
        clock.advance(1)
    assert len(packed_entries) <= 6


def test_values_that_went_before_their_time_leave_little_behind() -> None:
    packed_entries: TtlStore[int, str] = TtlStore(Clock().seconds, 10)
    for number in range(1000):
        packed_entries.put(number, "v", 5, 86_400)
    assert len(packed_entries) == 2
    assert len(packed_entries._expiries) < 100


def test_clear_leaves_nothing() -> None:
    packed_entries: TtlStore[str, str] = TtlStore(Clock().seconds, 10)
    packed_entries.put("k", "v", 5, 60)
    packed_entries.clear()
    assert (len(packed_entries), packed_entries.bytes, packed_entries._expiries) == (0, 0, [])
