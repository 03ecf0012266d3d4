from __future__ import annotations

import pytest

from tests.llm.embedded.rig import READY, Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_server_that_died_comes_back_with_the_same_port_and_key(rig: Rig) -> None:
    first = rig.ready()

    rig.crash()
    rig.clock.advance(0.9)
    assert len(rig.processes.started) == 1
    rig.clock.advance(0.1)
    rig.processes.latest.says(READY)

    assert rig.processes.latest.command[4] == "4711"
    assert rig.restarted == [first]
    assert rig.model.stop().called


def test_a_port_that_was_taken_meanwhile_is_told(rig: Rig) -> None:
    rig.ready()

    rig.crash()
    rig.clock.advance(1)
    rig.processes.latest.says({**READY, "url": "http://127.0.0.1:4712"})

    assert [endpoint.port for endpoint in rig.restarted] == [4712]


def test_after_three_restarts_in_ten_minutes_it_is_lost(rig: Rig) -> None:
    rig.ready()
    for delay in (1, 4, 16):
        rig.crash()
        rig.clock.advance(delay)
        rig.processes.latest.says(READY)
    assert len(rig.restarted) == 3

    rig.crash()
    rig.clock.advance(1000)

    assert len(rig.processes.started) == 4
    assert [error.cause.startswith("it failed too often") for error in rig.lost] == [True]
    assert "GGML_ASSERT" in rig.lost[0].cause
    assert rig.clock.getDelayedCalls() == []


def test_restarts_that_fail_count_as_well(rig: Rig) -> None:
    rig.ready()

    rig.crash()
    for delay in (1, 4, 16):
        rig.clock.advance(delay)
        rig.processes.latest.says({"error": "there is not enough memory"})
        rig.processes.latest.ends(1)

    assert rig.restarted == []
    assert len(rig.processes.started) == 4
    assert "not enough memory" in rig.lost[0].cause


def test_old_crashes_are_forgotten(rig: Rig) -> None:
    rig.ready()
    for _ in range(10):
        rig.crash()
        rig.clock.advance(1)
        rig.processes.latest.says(READY)
        rig.clock.advance(600)

    assert len(rig.restarted) == 10
    assert rig.lost == []


def test_stopping_during_the_wait_for_a_restart_starts_nothing(rig: Rig) -> None:
    rig.ready()
    rig.crash()

    assert rig.model.stop().called
    rig.clock.advance(1000)

    assert len(rig.processes.started) == 1
    assert rig.clock.getDelayedCalls() == []


def test_stopping_during_a_restart_ends_the_new_server(rig: Rig) -> None:
    rig.ready()
    rig.crash()
    rig.clock.advance(1)

    assert rig.model.stop().called

    assert rig.processes.latest.signals == ["TERM"]
    assert rig.clock.getDelayedCalls() == []
