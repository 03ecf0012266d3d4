"""Who is let in to a server, when, and what the others are told. All on a Clock."""

from __future__ import annotations

import pytest

from mud_assistant.resilience import BreakerConfig, CoolingDown, QueueFull, RateLimitSnapshot, Revoked
from mud_assistant.resilience.admission.breaker import PermitEndedError
from tests.resilience.admission.door import SICK, THROTTLED, Door

#: One failure opens the circuit for ten seconds; one success closes it.
TOUCHY = BreakerConfig(failure_threshold=1, reset_timeout=10.0, success_threshold=1, hang_seconds=5.0)


def test_who_need_not_wait_does_not() -> None:
    door = Door(cap=3)
    for name in "abc":
        door.ask(name)
    assert door.entered == ["a", "b", "c"]
    door.end("a", "b", "c")
    assert door.is_idle


def test_no_more_than_the_cap_are_on_their_way() -> None:
    door = Door(cap=2)
    for name in "abcd":
        door.ask(name)
    assert door.entered == ["a", "b"]
    door.end("b")
    assert door.entered == ["a", "b", "c"]
    door.attempts["a"].give_back()
    assert door.entered == ["a", "b", "c", "d"]


def test_the_urgent_come_first_and_then_groups_take_turns() -> None:
    door = Door(cap=1)
    door.ask("first")
    for name in ("a1", "a2", "b1", "a3"):
        door.ask(name, name[0])
    for name in ("u1", "u2", "v1"):
        door.ask(name, name[0], urgent=True)
    while door.attempts:
        door.end(*door.attempts)
    assert door.entered == ["first", "u1", "v1", "u2", "a1", "b1", "a2", "a3"]


def test_a_throttled_server_gets_half_as_many() -> None:
    door = Door(cap=4)
    for name in "abcdefgh":
        door.ask(name)
    door.fail("a", THROTTLED)
    door.fail("b", THROTTLED)  # they were on their way together: one lesson
    assert door.upstream.in_flight.limit == 2
    assert door.entered == ["a", "b", "c", "d"]
    door.end("c")
    assert door.entered == ["a", "b", "c", "d", "e"]


def test_a_full_queue_takes_nobody_else() -> None:
    door = Door(queue=2)
    for name in "abcd":
        door.ask(name)
    assert isinstance(door.refused["d"], QueueFull)
    assert "2 calls" in str(door.refused["d"])
    door.end("a")
    door.ask("e")
    assert list(door.refused) == ["d"]


def test_an_urgent_one_takes_the_place_of_the_last_of_the_longest_group_that_is_not() -> None:
    door = Door(queue=3)
    door.ask("now")
    for name in ("b1", "a1", "a2"):
        door.ask(name, name[0])
    door.ask("u1", urgent=True)
    assert list(door.refused) == ["a2"]
    door.ask("u2", urgent=True)
    door.ask("u3", urgent=True)
    door.ask("u4", urgent=True)  # nobody is left who can wait
    assert sorted(door.refused) == ["a1", "a2", "b1", "u4"]
    assert all(isinstance(error, QueueFull) for error in door.refused.values())
    assert len(door.upstream.queue) == 3


def test_a_queue_of_none_still_lets_pass_when_there_is_room() -> None:
    """`queue` is how many may wait; one who need not wait is no burden to it."""
    door = Door(cap=2, queue=1)
    door.ask("a")
    door.ask("b")
    assert door.entered == ["a", "b"]


def test_starts_follow_each_other_at_a_pace_after_a_first_burst() -> None:
    door = Door(cap=100, start_seconds=1.0, start_burst=3)
    for number in range(6):
        door.ask(str(number))
    assert len(door.entered) == 3
    for expected in (4, 5, 6):
        door.clock.advance(0.5)
        assert len(door.entered) == expected - 1
        door.clock.advance(0.5)
        assert len(door.entered) == expected
    door.end(*door.attempts)
    assert door.is_idle
    door.clock.advance(60)
    for number in range(10, 16):
        door.ask(str(number))
    assert len(door.entered) == 6 + 3


def test_starts_that_find_a_connection_are_not_paced() -> None:
    door = Door(cap=100, start_seconds=1.0, start_burst=3)
    for number in range(6):
        door.ask(str(number))
    door.clock.pump([0.5] * 6)
    assert len(door.entered) == 6
    door.end(*door.attempts)
    for number in range(10, 18):
        door.ask(str(number))
    assert len(door.entered) == 6 + 6  # as many as there are connections; two more must be opened
    door.clock.pump([1.0] * 2)
    assert len(door.entered) == 6 + 8


