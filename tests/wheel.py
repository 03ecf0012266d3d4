"""Builds a wheel of the tree, and installs it where nothing else of the project is."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("assistant", "llm", "resilience", "tools")


def installed(folder: Path) -> Path:
    """The interpreter of a new environment with the wheel in it. What the project needs is borrowed from ours."""
    source = folder / "source"
    source.mkdir()
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "mud_assistant", source / "mud_assistant", symlinks=True)
    for file in ("pyproject.toml", "README.md", "LICENSE", "THIRD_PARTY_NOTICES.md"):
        shutil.copy(ROOT / file, source)
    build = ("pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder), ".")
    subprocess.run([sys.executable, "-m", *build], cwd=source, check=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    beside = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()} - {"mud_assistant"}
    assert all(name.startswith("mud_assistant-") and name.endswith(".dist-info") for name in beside), beside
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
