"""The file of a backup: a gzipped tar with `manifest.json` first, and the members that it names with their checksums.

It is written under another name, read back, compared, and renamed. A kill leaves nothing under its name but what was
there before.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec
from msgspec import Struct

from mud_assistant.assistant.surfaces.backup.contents import CannotBackUp

MANIFEST = "manifest.json"
#: The version of this format. A reader refuses a higher one.
FORMAT = 1
#: How many bytes a manifest may have.
_MANIFEST_BYTES = 16 * 1024 * 1024
_CHUNK = 1024 * 1024
#: How much of a large backup is done between two remarks.
_REMARK_BYTES = 256 * 1024 * 1024
_MIB = 1024 * 1024
#: Is told how far a slow step is.
Note = Callable[[str], None]


class BackupMember(Struct, frozen=True):
    """A file in a backup."""

    size: int
    sha256: str


class JournalMember(Struct, frozen=True):
    """The journal in a backup: a file of SQLite, with so many rows in each table. `source` is what it was kept in."""

    name: str
    tables: int
    source: str
    rows: Mapping[str, int]

    @property
    def told(self) -> str:
        """How much is in it, for the owner. In the first versions of the tables memories were notes."""
        memories = self.rows.get("memories", self.rows.get("notes", 0))
        return f"{self.rows['events']:,} events, {self.rows['runs']:,} runs, {memories:,} memories"


class Manifest(Struct, frozen=True):
    """What a backup says of itself. `made_at` is in seconds since 1970."""

    program: str
    made_at: float
    members: Mapping[str, BackupMember]
    settings: str = ""
    journal: JournalMember | None = None
    left_out: tuple[str, ...] = ()
    format: int = FORMAT


def sum_of(path: Path) -> BackupMember:
    """Return the size and checksum of a file. Raises OSError."""
    with path.open("rb") as file:
        return _summed(file, lambda _: None)


def write_archive(path: Path, manifest: Manifest, files: Mapping[str, Path], note: Note) -> None:
    """Write a backup with these files by name. Raises OSError."""
    remarks = _Remarks("writing", note)
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        data = msgspec.json.format(msgspec.json.encode(manifest))
        archive.addfile(_entry(MANIFEST, len(data), manifest.made_at), BytesIO(data))
        for name, file in files.items():
            with file.open("rb") as opened:
                archive.addfile(_entry(name, manifest.members[name].size, manifest.made_at), _Watched(opened, remarks))


def read_manifest(path: Path) -> Manifest:
    """Return what a backup says of itself. Raises CannotBackUp."""
    with _opened(path) as archive:
        return _manifest(path, archive)


def read_members(path: Path, use: Callable[[str, bytes], None], note: Note) -> Manifest:
    """Read a whole backup, compare it with its checksums, and return its manifest. Raises CannotBackUp.

    `use` gets each piece of each member by its name, in order, an empty one first.
    """
    remarks = _Remarks("reading", note)
    with _opened(path) as archive:
        manifest, missing = _manifest(path, archive), set[str]()
        missing.update(manifest.members)
        while (entry := archive.next()) is not None:
            if entry.name not in missing or not entry.isfile() or (opened := archive.extractfile(entry)) is None:
                raise CannotBackUp(
                    f"{path} is not used: its manifest does not name {entry.name!r}, or it is twice there"
                )
            missing.discard(entry.name)
            use(entry.name, b"")
            found = _summed(opened, partial(_pass_on, entry.name, use, remarks))
            if found != manifest.members[entry.name]:
                raise CannotBackUp(f"{path} is damaged: {entry.name} is not what was written")
        if missing:
            raise CannotBackUp(f"{path} is damaged: it lacks {', '.join(sorted(missing))}")
    return manifest


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(path, "r|gz") as archive:
            yield archive
    except (tarfile.TarError, EOFError) as error:
        raise CannotBackUp(f"{path} is no backup, or is damaged: {error}") from error
    except OSError as error:
        raise CannotBackUp(f"{path} cannot be read: {error.strerror or error}") from error


def _manifest(path: Path, archive: tarfile.TarFile) -> Manifest:
    entry = archive.next()
    opened = archive.extractfile(entry) if entry is not None and entry.name == MANIFEST else None
    if opened is None:
        raise CannotBackUp(f"{path} is no backup of mud-assistant: it does not begin with {MANIFEST}")
    data = opened.read(_MANIFEST_BYTES)
    try:
        version = msgspec.json.decode(data, type=dict)["format"]
        if version > FORMAT:
            raise CannotBackUp(f"{path} was made by a newer mud-assistant: install that one to restore it")
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise CannotBackUp(f"{path} is no backup of mud-assistant: its {MANIFEST} cannot be read") from error
    for name in (*manifest.members, *((manifest.journal.name,) if manifest.journal else ())):
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\\" in name or ":" in name or not pure.parts:
            raise CannotBackUp(f"{path} is not used: it names a file outside its folder, {name!r}")
    return manifest


def _pass_on(name: str, use: Callable[[str, bytes], None], remarks: _Remarks, piece: bytes) -> None:
    use(name, piece)
    remarks.add(len(piece))


def _entry(name: str, size: int, at: float) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, 0o600, int(at)
    return entry


def _summed(file: IO[bytes], use: Callable[[bytes], object]) -> BackupMember:
    digest, size = sha256(), 0
    while piece := file.read(_CHUNK):
        use(piece)
        digest.update(piece)
        size += len(piece)
    return BackupMember(size, digest.hexdigest())


class _Remarks:
    """Tells now and then how far a large backup is."""

    def __init__(self, what: str, note: Note) -> None:
        self._what, self._note = what, note
        self._done = self._told = 0

    def add(self, size: int) -> None:
        """Count bytes."""
        self._done += size
        if self._done - self._told >= _REMARK_BYTES:
            self._told = self._done
            self._note(f"{self._what}: {self._done // _MIB:,} MiB")


class _Watched(BytesIO):
    """A file that is read, and tells how much was."""

    def __init__(self, file: IO[bytes], remarks: _Remarks) -> None:
        super().__init__()
        self._read_from, self._remarks = file, remarks

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes."""
        piece = self._read_from.read(-1 if size is None else size)
        self._remarks.add(len(piece))
        return piece
