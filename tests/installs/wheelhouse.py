"""A folder of the wheels that the lock files pin: what pip would fetch, with hashes checked, and nothing newer."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.wheel import ROOT, recorded

#: Beside the newest Twisted every extra but Evennia, and Evennia with the Twisted it asks for.
LOCKS = ("requirements-extras.lock", "requirements-game.lock")
FOLDER = ROOT / ".cache/wheelhouse"
#: Whose packages may not have a file of ours: environments of tests, clients and benchmarks, as far as they are made.
_ENVIRONMENTS = (".venv", ".venv-*")
#: Known to every client of models, and named as one of our own folders is.
_NAMESAKE = ("llm", "tests/clients/requirements.txt")


def fill() -> Path:
    """Fetch or build what the locks pin, once, and return the folder. Raises CalledProcessError. Blocks."""
    locks = [ROOT / lock for lock in LOCKS]
    name, lock = _NAMESAKE
    pinned = [block for block in (ROOT / lock).read_text().split("\n") if block]
    start = next(number for number, line in enumerate(pinned) if line.startswith(f"{name}=="))
    block = [pinned[start], *_hashes(pinned[start + 1 :])]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (alone := FOLDER / "namesake.txt").write_text("\n".join(block).rstrip("\\ ") + "\n")
    stamp = FOLDER / "filled.txt"
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in [*locks, alone])).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return FOLDER
    for path in [*locks, alone]:
        # What has no wheel is built; Evennia asks for a few that have none.
        line = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*line, "--requirement", str(path), "--wheel-dir", str(FOLDER)], check=True, timeout=3600)
    stamp.write_text(wanted)
    return FOLDER


def _hashes(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not line.lstrip().startswith("--hash"):
            return
        yield line


def others() -> dict[str, str]:
    """Return the files that other packages install, in the folder and in the environments, each with its package."""
    found: dict[str, str] = {}
    for wheel in FOLDER.glob("*.whl"):
        if not wheel.name.startswith("mud_assistant-"):
            found |= dict.fromkeys(map(str.casefold, zipfile.ZipFile(wheel).namelist()), wheel.name.partition("-")[0])
    for site in (site for pattern in _ENVIRONMENTS for site in ROOT.glob(f"{pattern}/lib/python*/site-packages")):
        found |= recorded(site)
    return found


def in_common(wheel: Path) -> dict[str, str]:
    """Return the files of a wheel of ours that another package installs too, and which."""
    theirs = others()
    ours = {name.casefold() for name in zipfile.ZipFile(wheel).namelist()} | {"../../../bin/mud-assistant"}
    return {name: theirs[name] for name in sorted(ours & theirs.keys())}
