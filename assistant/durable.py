"""Writes files whole or not at all, so that they are on disk afterwards, and locks files. All of it blocks, briefly."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Write to a temporary file and rename it, so that a reader finds either the old content or the new.

    `mode` is that of the file. Raises OSError.
    """
    with NamedTemporaryFile(prefix=f".{path.name}.", dir=path.parent, delete=False) as file:
        new = Path(file.name)
        try:
            file.write(data)
            file.flush()
            new.chmod(mode)
            os.fsync(file.fileno())
            new.replace(path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
    sync(path.parent)


def put_in_place(new: Path, path: Path) -> None:
    """Rename a finished file to `path`, so that it is there whole or not at all. Raises OSError."""
    sync(new)
    new.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Sync a file, or a folder with the names in it, which Windows cannot. Raises OSError."""
    if os.name == "nt" and path.is_dir():
        return
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path` alone; wait while another process or thread holds it. Blocks. Raises OSError.

    The system releases it when the process ends, however it ends. The file stays: deleting it would let in two.
    """
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if sys.platform == "win32":
            msvcrt.locking(number, msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)
