"""The circuit breaker: what opens and closes it, what its permits do, what it tells."""

from __future__ import annotations

import pytest

from mud_assistant.resilience.admission.breaker import (
    PROBE_WAIT,
    RECENT,
    BreakerConfig,
    Change,
    CircuitState,
    PermitEnd,
)
from tests.resilience.admission.circuits import ENDS, NAME, Circuit, End


class TestDefaults:
    def test_five_failures_in_a_row_open_it_for_thirty_seconds(self) -> None:
        circuit = Circuit()
        circuit.fails(4)
        assert circuit.state == CircuitState.CLOSED
        circuit.fails()
        assert circuit.state == CircuitState.OPEN
        circuit.clock.advance(29.75)
        assert circuit.state == CircuitState.OPEN
        circuit.clock.advance(0.25)
        assert circuit.state == CircuitState.HALF_OPEN

    def test_two_successes_of_one_probe_at_a_time_close_it(self) -> None:
        circuit = Circuit()
        circuit.opens()
        first = circuit.probes()
        circuit.refuses()
        first.success()
        assert circuit.state == CircuitState.HALF_OPEN
        circuit.succeeds()
        assert circuit.state == CircuitState.CLOSED

    def test_no_share_of_failed_or_slow_calls_opens_it(self) -> None:
        circuit = Circuit()
        for _ in range(50):
            circuit.fails(4, after=20.0)
            circuit.succeeds()
        assert circuit.state == CircuitState.CLOSED


class TestClosed:
    def test_it_has_no_limit(self) -> None:
        circuit = Circuit()
        assert circuit.breaker.room() is None
        circuit.begins(1000)
        assert circuit.breaker.room() is None
        assert circuit.breaker.retry_after() == 0.0

    def test_a_success_begins_the_count_anew(self) -> None:
        circuit = Circuit()
        circuit.fails(4)
        circuit.succeeds()
        assert circuit.breaker.failures_in_a_row == 0
        circuit.fails(4)
        assert circuit.breaker.failures_in_a_row == 4
        assert circuit.state == CircuitState.CLOSED

    def test_what_is_given_back_counts_as_neither(self) -> None:
        circuit = Circuit()
        circuit.fails(4)
        circuit.breaker.acquire().give_back("cancelled")
        assert circuit.breaker.failures_in_a_row == 4
        circuit.fails()
        assert circuit.state == CircuitState.OPEN

    def test_a_call_whose_earlier_attempt_failed_counts_once(self) -> None:
        circuit = Circuit()
        circuit.fails(1)
        circuit.fails(50, is_repeat=True)
        assert circuit.breaker.failures_in_a_row == 1
        assert circuit.state == CircuitState.CLOSED

    def test_failures_of_calls_that_overlap_count_each(self) -> None:
        circuit = Circuit()
        for permit in circuit.begins(5):
            assert circuit.state == CircuitState.CLOSED
            permit.failure("it broke")
        assert circuit.state == CircuitState.OPEN


class TestOpen:
    def test_it_turns_calls_away_and_says_for_how_long(self) -> None:
        circuit = Circuit()
        circuit.opens()
        assert circuit.refuses() == 30.0
        circuit.clock.advance(10.0)
        assert circuit.refuses() == circuit.breaker.retry_after() == 20.0
        assert circuit.breaker.room() == 0
        assert circuit.breaker.permits_out == 0

    @pytest.mark.parametrize("end", ENDS)
    def test_what_ends_late_changes_nothing_but_is_released(self, end: End) -> None:
        circuit = Circuit()
        late = circuit.breaker.acquire()
        circuit.opens()
        assert circuit.breaker.permits_out == 1
        end(late)
        assert circuit.breaker.permits_out == 0
        assert circuit.breaker.retry_after() == 30.0
        assert circuit.states == [CircuitState.OPEN]

    @pytest.mark.parametrize("end", ENDS)
    def test_what_began_before_it_opened_is_no_probe(self, end: End) -> None:
        circuit = Circuit(BreakerConfig(success_threshold=1))
        late = circuit.breaker.acquire()
        circuit.opens()
        circuit.clock.advance(30.0)
        end(late)
        assert circuit.state == CircuitState.HALF_OPEN
        assert circuit.breaker.room() == 1

    @pytest.mark.parametrize("end", ENDS)
    def test_what_began_before_it_opened_does_not_count_when_it_is_closed_again(self, end: End) -> None:
        circuit = Circuit()
        late = circuit.breaker.acquire()
        circuit.opens()
        circuit.clock.advance(30.0)
        circuit.succeeds(2)
        circuit.fails(2)
        end(late)
        assert circuit.breaker.failures_in_a_row == 2


