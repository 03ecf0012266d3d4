"""Builds the wheel of the tree as a release does, and installs it where nothing else of the project is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from scripts.release import building

ROOT = Path(__file__).parents[1]
PACKAGES = ("assistant", "llm", "resilience", "tools")
#: What stands beside the packages and is built or read.
_FILES = ("pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE", "THIRD_PARTY_NOTICES.md")
_LOCKS = ("requirements-extras.lock", "requirements-game.lock")
#: The date of what is built here: 13 September 2020, in seconds since 1970.
EPOCH = 1_600_000_000


def copied(folder: Path) -> Path:
    """Copy what a release is built of into a new folder, as it stands in the tree."""
    folder.mkdir(parents=True)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "mud_assistant", folder / "mud_assistant", symlinks=True)
    for file in (*_FILES, *_LOCKS):
        shutil.copy(ROOT / file, folder)
    return folder


def built(folder: Path) -> Path:
    """Build the wheel in a folder, and return its path. It holds nothing beside our package and its metadata."""
    _, wheel = building.build(copied(folder / "source"), folder, EPOCH)
    assert beside(wheel) == set()
    return wheel


def beside(wheel: Path) -> set[str]:
    """Return what a wheel would put into site-packages beside our package and its metadata."""
    top = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()} - {"mud_assistant"}
    return {name for name in top if not (name.startswith("mud_assistant-") and name.endswith(".dist-info"))}


def recorded(site: Path) -> dict[str, str]:
    """Return the files that pip recorded in a site-packages for packages that are not ours, each with its package."""
    found: dict[str, str] = {}
    for record in site.glob("*.dist-info/RECORD"):
        name = record.parent.name.partition("-")[0]
        if name != "mud_assistant":
            found |= {line.split(",")[0].casefold(): name for line in record.read_text().splitlines()}
    return found


def installed(folder: Path) -> Path:
    """The interpreter of a new environment with the wheel in it. What the project needs is borrowed from ours."""
    wheel = built(folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True, timeout=300)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # A folder named in a .pth file is searched, but its own .pth files are not read: our editable install stays out.
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "env" / "bin" / "python"
    for name in ("evennia", "twistd"):  # the programs that a game is started with
        program = Path(sysconfig.get_path("scripts")) / name
        if program.exists():
            _, _, rest = program.read_text().partition("\n")
            (python.parent / name).write_text(f"#!{python}\n{rest}")
            (python.parent / name).chmod(0o755)
    return python
