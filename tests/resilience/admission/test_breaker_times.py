"""The circuit breaker and time: calls that hang, how long it stays open, permits that end once at whatever time."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from mud_assistant.resilience.admission.breaker import BreakerConfig, CircuitState, PermitEndedError
from tests.resilience.admission.circuits import ENDS, Circuit, End

ODD_SECONDS = 12.466488571724543
"""In floats (ODD_SECONDS + 30) - ODD_SECONDS is less than 30."""


class TestHanging:
    def test_calls_count_while_they_hang_from_the_moment_they_begin_to(self) -> None:
        circuit = Circuit()
        circuit.begins(5)
        circuit.clock.advance(29.75)
        assert circuit.state == CircuitState.CLOSED
        circuit.clock.advance(5.25)
        assert circuit.state == CircuitState.OPEN
        assert circuit.breaker.permits_out == 5
        assert circuit.changes[0].at == 30.0
        assert circuit.breaker.retry_after() == 25.0

    @pytest.mark.parametrize("end", ENDS)
    def test_they_are_not_counted_again_at_their_end(self, end: End) -> None:
        circuit = Circuit(BreakerConfig(failure_threshold=4))
        hanging = circuit.begins(3)
        circuit.clock.advance(30.0)
        for permit in hanging:
            end(permit)
        assert circuit.state == CircuitState.CLOSED
        assert circuit.breaker.failures_in_a_row == (0 if end is ENDS[0] else 3)

    def test_a_failure_after_hanging_is_not_a_second_one(self) -> None:
        circuit = Circuit()
        hanging = circuit.begins(4)
        circuit.clock.advance(30.0)
        assert circuit.breaker.failures_in_a_row == 4
        for permit in hanging:
            permit.failure("timed out")
        assert circuit.breaker.failures_in_a_row == 4

    def test_a_success_after_hanging_ends_the_row(self) -> None:
        circuit = Circuit()
        hanging = circuit.begins(4)
        circuit.clock.advance(30.0)
        hanging[0].success()
        assert circuit.breaker.failures_in_a_row == 0

    def test_whoever_hears_something_does_not_hang(self) -> None:
        circuit = Circuit(BreakerConfig(failure_threshold=1))
        permit = circuit.breaker.acquire()
        for _ in range(10):
            circuit.clock.advance(29.75)
            permit.heard()
        assert circuit.breaker.failures_in_a_row == 0
        circuit.clock.advance(29.75)
        assert circuit.state == CircuitState.CLOSED
        circuit.clock.advance(0.25)
        assert circuit.state == CircuitState.OPEN

    def test_who_was_silent_longest_hangs_first(self) -> None:
        circuit = Circuit(BreakerConfig(failure_threshold=2))
        first, _ = circuit.begins(2)
        circuit.clock.advance(10.0)
        first.heard()
        circuit.clock.advance(20.0)
        assert circuit.breaker.failures_in_a_row == 1
        circuit.clock.advance(15.0)
        assert circuit.state == CircuitState.OPEN
        assert circuit.changes[0].at == 40.0

    @pytest.mark.parametrize("start", [0.0, ODD_SECONDS])
    def test_what_is_heard_at_the_very_end_comes_too_late(self, start: float) -> None:
        circuit = Circuit(BreakerConfig(failure_threshold=1))
        circuit.clock.advance(start)
        permit = circuit.breaker.acquire()
        circuit.clock.advance(30.0)
        permit.heard()
        assert circuit.state == CircuitState.OPEN

    def test_what_is_heard_later_does_not_let_it_hang_twice(self) -> None:
        circuit = Circuit()
        permit = circuit.breaker.acquire()
        circuit.clock.advance(31.0)
        permit.heard()
        circuit.clock.advance(1000.0)
        assert circuit.breaker.failures_in_a_row == 1

    def test_a_further_attempt_that_hangs_does_not_count(self) -> None:
        circuit = Circuit(BreakerConfig(failure_threshold=1))
        circuit.begins(3, is_repeat=True)
        circuit.clock.advance(31.0)
        assert circuit.state == CircuitState.CLOSED

    def test_a_further_attempt_that_hangs_as_a_probe_does(self) -> None:
        circuit = Circuit()
        circuit.opens()
        circuit.clock.advance(30.0)
        circuit.begins(1, is_repeat=True)
        circuit.clock.advance(30.0)
        assert circuit.state == CircuitState.OPEN

    def test_calls_that_hang_while_it_is_open_count_for_nothing(self) -> None:
        circuit = Circuit()
        circuit.begins(5)
        circuit.clock.advance(1.0)
        circuit.opens()
        circuit.clock.advance(29.5)
        assert circuit.breaker.failures_in_a_row == 0
        circuit.clock.advance(0.5)
        circuit.succeeds(2)
        assert circuit.states == [CircuitState.OPEN, CircuitState.HALF_OPEN, CircuitState.CLOSED]
        assert circuit.breaker.failures_in_a_row == 0

    def test_without_a_time_nothing_hangs(self) -> None:
        circuit = Circuit(BreakerConfig(failure_threshold=1, hang_seconds=None))
        permit = circuit.breaker.acquire()
        circuit.clock.advance(1e6)
        assert circuit.state == CircuitState.CLOSED
        assert circuit.breaker.next_change() is None
        permit.failure("it broke")
        assert circuit.state == CircuitState.OPEN


class TestNextChange:
    def test_nothing_is_due_while_nobody_asks(self) -> None:
        assert Circuit().breaker.next_change() is None

    def test_it_is_when_the_first_call_begins_to_hang(self) -> None:
        circuit = Circuit()
        first = circuit.breaker.acquire()
        circuit.clock.advance(1.0)
        second = circuit.breaker.acquire()
        assert circuit.breaker.next_change() == 30.0
        circuit.clock.advance(1.0)
        first.heard()
        assert circuit.breaker.next_change() == 31.0
        second.success()
        assert circuit.breaker.next_change() == 32.0

    def test_it_is_when_the_reset_time_is_over(self) -> None:
        circuit = Circuit()
        circuit.breaker.acquire()
        circuit.clock.advance(1.0)
        circuit.opens()
        assert circuit.breaker.next_change() == 31.0
        circuit.clock.advance(30.0)
        assert circuit.breaker.next_change() is None


class TestOpenTime:
    """It grows with each failed probe."""

    def times(self, config: BreakerConfig, count: int, seed: int = 1) -> list[float]:
        """How long it stays open, first and after each of `count` failed probes."""
        circuit = Circuit(config, seed)
        circuit.opens()
        for _ in range(count):
            circuit.probes().failure("still broken")
        return [change.for_seconds for change in circuit.changes if change.after is CircuitState.OPEN]

    def test_it_doubles_up_to_the_longest(self) -> None:
        config = BreakerConfig(reset_jitter=0.0)
        assert self.times(config, 5) == [30.0, 60.0, 120.0, 120.0, 120.0, 120.0]

    @pytest.mark.parametrize("seed", range(20))
    def test_chance_adds_a_share_at_most_and_nothing_at_first(self, seed: int) -> None:
        first, *others = self.times(BreakerConfig(), 6, seed)
        assert first == 30.0
        for seconds, least in zip(others, [60.0, 120.0, 120.0, 120.0, 120.0, 120.0], strict=True):
            assert least <= seconds <= least * 1.2
        assert all(one != other for one, other in pairwise(others))

    def test_it_is_never_shorter_than_the_first(self) -> None:
        config = BreakerConfig(reset_timeout=500.0, reset_jitter=0.0)
        assert self.times(config, 2) == [500.0, 500.0, 500.0]

    def test_it_does_not_outgrow_numbers(self) -> None:
        assert self.times(BreakerConfig(reset_jitter=0.0), 2000)[-1] == 120.0

    def test_a_change_tells_it(self) -> None:
        circuit = Circuit()
        circuit.opens()
        circuit.probes().failure("still broken")
        assert circuit.changes[-1].for_seconds == pytest.approx(circuit.breaker.retry_after())


@pytest.mark.parametrize(("first", "second"), [*product(ENDS, repeat=2)])
@pytest.mark.parametrize("state", [*CircuitState])
def test_a_permit_that_is_ended_twice_is_a_mistake(state: CircuitState, first: End, second: End) -> None:
    circuit = Circuit()
    permit, other = circuit.begins(2)
    into(circuit, state)
    first(permit)
    with pytest.raises(PermitEndedError):
        second(permit)
    assert circuit.state == state
    assert circuit.breaker.permits_out == 1
    other.give_back()


def into(circuit: Circuit, state: CircuitState) -> None:
    """Bring a closed circuit into a state."""
    match state:
        case CircuitState.OPEN | CircuitState.HALF_OPEN:
            circuit.opens()
            circuit.clock.advance(30.0 if state is CircuitState.HALF_OPEN else 0.0)
        case CircuitState.CLOSED:
            pass
    assert circuit.state == state
