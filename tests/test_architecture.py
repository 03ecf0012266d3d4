"""docs/architecture.md shows the tree as it is, and each package's first file points to the table that decides."""

from __future__ import annotations

import re

import pytest

from tests.architecture import PAGE, ROOT, drawn, picture

FIRST_FILES = re.compile(r"^\| `(\w+)/` \| `([\w/]+\.py)` \|(.*)\|$", re.MULTILINE)
STARTS = [(package, file, tables) for package, file, tables in FIRST_FILES.findall(PAGE.read_text())]


def test_the_picture_shows_the_tree() -> None:
    assert drawn() == picture(), "a folder or its first sentence changed: run python -m tests.architecture"


def test_each_package_says_where_to_start() -> None:
    assert [package for package, _, _ in STARTS] == ["assistant", "tools", "llm", "resilience"]


@pytest.mark.parametrize(("package", "file", "tables"), STARTS)
def test_the_first_file_and_its_tables_exist(package: str, file: str, tables: str) -> None:
    named = re.findall(r"`([\w/]+\.py)`", tables)
    assert file.startswith(package)
    assert named
    assert [name for name in (file, *named) if not (ROOT / name).is_file()] == []
    opening = (ROOT / package / "__init__.py").read_text().split('"""')[1]
    assert file.removeprefix(f"{package}/") in opening, "the package does not say what to read first"
    assert any(name.removeprefix(f"{package}/") in opening for name in named), "nor which table decides"
