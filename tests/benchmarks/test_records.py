"""Runs as lines of JSON, and two of them side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.figures import Figure, ratio
from benchmarks.records import Run, change, comparison, read_json, this_run, versions, write_json

RUN = Run(
    "2026-11-21T17:00:00+00:00", "abc1234", "quick", "x86_64, 2 cores", {"python": "3.11.7", "twisted": "26.10.0"}
)
CALL = ratio("1", "call", [0.4, 0.5, 0.6], 0.6, note="fast")
WAIT = Figure("", "acknowledgement", 3.0, "ms")
LOST = Figure("lag", "events lost", 0, "", 0)


def test_a_line_says_all_of_a_figure_and_of_its_run(tmp_path: Path) -> None:
    write_json(tmp_path / "run", [CALL, LOST], RUN)
    lines = [json.loads(line) for line in (tmp_path / "run").read_text().splitlines()]
    assert lines[0] == {
        "date": "2026-11-21T17:00:00+00:00",
        "goal": "1",
        "name": "call",
        "value": 0.5,
        "unit": "x",
        "limit": 0.6,
        "low": 0.4,
        "high": 0.6,
        "note": "fast",
        "at_least": False,
        "rounds": 3,
        "failed": False,
        "verdict": "met",
        "commit": "abc1234",
        "set": "quick",
        "machine": "x86_64, 2 cores",
        "versions": {"python": "3.11.7", "twisted": "26.10.0"},
    }
    assert [line["verdict"] for line in lines] == ["met", "met"]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    write_json(tmp_path / "run", [CALL, WAIT, LOST], RUN)
    assert read_json(tmp_path / "run") == (RUN, [CALL, WAIT, LOST])


def test_of_many_runs_in_one_file_the_last_is_read(tmp_path: Path) -> None:
    later = replace(RUN, date="2026-11-22T17:00:00+00:00")
    for name, run in (("first", RUN), ("second", later)):
        write_json(tmp_path / name, [CALL], run)
    both = tmp_path / "both"
    both.write_text((tmp_path / "first").read_text() + (tmp_path / "second").read_text())
    assert read_json(both) == (later, [CALL])


@pytest.mark.parametrize("text", ["", "\n", '{"name": "call"}\n', "no JSON\n"])
def test_a_file_without_a_run_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run").write_text(text)
    with pytest.raises(ValueError):  # noqa: PT011  (of json too, which has its own words)
        read_json(tmp_path / "run")


def test_this_run_says_what_takes_part() -> None:
    run = this_run(full=True)
    assert run.set == "full"
    assert {"python", "twisted", "orjson", "openai-agents", "langchain"} <= set(run.versions)
    assert versions()["twisted"][0].isdigit()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ([0.4, 0.5, 0.6], [0.7, 0.8, 0.9], ("+60 %", "worse")),
        ([0.7, 0.8, 0.9], [0.3, 0.4, 0.5], ("-50 %", "better")),
        ([0.4, 0.5, 0.6], [0.5, 0.6, 0.7], ("+20 %", "")),
    ],
    ids=["worse", "better", "overlapping"],
)
def test_ratios_differ_where_their_quartiles_do_not_overlap(
    old: list[float], new: list[float], told: tuple[str, str]
) -> None:
    assert change(ratio("1", "a", old), ratio("1", "a", new)) == told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (Figure("", "a", 3.0, "ms"), Figure("", "a", 300.0, "ms"), ("a time", "")),
        (Figure("", "a", 100.0, "events/s"), Figure("", "a", 9.0, "events/s"), ("a time", "")),
        (Figure("lag", "lost", 0, "", 0), Figure("lag", "lost", 2, "", 0), ("2 more", "worse")),
        (Figure("lag", "lost", 4, "", 0), Figure("lag", "lost", 1, "", 0), ("-75 %", "better")),
        (Figure("lag", "lost", 0, "", 0), Figure("lag", "lost", 0, "", 0), ("the same", "")),
        (Figure("", "most", 80, ""), Figure("", "most", 60, ""), ("-25 %", "")),
        (Figure("8", "wall", 1.2, "x", 1.15), Figure("8", "wall", 2.4, "x", 1.15), ("+100 %", "")),
        (Figure("11", "m", 100.0, "KiB"), Figure("11", "m", 103.0, "KiB"), ("+3 %", "")),
        (Figure("11", "m", 100.0, "KiB"), Figure("11", "m", 80.0, "KiB"), ("-20 %", "better")),
        (
            Figure("15", "p", 99.0, "%", 100, at_least=True),
            Figure("15", "p", 100.0, "%", 100, at_least=True),
            ("+1 %", "better"),
        ),
        (Figure("1", "a", 1.0, "x"), None, ("", "")),
        (Figure("1", "a", 1.0, "x"), Figure("1", "a", None, "x"), ("", "")),
        (Figure("1", "a", 1.0, "x"), Figure("1", "a", 1.0, "KiB"), ("", "")),
    ],
    ids=[
        "time",
        "pace",
        "count",
        "fewer",
        "same",
        "no limit",
        "wall",
        "memory",
        "less memory",
        "at least",
        "gone",
        "no value",
        "other unit",
    ],
)
def test_what_a_change_means(old: Figure, new: Figure | None, told: tuple[str, str]) -> None:
    assert change(old, new) == told


def test_two_runs_side_by_side() -> None:
    later = replace(RUN, commit="def5678", versions={"python": "3.11.7", "twisted": "24.11.0"})
    slower = ratio("1", "call", [0.7, 0.8, 0.9], 0.6)
    text = comparison((RUN, [CALL, WAIT]), (later, [slower, replace(WAIT, value=9.0), LOST]))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "commit abc1234" in text
    assert "commit def5678" in text
    assert "versions that differ: twisted 26.10.0 -> 24.11.0" in text
    assert "Absolute times of another day or another machine do not" in text
    assert "1 call 0.5 x 0.8 x +60 % worse met missed" in lines
    assert "lag events lost not measured 0 met" in lines
    assert lines[-1] == "acknowledgement 3 ms 9 ms a time"