def test_calls_of_one_model_are_paced_by_what_is_left_and_those_of_another_are_not() -> None:
    door = Door(cap=100)
    door.ask("a")
    door.attempts["a"].note_limits(RateLimitSnapshot(remaining=10, limit=100, reset_at=10.0), None)
    other = door.new_quota("other")
    for name in "bcd":
        door.ask(name)
    door.ask("x", quota=other)
    assert door.entered == ["a", "x"]
    for count, name in enumerate("bcd", start=1):
        door.clock.advance(1.0)
        assert door.entered == ["a", "x", *"bcd"[:count]], name
    assert door.clock.getDelayedCalls() == []


def test_one_whose_model_must_wait_keeps_no_other_from_its_turn() -> None:
    door = Door(cap=1)
    door.quota.cool(5.0, "slow down")
    door.ask("cool", urgent=True)
    door.ask("well", quota=door.new_quota("other"))
    assert door.entered == ["well"]
    door.end("well")
    door.clock.advance(5.0)
    assert door.entered == ["well", "cool"]


def test_a_cool_down_within_patience_is_waited_for() -> None:
    door = Door()
    door.quota.cool(5.0, "slow down")
    door.ask("a", patience_until=5.0)
    door.clock.advance(4.9)
    assert door.entered == []
    door.clock.advance(0.1)
    assert door.entered == ["a"]


def test_a_cool_down_beyond_patience_is_refused() -> None:
    door = Door()
    door.quota.cool(60.0, "slow down")
    door.ask("a", patience_until=59.0)
    error = door.refused["a"]
    assert isinstance(error, CoolingDown)
    assert (error.until, error.why) == (60.0, "slow down")
    assert door.is_idle


def test_those_who_wait_are_sent_away_when_the_wait_becomes_too_long() -> None:
    door = Door()
    for name, patience in (("now", 0.0), ("short", 30.0), ("long", 90.0)):
        door.ask(name, patience_until=patience)
    door.quota.cool(60.0, "slow down")
    door.upstream.limits_changed()
    assert list(door.refused) == ["short"]
    door.end("now")
    assert door.entered == ["now"]
    door.clock.advance(60)
    assert door.entered == ["now", "long"]


def test_those_who_wait_with_a_key_that_is_refused_are_sent_away() -> None:
    door = Door()
    door.ask("now")
    door.ask("same key")
    door.ask("other key", quota=door.new_quota("sage"))
    door.quota.credential.revoked = "who are you?"
    door.upstream.limits_changed()
    assert isinstance(door.refused["same key"], Revoked)
    door.end("now")
    assert door.entered == ["now", "other key"]
    door.ask("late")
    assert isinstance(door.refused["late"], Revoked)


def test_who_leaves_the_queue_leaves_nothing() -> None:
    door = Door(breaker=TOUCHY)
    door.ask("a")
    waiting = door.ask("b")
    assert door.clock.getDelayedCalls() != []
    waiting.cancel()
    assert door.was_cancelled("b")
    assert door.clock.getDelayedCalls() == []
    door.end("a")
    assert door.entered == ["a"]
    assert door.is_idle


@pytest.mark.parametrize("why", ["cooling", "pace"])
def test_who_leaves_the_queue_takes_nobodys_turn_with_it(why: str) -> None:
    """Cancelling one must not stop the clock by which the others are let in."""
    door = Door(cap=9, start_seconds=1.0)
    if why == "cooling":
        door.quota.cool(1.0, "slow down")
    else:
        door.ask("first")
    gone = door.ask("gone")
    door.ask("stays")
    gone.cancel()
    door.clock.advance(1.0)
    assert door.entered[-1:] == ["stays"]
    door.end(*door.attempts)
    assert door.is_idle


def test_one_who_is_let_in_may_end_or_ask_again_at_once() -> None:
    """An attempt may be over before `enter` has come back: nobody is let in twice or forgotten."""
    door = Door(cap=1)
    door.ask("now")
    for name in ("a", "b", "c"):
        door.ask(name).addCallback(lambda _, name=name: door.end(name))
    door.end("now")
    assert door.entered == ["now", "a", "b", "c"]
    assert door.is_idle


def test_an_attempt_ends_once() -> None:
    door = Door()
    door.ask("a")
    attempt = door.attempts["a"]
    door.end("a")
    for again in (attempt.succeeded, attempt.give_back, lambda: attempt.failed(SICK)):
        with pytest.raises(PermitEndedError):
            again()
    assert door.is_idle
