"""What THIRD_PARTY_NOTICES.md says of packages, and what the lock files and the packages themselves say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "THIRD_PARTY_NOTICES.md").read_text()
#: Extras that are installed by themselves, beside what the two lock files of a user name.
BESIDE = ("metrics", "otel", "postgres", "tokens")
_ROW = re.compile(r"^\| (?!package )(?P<name>[a-z0-9.-]+) \| (?P<licence>[^|]+) \| (?P<part>[^|]+) \|$", re.MULTILINE)
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[\w+\])?==", re.MULTILINE)
_FAMILIES = {
    "MIT": r"\bMIT\b",
    "BSD": r"BSD",
    "Apache": r"Apache",
    "MPL": r"MPL|Mozilla",
    "LGPL": r"LGPL|Lesser",
    "PSF": r"PSF|Python Software Foundation",
    "ZPL": r"ZPL|Zope",
}


def rows() -> dict[str, str]:
    """Return the licence that the page gives for each package."""
    return {found["name"]: found["licence"].strip() for found in _ROW.finditer(PAGE)}


def pinned(*files: str) -> set[str]:
    """Return the names of the packages in these lock files."""
    return {canonicalize_name(name) for file in files for name in _PINNED.findall((ROOT / file).read_text())}


def brought_by(extras: Iterable[str]) -> set[str]:
    """Return the packages that these extras bring to this environment, with all that those need."""
    declared: Mapping[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    found: set[str] = set()
    waiting = [Requirement(line) for extra in extras for line in declared[extra]]
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if (package := installed(name)) is None or (name in found and not wanted.extras):
            continue
        found.add(name)
        needs = [Requirement(line) for line in package.requires or ()]
        places = [{"extra": extra} for extra in (*wanted.extras, "")]
        waiting += [need for need in needs if not need.marker or any(map(need.marker.evaluate, places))]
    return found


def installed(name: str) -> Distribution | None:
    """Return an installed package, None when it is not here."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def contradicted(name: str, licence: str) -> str:
    """Return what an installed package says of its licence when the page says something else; otherwise nothing."""
    package = installed(name)
    if package is None:
        return ""
    about = package.metadata
    if expressions := about.get_all("License-Expression"):
        return "" if expressions == [licence] else f"{name}: {expressions}"
    told = [line for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    told += [text.strip().partition("\n")[0] for text in about.get_all("License") or ()]
    named = families(" ".join(told))
    return "" if named and named <= families(licence) else f"{name}: {told}"


def families(text: str) -> set[str]:
    """Return which licences a text names, without their versions."""
    return {family for family, pattern in _FAMILIES.items() if re.search(pattern, text)}
