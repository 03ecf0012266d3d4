"""Makes the bill of materials of a release: CycloneDX 1.6, the same bytes for the same lock files.

A wheel holds nothing of anybody else's. The bill names what is installed beside it: each package of the lock files, in
the version the release was tested with, and who asks for it.
"""

from __future__ import annotations

import json
import re
import tomllib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

#: Their packages are in the bill. Evennia holds Twisted back, so a package may be there in two versions.
LOCKS = ("requirements-extras.lock", "requirements-game.lock")
#: Where the bill lies in a `.dist-info` (PEP 770).
PLACE = "sboms/mud-assistant.cdx.json"
#: What the locks call the product itself, and what only builds it.
_US, _BUILDERS = "mud-assistant", frozenset({"setuptools"})
_PIN = re.compile(r"([a-z0-9._-]+)(?:\[[^]]*\])?==([^ ;]+)")
_ASKED_BY = re.compile(r"\s+#\s+(?:via\s+)?(?!via$)([a-z0-9][a-z0-9._-]*)")


@dataclass(frozen=True)
class Package:
    """A package of a lock file, with the names of those that ask for it."""

    name: str
    version: str
    asked_by: frozenset[str]

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def packages(lock: str) -> list[Package]:
    """Return the packages that the text of an annotated lock file pins."""
    found: list[tuple[str, str, set[str]]] = []
    for line in lock.splitlines():
        if pin := _PIN.match(line):
            found.append((pin[1], pin[2], set()))
        elif asked := _ASKED_BY.match(line):
            found[-1][2].add(asked[1])
    return [Package(name, version, frozenset(by)) for name, version, by in found if name not in _BUILDERS]


def bill(root: Path, epoch: int) -> bytes:
    """Return the bill of the project at `root` as JSON, dated `epoch` (seconds since 1970). Blocks."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    product = Package(project["name"], project["version"], frozenset())
    components: dict[str, dict[str, Any]] = {}
    arrows: dict[str, set[str]] = {product.purl: set()}
    for lock in LOCKS:
        pinned = packages((root / lock).read_text())
        # One lock may pin two versions of a package, for an older and a newer Python.
        purls = {_US: [product.purl]}
        for package in pinned:
            purls.setdefault(package.name, []).append(package.purl)
        for package in pinned:
            components[package.purl] = _component(package, project)
            arrows.setdefault(package.purl, set())
            for asking in (purl for name in package.asked_by for purl in purls[name]):
                arrows.setdefault(asking, set()).add(package.purl)
    content = _document(product, project, components, arrows, epoch)
    return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode()


def _document(
    product: Package,
    project: dict[str, Any],
    components: dict[str, dict[str, Any]],
    arrows: dict[str, set[str]],
    epoch: int,
) -> dict[str, Any]:
    """Return the bill. Its number is made from what it holds, so that it is the same in each build."""
    listed = [components[purl] for purl in sorted(components)]
    number = uuid.uuid5(uuid.NAMESPACE_URL, f"{product.purl} {epoch} {json.dumps(listed, sort_keys=True)}")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "application",
                "bom-ref": product.purl,
                "name": product.name,
                "version": product.version,
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": product.purl,
            },
        },
        "components": listed,
        "dependencies": [{"ref": ref, "dependsOn": sorted(arrows[ref])} for ref in sorted(arrows)],
    }


def _component(package: Package, project: dict[str, Any]) -> dict[str, Any]:
    """Return a package as a component; what asks for it directly, the core or which extras, is among its properties."""
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
    }
    if _US not in package.asked_by:
        return component
    if package.name in _names(project["dependencies"]):
        return component | {"scope": "required"}
    extras = project["optional-dependencies"]
    asking = sorted(extra for extra in extras if extra != "dev" and package.name in _names(extras[extra]))
    return component | {
        "scope": "optional",
        "properties": [{"name": "mud-assistant:extra", "value": extra} for extra in asking],
    }


def _names(requirements: list[str]) -> set[str]:
    """Return the names of requirements, as lock files write them."""
    return {re.sub(r"[-_.]+", "-", re.split(r"[^A-Za-z0-9._-]", each)[0]).lower() for each in requirements}
