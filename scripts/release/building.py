"""Builds the sdist and the wheel of a tree, the same bytes wherever, by whomever and under whatever umask.

The wheel is built from the sdist, so what is uploaded is enough to build it.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from scripts.release import archives, sbom

_UMASK = 0o022
#: What a builder's own settings may not change.
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")


def export(root: Path, folder: Path) -> int:
    """Write the last commit of the checkout at `root` into `folder`; return its date, in seconds since 1970. Blocks."""
    packed = subprocess.run(["git", "archive", "--format=tar", "HEAD"], cwd=root, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tree:
        tree.extractall(folder, filter="data")
    return int(_asked(root, "log", "-1", "--format=%ct"))


def is_clean(root: Path) -> bool:
    """Return whether the checkout at `root` holds what its last commit does, and nothing beside it. Blocks."""
    return not _asked(root, "status", "--porcelain")


def build(source: Path, dist: Path, epoch: int) -> list[Path]:
    """Build the sdist and the wheel of the tree at `source` into `dist`, dated `epoch` (seconds since 1970).

    Raises CalledProcessError when setuptools fails. Blocks for ten seconds or so. `source` is written into.
    """
    dist.mkdir(parents=True, exist_ok=True)
    sdist = _built("sdist", source, dist, epoch)
    archives.rewrite_sdist(sdist, epoch)
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        with tarfile.open(sdist) as packed:
            packed.extractall(scratch, filter="data")
        [unpacked] = Path(scratch).iterdir()
        wheel = _built("wheel", unpacked, dist, epoch)
    archives.rewrite_wheel(wheel, epoch, {sbom.PLACE: sbom.bill(source, epoch)})
    return [sdist, wheel]


def _built(kind: str, source: Path, dist: Path, epoch: int) -> Path:
    """Let setuptools write one archive, in a process that knows nothing of the builder's settings."""
    code = f"import sys, setuptools.build_meta as backend; print('\\n' + backend.build_{kind}(sys.argv[1]))"
    own = {name: os.environ[name] for name in _KEPT if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(dist.resolve())],
        cwd=source,
        env={**own, "SOURCE_DATE_EPOCH": str(max(epoch, archives.OLDEST))},
        umask=_UMASK,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return dist / done.stdout.split()[-1]


def _asked(root: Path, *question: str) -> str:
    return subprocess.run(["git", *question], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
