from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock

import mud_assistant
from mud_assistant.llm.embedded.child import MAX_LINE_BYTES, Child, child_environment
from mud_assistant.llm.messages import JSONObject
from mud_assistant.resilience.child import TAIL_BYTES, module_command
from tests.llm.embedded.processes import FakeProcess, FakeProcesses


def spawned(clock: Clock) -> tuple[Child, FakeProcess, list[JSONObject]]:
    heard: list[JSONObject] = []
    child, processes = Child(clock, heard.append), FakeProcesses()
    child.spawn(processes, ("python", "-m", "thing"), {})
    return child, processes.latest, heard


@given(st.lists(st.integers(0, 60), max_size=6))
def test_lines_are_whole_however_they_arrive(cuts: list[int]) -> None:
    child, _, heard = spawned(Clock())
    data = b'{"a": 1}\nllama.cpp says hello\n[1]\n{"b": "\xc3\xa9"}\n{"c": 3}'
    edges = [0, *sorted(cuts), len(data)]

    for start, end in pairwise(edges):
        child.outReceived(data[start:end])

    assert heard == [{"a": 1}, {"b": "é"}]


def test_the_last_line_needs_no_end() -> None:
    child, process, heard = spawned(Clock())
    child.outReceived(b'{"a": 1}')

    process.ends()

    assert heard == [{"a": 1}]


def test_a_line_without_end_is_not_kept() -> None:
    child, _, heard = spawned(Clock())

    for _ in range(3):
        child.outReceived(b"x" * MAX_LINE_BYTES)
    assert len(child._line) <= MAX_LINE_BYTES
    child.outReceived(b'{"a": 1}\n{"b": 2}\n')

    assert heard == [{"b": 2}]


def test_brackets_without_end_are_no_record() -> None:
    child, _, heard = spawned(Clock())

    child.outReceived(b"[" * 60_000 + b"\n")

    assert heard == []


def test_only_the_end_of_stderr_is_kept() -> None:
    child, process, _ = spawned(Clock())

    process.grumbles("x" * 10_000 + "\nthe end\n")

    assert len(child.tail) == TAIL_BYTES
    assert child.last_words() == "the end"


def test_the_librarys_first_error_says_most() -> None:
    child, process, _ = spawned(Clock())

    process.grumbles("0.1 W odd\n0.2 E model is corrupted\n0.3 E failed to load model\nTraceback\n")

    assert child.last_words() == "model is corrupted"


@pytest.mark.parametrize(
    ("status", "signal", "how"),
    [(0, None, "ended with status 0"), (3, None, "ended with status 3"), (None, 6, "was ended by signal 6")],
)
def test_tells_how_it_ended(status: int | None, signal: int | None, how: str) -> None:
    child, process, _ = spawned(Clock())

    process.ends(status or 0, signal)

    assert (child.ended, child.how) == (True, how)


def test_a_kill_from_outside_hints_at_memory() -> None:
    child, process, _ = spawned(Clock())

    process.ends(signal=9)

    assert "memory" in child.how


def test_stop_asks_and_waits() -> None:
    clock = Clock()
    child, process, _ = spawned(clock)
    process.obeys = frozenset()
    gone = [child.stop(), child.stop()]
    assert process.stdin_closed
    assert process.signals == ["TERM"]

    clock.advance(2.9)
    process.ends()

    assert [each.called for each in gone] == [True, True]
    assert process.signals == ["TERM"]
    assert clock.getDelayedCalls() == []


def test_stop_kills_after_three_seconds() -> None:
    clock = Clock()
    child, process, _ = spawned(clock)
    process.obeys = frozenset({"KILL"})
    gone = child.stop()

    clock.advance(3)

    assert process.signals == ["TERM", "KILL"]
    assert gone.called
    assert clock.getDelayedCalls() == []


def test_pipes_held_by_somebody_else_do_not_hold_up_the_end() -> None:
    clock = Clock()
    child, process, _ = spawned(clock)
    process.lets_go = False
    gone = [child.stop()]
    assert [each.called for each in gone] == [False]

    clock.advance(1)

    assert [each.called for each in gone] == [True]
    assert clock.getDelayedCalls() == []


def test_stopping_what_has_ended_is_done_at_once() -> None:
    child, process, _ = spawned(Clock())
    process.ends()

    assert child.stop().called
    assert process.signals == []


def test_the_environment_is_handed_on_without_secrets() -> None:
    given_ = {"PATH": "/bin", "OPENAI_API_KEY": "k", "hub_token": "t", "DB_PASSWORD": "p", "X_SECRET": "s"}

    assert set(child_environment(given_)) == {"PATH", "PYTHONPATH"}


def test_our_packages_come_first_on_the_path() -> None:
    kept = child_environment({"PYTHONPATH": "/game"})

    first, rest = kept["PYTHONPATH"].split(os.pathsep)
    assert (Path(first) / "mud_assistant" / "__init__.py").samefile(mud_assistant.__file__)
    assert rest == "/game"
    assert module_command("python3", "llm.x") == ("python3", "-P", "-m", "llm.x")
