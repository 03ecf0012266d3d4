"""The page of the numbered edge cases names files and tests that exist, and every number that a test names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/edge-cases.md").read_text()
CASE = re.compile(r"^- \*\*(?P<number>\d+)\*\* .+ `(?P<file>[\w/]+\.py)`, `(?P<test>test_\w+)`$", re.MULTILINE)
FORMAT = re.compile(r"^\| F(?P<number>\d+) \|.*`(?P<file>[\w/]+\.py)` \|$", re.MULTILINE)
#: From here on a number in the name of a test is an HTTP status.
FIRST_STATUS = 400
CASES = [(found["number"], found["file"], found["test"]) for found in CASE.finditer(PAGE)]


def _tests() -> str:
    """Return every test file of the repository, as one text."""
    return "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))


def _moved(file: str) -> str:
    """Return where a file of this name is now, for the message of a failure."""
    places = [place for package in ("assistant", "tools", "llm", "resilience") for place in (ROOT / package).rglob("*")]
    return ", ".join(str(place.relative_to(ROOT)) for place in places if place.name == Path(file).name) or "nowhere"


def test_every_case_is_written_in_the_one_form_and_has_a_number_of_its_own() -> None:
    numbers = [number for number, _, _ in CASES]
    assert len(numbers) == len(re.findall(r"^- ", PAGE, re.MULTILINE))
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    "file", sorted({file for _, file, _ in CASES} | {found["file"] for found in FORMAT.finditer(PAGE)})
)
def test_the_file_that_handles_a_case_exists(file: str) -> None:
    assert (ROOT / file).is_file(), f"docs/edge-cases.md: {file} is now {_moved(file)}"


def test_the_test_of_every_case_exists() -> None:
    defined = set(re.findall(r"def (test_\w+)", _tests()))
    assert [(number, test) for number, _, test in CASES if test not in defined] == []


def test_every_number_in_the_name_of_a_test_is_on_the_page() -> None:
    named = re.findall(r"def test_((?:\d+_(?:and_|to_)?)+)\w+", _tests())
    numbers = {int(number) for name in named for number in re.findall(r"\d+", name)}
    numbers = {number for number in numbers if number < FIRST_STATUS}
    assert numbers - {int(number) for number, _, _ in CASES} == set()


def test_every_format_that_a_test_names_is_on_the_page() -> None:
    source = _tests()
    named = {*re.findall(r"def test_f(\d+)_", source), *re.findall(r"\"F(\d+) ", source)}
    assert named - {found["number"] for found in FORMAT.finditer(PAGE)} == set()
