"""docs/support-matrix.md says what pyproject.toml, the lock files and the code say, and what it names runs."""

from __future__ import annotations

import re
import tomllib

from mud_assistant.assistant.config.known_providers import AUTO, EMBEDDED
from mud_assistant.assistant.journal.postgres.refusals import NEWEST, OLDEST
from mud_assistant.assistant.worlds.telnet.profiles.profile import shipped_profiles
from mud_assistant.llm import PROVIDER_NAMES
from mud_assistant.tools.web.registry import READ_PROVIDERS, SEARCH_PROVIDERS
from tests.architecture import ROOT

PAGE = (ROOT / "docs/support-matrix.md").read_text()
ROWS = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in PAGE.splitlines() if line[:2] == "| "]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def versions(of: str) -> list[str]:
    """Return the second cell of each row that begins so."""
    return [row[1] for row in ROWS if row[0] == of]


def pinned(package: str, lock: str) -> list[str]:
    """Return the versions of a package in a lock file."""
    return re.findall(rf"^{package}(?:\[\w+\])?==(\S+)", (ROOT / lock).read_text(), re.MULTILINE)


def test_every_python_of_the_package_has_a_row() -> None:
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert declared
    assert set(declared) <= set(versions("Python"))
    assert f">={versions('Python')[0]}" == PROJECT["requires-python"]


def test_the_versions_that_are_proven_are_those_that_are_installed_here() -> None:
    assert versions("Evennia")[:2] == pinned("evennia", "requirements-oldest.lock")
    twisted = [*pinned("twisted", "requirements-oldest.lock"), *pinned("twisted", "requirements-dev.lock")]
    assert versions("Twisted")[:2] == twisted


def test_the_ranges_are_those_of_the_package() -> None:
    (twisted,) = (line for line in PROJECT["dependencies"] if line.startswith("Twisted"))
    assert versions("Twisted")[0].startswith(twisted.rpartition(">=")[2])
    (evennia,) = PROJECT["optional-dependencies"]["evennia"]
    assert evennia == f"evennia>={versions('Evennia')[0]},<7"


def test_every_postgresql_that_is_taken_has_a_row_and_an_older_one_is_refused() -> None:
    told = " ".join(versions("PostgreSQL"))
    taken = range(OLDEST, NEWEST + 1)
    assert [number for number in taken if str(number) not in told] == []
    assert f"{OLDEST - 1} and before" in told


def test_every_provider_and_every_profile_has_a_row() -> None:
    named = {name for row in ROWS for name in re.findall(r"`([\w-]+)`", row[0])}
    wanted = {AUTO, EMBEDDED, *PROVIDER_NAMES, *SEARCH_PROVIDERS, *READ_PROVIDERS, *shipped_profiles()}
    assert wanted - named == set()


def test_what_is_said_to_run_it_is_there() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z][\w-]*)`", PAGE)) - set(targets) == set()
    paths = re.findall(r"`((?:tests|scripts|requirements)[\w/.-]+)`", PAGE)
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_a_row_without_what_runs_it_says_that_it_is_not_proven() -> None:
    assert [row for row in ROWS if not row[-1] and "not proven" not in " ".join(row) and any(row)] == []
