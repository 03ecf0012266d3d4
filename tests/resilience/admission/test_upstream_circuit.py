"""What those who wait for a server are told of its circuit, and when. All on a Clock."""

from __future__ import annotations

import pytest
from twisted.logger import capturedLogs

from mud_assistant.resilience import BreakerConfig, CircuitOpen, CircuitState, Verdict
from tests.resilience.admission.door import SICK, Door

#: One failure opens the circuit for ten seconds; one success closes it.
TOUCHY = BreakerConfig(failure_threshold=1, reset_timeout=10.0, success_threshold=1, hang_seconds=5.0)


def test_those_who_wait_are_told_at_once_when_the_circuit_opens() -> None:
    door = Door(breaker=TOUCHY)
    for name in "abc":
        door.ask(name)
    with capturedLogs() as logged:
        door.fail("a")
    assert sorted(door.refused) == ["b", "c"]
    error = door.refused["b"]
    assert isinstance(error, CircuitOpen)
    assert (error.name, error.retry_after) == ("http://a:1", 10.0)
    assert [event["log_event"] for event in logged] == ["circuit"]
    assert door.is_idle
    door.ask("d")
    assert isinstance(door.refused["d"], CircuitOpen)


def test_those_who_wait_are_told_at_once_when_a_call_hangs_though_nothing_else_happens() -> None:
    door = Door(breaker=TOUCHY)
    door.ask("hangs")
    door.clock.advance(2.0)
    door.attempts["hangs"].heard()
    door.ask("waits")
    door.clock.advance(4.9)
    assert door.refused == {}
    door.clock.advance(0.1)
    assert list(door.refused) == ["waits"]
    assert door.clock.getDelayedCalls() == []
    door.attempts["hangs"].give_back()
    assert door.is_idle


def test_those_who_wait_are_told_when_the_circuit_opens() -> None:
    door = Door()
    door.ask("a")
    door.ask("b")
    door.upstream.breaker.trip("it broke")
    assert isinstance(door.refused["b"], CircuitOpen)
    door.end("a")
    assert door.upstream.breaker.state is CircuitState.OPEN


def test_an_open_circuit_lets_one_probe_in_when_its_time_is_over_and_the_others_wait_for_it() -> None:
    door = Door(breaker=TOUCHY, cap=9)
    door.ask("a")
    door.fail("a")
    door.clock.advance(10.0)
    for name in ("probe", "b", "c"):
        door.ask(name)
    assert door.entered == ["a", "probe"]
    assert door.refused == {}
    door.end("probe")
    assert door.entered == ["a", "probe", "b", "c"]


def test_those_who_wait_for_a_probe_that_fails_are_told() -> None:
    door = Door(breaker=TOUCHY, cap=9)
    door.ask("a")
    door.fail("a")
    door.clock.advance(10.0)
    door.ask("probe")
    door.ask("b")
    door.fail("probe")
    assert isinstance(door.refused["b"], CircuitOpen)
    assert door.is_idle


@pytest.mark.parametrize("how", ["given back", "hangs"])
def test_a_probe_that_says_nothing_does_not_hold_the_others_for_ever(how: str) -> None:
    door = Door(breaker=TOUCHY, cap=9)
    door.ask("a")
    door.fail("a")
    door.clock.advance(10.0)
    door.ask("probe")
    door.ask("b")
    if how == "given back":
        door.attempts["probe"].give_back()
        assert door.entered == ["a", "probe", "b"]
    else:
        door.clock.advance(5.0)
        assert isinstance(door.refused["b"], CircuitOpen)


@pytest.mark.parametrize(("verdict", "state"), [(SICK, CircuitState.OPEN), (Verdict("no"), CircuitState.CLOSED)])
def test_only_a_failure_of_the_server_counts_against_it(verdict: Verdict, state: CircuitState) -> None:
    door = Door(breaker=TOUCHY)
    door.ask("a")
    door.fail("a", verdict)
    assert door.upstream.breaker.state is state
