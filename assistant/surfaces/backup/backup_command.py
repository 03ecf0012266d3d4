"""Runs the command `mud-assistant backup`. Blocks.

FILE             the backup
.FILE.making     a folder with what is being put together; may be deleted while no backup is made

The journal is read as it is at one moment, while others go on writing it: SQLite's backup within one transaction, or
one transaction of PostgreSQL. Its copy is opened and counted, the finished file is read back, and then it gets its
name.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from mud_assistant.assistant.durable import put_in_place, write_whole
from mud_assistant.assistant.journal.database import Database
from mud_assistant.assistant.journal.errors import cause_of
from mud_assistant.assistant.journal.place import JournalPlace, PostgresPlace
from mud_assistant.assistant.journal.reading import open_for_reading
from mud_assistant.assistant.journal.schema import SCHEMA, version_of
from mud_assistant.assistant.journal.sqlite.copying import copy_open, lacking_room
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.backup.archive import (
    JournalMember,
    Manifest,
    Note,
    read_members,
    sum_of,
    write_archive,
)
from mud_assistant.assistant.surfaces.backup.contents import BackupOptions, CannotBackUp, Contents, find_contents
from mud_assistant.assistant.surfaces.journal.copying import copy_journal

#: Beside the settings: when the last backup was made, and where it is. The doctor reads it before an upgrade.
LAST_BACKUP = ".mud-assistant-backup.json"
#: Pages of 4 KiB that are copied at once, and how many lie between two remarks (256 MiB).
_PAGES, _REMARK_PAGES = 4096, 65_536
_MIB = 1024 * 1024


class LastBackup(Struct, frozen=True):
    """When the last backup of an installation was made, in seconds since 1970, and its file."""

    made_at: float
    file: str


def run_backup(
    options: BackupOptions,
    environment: Mapping[str, str],
    secrets: Secrets,
    wall: float,
    *,
    tell: Callable[[str], None],
    note: Note,
) -> int:
    """Make a backup and return the exit status. `wall` is in seconds since 1970. Raises AssistantError."""
    contents, to = find_contents(options, environment, secrets), options.to.absolute()
    if to.exists() and not options.overwrite:
        raise CannotBackUp(f"{to} is there already: name another file with --to, or give --overwrite")
    if to.exists() and not to.is_file():
        raise CannotBackUp(f"{to} is not a file")
    making = to.with_name(f".{to.name}.making")
    try:
        _check_room(contents.journal, to.parent)
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=0o700)
        try:
            manifest = _make(contents, making, wall, note)
            put_in_place(making / "archive", to)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    except OSError as error:
        raise CannotBackUp(f"{to} cannot be written: {error.strerror or error}") from error
    except sqlite3.Error as error:
        raise CannotBackUp(f"the journal {contents.journal} cannot be copied: {cause_of(error)}") from error
    with suppress(OSError):
        write_whole(contents.base / LAST_BACKUP, msgspec.json.encode(LastBackup(wall, str(to))), 0o600)
    tell(secrets.scrub(_told(contents, manifest, to)))
    return 0


def _make(contents: Contents, making: Path, wall: float, note: Note) -> Manifest:
    """Put a backup together as `archive` in the folder, and read it back. Return its manifest."""
    files = {}
    for number, (name, path) in enumerate(sorted(contents.files.items())):
        files[name] = making / f"file-{number}"
        shutil.copyfile(path, files[name])  # who changes it now changes another file
    journal = None
    if contents.journal is not None and (isinstance(contents.journal, PostgresPlace) or contents.journal.exists()):
        files[contents.journal_name] = making / "journal"
        journal = _copied(contents, making / "journal", wall, note)
    members = {name: sum_of(path) for name, path in files.items()}
    manifest = Manifest(version("mud-assistant"), wall, members, contents.settings, journal, contents.left_out)
    archive = making / "archive"
    archive.touch(0o600)
    write_archive(archive, manifest, files, note)
    read_members(archive, lambda *_: None, note)
    return manifest


def _copied(contents: Contents, new: Path, wall: float, note: Note) -> JournalMember:
    """Copy the journal to a file of its own, compare, and return what is in it."""
    place = contents.journal
    if isinstance(place, PostgresPlace):
        copied = copy_journal(place, new, wall, in_use=True)
        rows = {table.name: table.rows for table in copied.tables}
        return JournalMember(contents.journal_name, SCHEMA.version, "postgresql", rows)
    assert place is not None
    with open_for_reading(place, wall) as found:
        if found.damage:
            raise CannotBackUp(f"{place}: {found.damage}; {found.remedy}: then make the backup")
        source = cast(sqlite3.Connection, found.db)
        rows, tables = _counted(found.db), version_of(source)
        copy_open(source, new, pages=_PAGES, progress=_progress(note))
    with open_for_reading(new, wall) as copy:
        if copy.damage or _counted(copy.db) != rows:
            raise CannotBackUp(f"the copy of {place} is not what was read: see the disk of {new.parent.parent}")
    return JournalMember(contents.journal_name, tables, "sqlite", rows)


def _counted(db: Database) -> dict[str, int]:
    """Return how many rows each table has."""
    names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()
    return {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in names}


def _progress(note: Note) -> Callable[[int, int, int], None]:
    def tell(_: int, remaining: int, total: int) -> None:
        done = total - remaining
        if done and done % _REMARK_PAGES < _PAGES <= done:
            note(f"journal: {done * 4 // 1024:,} of {total * 4 // 1024:,} MiB")

    return tell


def _check_room(journal: JournalPlace | None, folder: Path) -> None:
    """Raise CannotBackUp when there is no room for a copy of the journal, and for the file that it is packed into."""
    if not folder.is_dir():
        raise CannotBackUp(f"there is no folder {folder}")
    if not isinstance(journal, Path) or not journal.exists():
        return
    if why := lacking_room(journal, "the backup", folder, copies=2):
        raise CannotBackUp(f"{why} until it is finished: make room, or name another disk with --to")


def _told(contents: Contents, manifest: Manifest, to: Path) -> str:
    lines = [f"Made {to} ({to.stat().st_size / _MIB:.1f} MiB, read back and compared). In it:"]
    if (journal := manifest.journal) is not None:
        lines.append(f"  the journal {contents.journal}: {journal.told}")
    else:
        lines.append("  no journal: there is none yet")
    lines += [f"  {name}" for name in sorted(contents.files)]
    lines += [f"Note: {sentence}." for sentence in manifest.left_out]
    return "\n".join(lines)
