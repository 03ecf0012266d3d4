"""The folder that holds the model file: decides which file is trusted, lets one process fetch, checks disk space."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import BinaryIO

from msgspec.structs import replace

from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.models import ModelFile
from mud_assistant.llm.embedded.progress import Reporter

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

#: How many bytes are read at once.
CHUNK_BYTES = 1024 * 1024
#: How many bytes must stay free on the disk.
SPARE_BYTES = 64 * 1024 * 1024
_LOCK_POLL_SECONDS = 0.25


class ModelStore:
    """One model file in one folder. Unfinished pieces are kept in a work folder beside it."""

    def __init__(self, data_dir: Path, model: ModelFile, report: Reporter) -> None:
        self.model = model
        self.report = report
        self.path = data_dir / model.file_name
        self.work = data_dir / f"{model.file_name}.work"
        self._stamp = data_dir / f"{model.file_name}.verified"
        self._lock = data_dir / f"{model.file_name}.lock"

    def is_trusted(self) -> bool:
        """Tell whether the file is there and is the pinned one. It is hashed once, then known by its size and time."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return False
        if status.st_size != self.model.size_bytes:
            return False
        if self._read_stamp() == self._stamp_of(self.path):
            return True
        if self._sum(self.path, "file") != self.model.sha256:
            return False
        self._write_stamp()
        return True

    def adopt(self, candidate: Path, source: str) -> None:
        """Make the candidate the model file. Raises SourceFailed, and deletes the candidate, when it is wrong.

        A model without a pinned hash is pinned to that of the candidate.
        """
        same_size = candidate.stat().st_size == self.model.size_bytes
        found = self._sum(candidate, source) if same_size else ""
        if not same_size or found != (self.model.sha256 or found):
            candidate.unlink()
            raise SourceFailed("what came is not the pinned file (its SHA-256 differs)")
        self.model = replace(self.model, sha256=found)
        with candidate.open("rb+") as file:
            os.fsync(file.fileno())
        candidate.replace(self.path)
        self._write_stamp()
        shutil.rmtree(self.work, ignore_errors=True)

    def require_room(self, need_bytes: int) -> None:
        """Check the disk. Raises SourceFailed when it has too little room for `need_bytes` more."""
        free = shutil.disk_usage(self.path.parent).free
        if free < need_bytes + SPARE_BYTES:
            wanted = (need_bytes + SPARE_BYTES) // 1_000_000
            raise SourceFailed(f"the disk has {free // 1_000_000} MB free and {wanted} MB are needed")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process in at a time. A second one waits, and reports the progress of the first."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a+b") as file:
            if not _try_lock(file):
                self._wait_for(file)
            try:
                yield
            finally:
                _unlock(file)

    def _wait_for(self, file: BinaryIO) -> None:
        self.report.note("another process is fetching the model; waiting for it")
        pause, total = Event(), self.model.size_bytes
        while not _try_lock(file):
            done = min(bytes_below(self.work), total - 1)
            self.report.progress("download", done, total, "another process")
            pause.wait(_LOCK_POLL_SECONDS)

    def _sum(self, path: Path, source: str) -> str:
        digest, done = sha256(), 0
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
                done += len(chunk)
                self.report.progress("verify", done, self.model.size_bytes, source)
        return digest.hexdigest()

    def _stamp_of(self, path: Path) -> dict[str, object]:
        status = path.stat()
        return {"sha256": self.model.sha256, "size_bytes": status.st_size, "mtime_ns": status.st_mtime_ns}

    def _read_stamp(self) -> object:
        try:
            return json.loads(self._stamp.read_bytes())
        except (OSError, ValueError):
            return None

    def _write_stamp(self) -> None:
        fresh = self._stamp.with_name(f"{self._stamp.name}.new")
        fresh.write_text(json.dumps(self._stamp_of(self.path)))
        fresh.replace(self._stamp)


def is_being_fetched(model: ModelFile, data_dir: Path) -> bool:
    """Tell whether another process fetches this model now."""
    try:
        with (data_dir / f"{model.file_name}.lock").open("rb+") as file:
            if is_free := _try_lock(file):
                _unlock(file)
            return not is_free
    except OSError:
        return False


def arrived_bytes(model: ModelFile, data_dir: Path) -> int:
    """Return how many bytes of a model that is not whole have come so far."""
    return bytes_below(data_dir / f"{model.file_name}.work")


def bytes_below(folder: Path) -> int:
    """Return the size in bytes of all files below a folder, which may change while it is read."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).stat().st_size
            except OSError:
                continue  # moved away since it was listed
    return total


def file_sum(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits, empty when there is no such file."""
    digest = sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    except FileNotFoundError:
        return ""
    return digest.hexdigest()


def _try_lock(file: BinaryIO) -> bool:
    """Take the lock if it is free, and tell whether it is ours now.

    The system releases it when this process ends, however it ends.
    """
    try:
        if sys.platform == "win32":
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _unlock(file: BinaryIO) -> None:
    if sys.platform == "win32":
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_UN)
