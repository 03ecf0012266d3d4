"""The house only gets smaller: no number of `limits.toml` is passed, and none is loosened without a decision."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.event_path import measure
from tests.architecture import ROOT
from tests.limits import FILE, Source, limits, loosened, measured, text_before

TABLES = limits((ROOT / FILE).read_text())


@pytest.fixture(scope="module")
def numbers() -> dict[str, int]:
    return measured(Source(ROOT))


def test_every_number_has_a_limit_and_every_limit_a_number(numbers: dict[str, int]) -> None:
    assert {*TABLES["most"], *TABLES["least"]} == {*numbers, "files_a_line_passes", "functions_a_line_passes"}


def test_no_number_passes_its_limit(numbers: dict[str, int]) -> None:
    over = {name: number for name, number in numbers.items() if number > TABLES["most"].get(name, number)}
    under = {name: number for name, number in numbers.items() if number < TABLES["least"].get(name, number)}
    assert (over, under) == ({}, {}), "python -m tests.limits"


async def test_a_heard_line_passes_no_more_files_and_functions(reactor: Any) -> None:
    path = await measure(reactor)
    assert len(path.files) <= TABLES["most"]["files_a_line_passes"], "python -m benchmarks.event_path --files"
    assert len(path.functions) <= TABLES["most"]["functions_a_line_passes"], "python -m benchmarks.event_path --files"


def test_no_limit_is_loosened_without_a_decision() -> None:
    if (before := text_before(ROOT)) is None:
        pytest.skip("git does not tell what the limits were in the commit before")
    pages = TABLES.get("decisions", {})
    named = {name for name, number in pages.items() if _says(number, name)}
    assert loosened(limits(before), TABLES) - named == set()


def _says(number: int, name: str) -> bool:
    """Tell whether the page of this decision names the limit."""
    texts = [path.read_text() for path in (ROOT / "docs/decisions").glob(f"{number:04}-*.md")]
    return any(re.search(rf"`{name}`", text) for text in texts)


def test_what_allows_more_is_seen() -> None:
    before = limits("[most]\nlines = 10\nfiles = 3\n[least]\ntests = 90\n")
    assert loosened(before, before) == set()
    assert loosened(before, limits("[most]\nlines = 9\nfiles = 3\n[least]\ntests = 95\n")) == set()
    assert loosened(before, limits("[most]\nlines = 11\n[least]\ntests = 89\n")) == {"lines", "files", "tests"}


def test_what_is_measured_is_counted_right(tmp_path: Path) -> None:
    for name in ("assistant/loop/run.py", "llm/run.py", "tools/one.py", "tests/test_one.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "class RunContext:\n    a: int\n    b: int\n" if "assistant" in name else "class Run:\n    c: int\n"
        )
    (tmp_path / "tools/one.py").write_text("from mud_assistant.llm.run import Other\n\n\nclass Other:\n    pass\n")
    found = measured(Source(tmp_path))
    assert found["source_lines"] == 3 + 2 + 5
    assert (found["source_files"], found["file_names_twice"], found["class_names_twice"]) == (3, 1, 0)
    assert (found["fields_of_run_context"], found["fields_of_run"], found["import_circles"]) == (2, 1, 0)
    (tmp_path / "llm/run.py").write_text("from mud_assistant.tools.one import Other\n\n\nclass Run:\n    c: int\n")
    assert measured(Source(tmp_path))["import_circles"] == 1
