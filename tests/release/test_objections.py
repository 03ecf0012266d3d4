"""What keeps a version from being released is said before anything is built."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from shutil import which

import pytest

from scripts.release import building
from scripts.release.__main__ import ROOT, entry, objections

_GIT = which("git") or "git"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small project of version 1.2.0, committed."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "small"\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.0 (2026-11-27)\n\nBetter.\n\n## 1.1.0\n\n## 1.0.0\n\nGood.\n"
    )
    (tmp_path / "changelog.d").mkdir()
    for line in ("init -q", "add .", "-c user.name=A -c user.email=a@example.org commit -q -m all --no-gpg-sign"):
        subprocess.run([_GIT, *line.split()], cwd=tmp_path, check=True)
    return tmp_path


def test_nothing_is_said_against_the_version_that_is_committed(checkout: Path) -> None:
    assert objections(checkout, "1.2.0") == []


def test_a_version_has_the_form_of_pep_440(checkout: Path) -> None:
    assert any("no version by PEP 440" in each for each in objections(checkout, "one"))
    assert any("written 1.2.0 by PEP 440" in each for each in objections(checkout, "v1.2.0"))


def test_the_version_is_the_one_of_pyproject_and_has_an_entry(checkout: Path) -> None:
    first, second = objections(checkout, "1.3.0")
    assert "pyproject.toml says version 1.2.0" in first
    assert "no entry" in second
    assert entry(checkout, "1.2.0") == "Better."
    assert entry(checkout, "1.1.0") == ""


def test_fragments_that_wait_and_changes_that_are_not_committed_are_named(checkout: Path) -> None:
    (checkout / "changelog.d/+more.feature.md").write_text("More.\n")
    first, second = objections(checkout, "1.2.0")
    assert "1 fragments" in first
    assert "git status" in second


def test_a_commit_is_exported_without_what_lies_beside_it(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (checkout / "beside.txt").write_text("not committed\n")
    target = tmp_path_factory.mktemp("export")
    date = building.export(checkout, target)
    assert date > 1_700_000_000
    assert not (target / "beside.txt").exists()
    assert (target / "CHANGELOG.md").exists()


def test_the_version_of_the_tree_has_an_entry_and_stands_in_one_place() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert entry(ROOT, version)
