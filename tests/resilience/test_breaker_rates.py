"""The circuit breaker's rates: the shares of failed and of slow calls in a window over calls or over time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from resilience.admission.circuit import BreakerConfig, CircuitState
from resilience.admission.window import OutcomeWindow
from tests.resilience.circuits import Circuit

FAILED = BreakerConfig(failure_threshold=None, failure_rate=0.5, minimum_calls=4, window=OutcomeWindow(calls=6))
TIMED = replace(FAILED, window=OutcomeWindow(seconds=10.0))
SLOW = BreakerConfig(failure_threshold=None, slow_rate=0.5, slow_seconds=5.0, minimum_calls=4)


class TestFailureRate:
    def test_it_opens_at_the_rate(self) -> None:
        circuit = Circuit(FAILED)
        circuit.succeeds(3)
        circuit.fails(2)
        assert circuit.state == CircuitState.CLOSED
        circuit.fails()
        assert circuit.state == CircuitState.OPEN
        assert circuit.changes[-1].cause == "50% of the last 6 calls failed, the last: it broke"

    def test_it_is_not_judged_before_the_minimum_of_calls(self) -> None:
        circuit = Circuit(FAILED)
        circuit.fails(3)
        assert circuit.state == CircuitState.CLOSED
        circuit.fails()
        assert circuit.state == CircuitState.OPEN

    def test_a_success_may_make_the_minimum(self) -> None:
        circuit = Circuit(FAILED)
        circuit.fails(3)
        circuit.succeeds()
        assert circuit.state == CircuitState.OPEN

    def test_calls_beyond_the_window_are_forgotten(self) -> None:
        circuit = Circuit(FAILED)
        circuit.succeeds(3)
        circuit.fails(2)
        circuit.succeeds(4)
        circuit.fails(2)
        assert circuit.state == CircuitState.CLOSED
        circuit.fails()
        assert circuit.state == CircuitState.OPEN

    def test_what_is_given_back_is_not_in_the_window(self) -> None:
        circuit = Circuit(FAILED)
        circuit.fails(3)
        circuit.breaker.acquire().give_back()
        assert circuit.state == CircuitState.CLOSED

    def test_further_attempts_of_a_call_are_not_in_the_window(self) -> None:
        circuit = Circuit(FAILED)
        circuit.fails(3)
        circuit.fails(10, is_repeat=True)
        assert circuit.state == CircuitState.CLOSED

    def test_a_closed_circuit_begins_with_an_empty_window(self) -> None:
        circuit = Circuit(FAILED)
        circuit.opens()
        circuit.clock.advance(30.0)
        circuit.succeeds(2)
        circuit.fails(3)
        assert circuit.state == CircuitState.CLOSED

    def test_a_row_opens_it_as_well_when_both_are_configured(self) -> None:
        circuit = Circuit(replace(FAILED, failure_threshold=2))
        circuit.fails(2)
        assert circuit.state == CircuitState.OPEN

    @pytest.mark.parametrize(("seconds", "state"), [(9.75, CircuitState.OPEN), (10.0, CircuitState.CLOSED)])
    def test_in_a_window_over_time_calls_are_forgotten_with_age(self, seconds: float, state: CircuitState) -> None:
        circuit = Circuit(TIMED)
        circuit.fails(3)
        circuit.clock.advance(seconds)
        circuit.fails()
        assert circuit.state == state

    def test_a_window_over_time_has_room_for_any_number_of_calls(self) -> None:
        circuit = Circuit(TIMED)
        circuit.succeeds(1000)
        circuit.fails(999)
        assert circuit.state == CircuitState.CLOSED
        circuit.fails()
        assert circuit.state == CircuitState.OPEN


class TestSlowRate:
    def test_slow_successes_open_it(self) -> None:
        circuit = Circuit(SLOW)
        circuit.succeeds(2)
        circuit.succeeds(after=5.0)
        assert circuit.state == CircuitState.CLOSED
        circuit.succeeds(after=5.0)
        assert circuit.state == CircuitState.OPEN
        assert circuit.changes[-1].cause == "50% of the last 4 calls took 5 s or more"

    def test_slow_failures_count_as_slow(self) -> None:
        circuit = Circuit(SLOW)
        circuit.fails(4, after=5.0)
        assert circuit.state == CircuitState.OPEN

    def test_what_is_just_quick_enough_does_not(self) -> None:
        circuit = Circuit(SLOW)
        circuit.succeeds(50, after=4.75)
        circuit.fails(50)
        assert circuit.state == CircuitState.CLOSED

    def test_slow_calls_that_left_the_window_are_forgotten(self) -> None:
        circuit = Circuit(replace(SLOW, window=OutcomeWindow(calls=4)))
        for _ in range(10):
            circuit.succeeds(after=5.0)
            circuit.succeeds(3)
        assert circuit.state == CircuitState.CLOSED

    def test_a_slow_probe_closes_it_all_the_same(self) -> None:
        circuit = Circuit(SLOW)
        circuit.succeeds(4, after=5.0)
        circuit.clock.advance(30.0)
        circuit.succeeds(2, after=5.0)
        assert circuit.state == CircuitState.CLOSED
