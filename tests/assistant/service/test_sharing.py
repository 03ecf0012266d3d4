"""Waits that servers ask for, told from process to process: heeded like our own, told once, never as a key."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from twisted.internet.task import Clock

from mud_assistant.assistant.service.sharing import COOLDOWN, SharedStandstills
from mud_assistant.resilience import CallTarget, CircuitState, Pipeline

ORIGIN = "http://a:1"
TARGET = CallTarget(ORIGIN, "5f3a", "small")


class Wire:
    """Carries notices to all processes, to the one that sent them as well, as PostgreSQL does."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.ends: list[End] = []

    def carry(self, words: str) -> None:
        self.sent.append(words)
        for end in self.ends:
            end.on_notice(words)


class End:
    def __init__(self, wire: Wire) -> None:
        self.on_notice: Callable[[str], None] = lambda _: None
        self._wire = wire
        wire.ends.append(self)

    def tell(self, words: str) -> None:
        self._wire.carry(words)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def processes(wire: Wire) -> list[Pipeline]:
    clock = Clock()
    clock.advance(1000)
    pipelines = [Pipeline(clock, Random(1)) for _ in range(3)]  # noqa: S311  (jitter)
    for pipeline in pipelines:
        SharedStandstills(pipeline, End(wire))
    return pipelines


def test_a_wait_is_heeded_by_all_and_told_once(wire: Wire, processes: list[Pipeline]) -> None:
    here, *others = processes
    here.quota(TARGET).cool(1020.0, "come back later")
    for other in others:
        assert other.quota(TARGET).ready_at(1, 1000.0) == 1020.0
        assert other.quota(CallTarget(ORIGIN, "other", "small")).ready_at(1, 1000.0) <= 1000.0
    assert len(wire.sent) == 1
    here.quota(TARGET).cool(1020.5, "come back later")  # no news
    here.quota(TARGET).cool(1030.0, "come back later")
    assert len(wire.sent) == 2
    assert others[0].quota(TARGET).cool_until == 1030.0


def test_a_notice_of_its_own_that_comes_back_late_lengthens_nothing(wire: Wire, processes: list[Pipeline]) -> None:
    here, there, _ = processes
    here.quota(TARGET).cool(1020.0, "come back later")
    assert isinstance(here.clock, Clock)
    here.clock.advance(15)
    for end in wire.ends:
        end.on_notice(wire.sent[0])
    assert here.quota(TARGET).cool_until == 1020.0
    assert there.quota(TARGET).cool_until == 1035.0, "for others it is a wait of twenty seconds from now"


@pytest.mark.parametrize("own", ["http://127.0.0.1:11434", "http://localhost:11434", "http://[::1]:8080"])
def test_a_server_of_this_machine_is_no_matter_of_others(wire: Wire, processes: list[Pipeline], own: str) -> None:
    processes[0].quota(CallTarget(own, "", "small")).cool(1020.0, "come back later")
    processes[0].upstream(own).breaker.trip("it failed")
    assert wire.sent == []
    wire.carry(f'{COOLDOWN}["x", "{own}", "", "small", 20.0, false]')
    assert processes[1].snapshot().quotas == ()


def test_a_wait_of_less_than_a_second_is_not_told(wire: Wire, processes: list[Pipeline]) -> None:
    processes[0].quota(TARGET).cool(1000.9, "at once")
    assert wire.sent == []


def test_an_open_circuit_is_heeded_where_the_server_is_known_and_told_no_further(
    wire: Wire, processes: list[Pipeline]
) -> None:
    here, there, stranger = processes
    there.upstream(ORIGIN)
    here.upstream(ORIGIN).breaker.trip("it failed")
    assert there.upstream(ORIGIN).breaker.state is CircuitState.OPEN
    assert stranger.servers() == ()
    assert len(wire.sent) == 1


@pytest.mark.parametrize(
    "words",
    [
        "",
        "free sage",
        COOLDOWN,
        f"{COOLDOWN}nonsense",
        f'{COOLDOWN}["x"]',
        f'{COOLDOWN}["x", "{ORIGIN}", "", "", NaN, 0]',
    ],
)
def test_what_cannot_be_read_changes_nothing(wire: Wire, processes: list[Pipeline], words: str) -> None:
    wire.carry(words)
    assert processes[0].snapshot().quotas == ()


def test_a_wait_that_is_told_ends_after_an_hour_at_most(wire: Wire, processes: list[Pipeline]) -> None:
    processes[0].quota(TARGET).cool(1e9, "never")
    assert processes[1].quota(TARGET).cool_until == 1000.0 + 3600.0