class TestHalfOpen:
    def test_who_finds_no_room_is_told_to_come_back_soon(self) -> None:
        circuit = Circuit()
        circuit.opens()
        circuit.clock.advance(30.0)
        assert (circuit.breaker.room(), circuit.breaker.retry_after()) == (1, 0.0)
        circuit.breaker.acquire()
        assert circuit.breaker.room() == 0
        assert circuit.refuses() == circuit.breaker.retry_after() == PROBE_WAIT

    def test_a_probe_given_back_frees_its_place_and_proves_nothing(self) -> None:
        circuit = Circuit()
        circuit.opens()
        circuit.probes().give_back()
        assert circuit.state == CircuitState.HALF_OPEN
        circuit.succeeds()
        circuit.breaker.acquire().give_back()
        assert circuit.state == CircuitState.HALF_OPEN
        circuit.succeeds()
        assert circuit.state == CircuitState.CLOSED

    def test_several_probes_go_at_a_time_when_configured(self) -> None:
        circuit = Circuit(BreakerConfig(half_open_permits=3, success_threshold=5))
        circuit.opens()
        first = circuit.probes()
        circuit.begins(2)
        assert circuit.breaker.room() == 0
        first.success()
        assert circuit.breaker.room() == 1

    def test_there_are_no_more_probes_than_successes_are_wanted(self) -> None:
        circuit = Circuit(BreakerConfig(half_open_permits=3, success_threshold=2))
        circuit.opens()
        first = circuit.probes()
        assert circuit.breaker.room() == 1
        first.success()
        assert circuit.breaker.room() == 1

    @pytest.mark.parametrize("is_repeat", [False, True])
    def test_one_failure_opens_it_for_longer(self, is_repeat: bool) -> None:
        circuit = Circuit(BreakerConfig(reset_jitter=0.0))
        circuit.opens()
        circuit.clock.advance(30.0)
        circuit.succeeds()
        circuit.fails(is_repeat=is_repeat)
        assert circuit.state == CircuitState.OPEN
        assert circuit.breaker.retry_after() == 60.0

    def test_successes_before_a_failed_probe_are_forgotten(self) -> None:
        circuit = Circuit()
        circuit.opens()
        circuit.clock.advance(30.0)
        circuit.succeeds()
        circuit.fails()
        circuit.probes().success()
        assert circuit.state == CircuitState.HALF_OPEN

    def test_a_hung_probe_opens_it_when_it_begins_to_hang(self) -> None:
        circuit = Circuit(BreakerConfig(reset_jitter=0.0, hang_seconds=10.0))
        circuit.opens()
        probe = circuit.probes()
        circuit.clock.advance(15.0)
        assert circuit.state == CircuitState.OPEN
        assert circuit.breaker.retry_after() == 55.0
        assert (circuit.changes[-1].at, circuit.changes[-1].cause) == (40.0, "nothing heard for 10 s")
        probe.success()
        assert circuit.state == CircuitState.OPEN
        assert circuit.breaker.permits_out == 0

    def test_after_closing_it_opens_for_the_documented_time_again(self) -> None:
        circuit = Circuit()
        circuit.opens()
        circuit.probes().failure("still broken")
        assert circuit.breaker.retry_after() > 30.0
        circuit.probes().success()
        circuit.succeeds()
        assert circuit.state == CircuitState.CLOSED
        circuit.fails(5)
        assert circuit.breaker.retry_after() == 30.0


class TestTold:
    def test_every_change_is_told_with_its_cause(self) -> None:
        circuit = Circuit()
        circuit.fails(5, after=1.0)
        circuit.clock.advance(100.0)
        circuit.succeeds(2, after=1.0)
        circuit.breaker.trip("all hang")
        assert circuit.changes == [
            Change(NAME, 5.0, CircuitState.CLOSED, CircuitState.OPEN, "5 failures in a row, the last: it broke", 30.0),
            Change(NAME, 35.0, CircuitState.OPEN, CircuitState.HALF_OPEN, "the reset time is over"),
            Change(NAME, 107.0, CircuitState.HALF_OPEN, CircuitState.CLOSED, "2 probes succeeded"),
            Change(NAME, 107.0, CircuitState.CLOSED, CircuitState.OPEN, "all hang", 30.0),
        ]

    def test_only_a_closed_circuit_is_opened_from_outside(self) -> None:
        circuit = Circuit()
        circuit.opens()
        circuit.clock.advance(10.0)
        circuit.breaker.trip("all hang")
        assert circuit.breaker.retry_after() == 20.0
        circuit.clock.advance(20.0)
        circuit.breaker.trip("all hang")
        assert circuit.states == [CircuitState.OPEN, CircuitState.HALF_OPEN]

    def test_a_change_is_told_when_it_is_done(self) -> None:
        circuit = Circuit(BreakerConfig(failure_threshold=1))
        seen: list[CircuitState] = []
        circuit.breaker.on_change = lambda change: seen.append(circuit.breaker.state)
        circuit.fails()
        assert seen == [CircuitState.OPEN]

    def test_the_last_ends_are_kept_with_their_causes(self) -> None:
        circuit = Circuit()
        circuit.succeeds(RECENT, after=1.0)
        circuit.fails()
        circuit.breaker.acquire().give_back("cancelled")
        assert list(circuit.breaker.recent)[-3:] == [
            PermitEnd(20.0, "success"),
            PermitEnd(20.0, "failure", "it broke"),
            PermitEnd(20.0, "given back", "cancelled"),
        ]
        assert len(circuit.breaker.recent) == RECENT
