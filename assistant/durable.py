"""Writes files whole or not at all, and so that they are on disk afterwards. Everything here blocks, but briefly."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


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
