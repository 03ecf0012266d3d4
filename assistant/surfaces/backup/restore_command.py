"""Runs the command `mud-assistant restore`. Blocks.

Everything is compared with its checksum before any of it is used. A new folder gets its name when it is complete; in
one that is there, each file is replaced whole, and the journal last. What is unpacked lies in `.NAME.restoring`
meanwhile, which may be deleted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from msgspec import Struct

from mud_assistant.assistant.config.settings import read_settings
from mud_assistant.assistant.config.toml_edit import CannotEdit, Value, edited
from mud_assistant.assistant.durable import put_in_place, sync
from mud_assistant.assistant.journal.files import beside
from mud_assistant.assistant.journal.schema import SCHEMA
from mud_assistant.assistant.journal.sqlite.copying import is_open_elsewhere, note_restored
from mud_assistant.assistant.memory.recall_file import ENDING
from mud_assistant.assistant.surfaces.backup.archive import JournalMember, Manifest, Note, read_manifest, read_members
from mud_assistant.assistant.surfaces.backup.contents import CannotBackUp
from mud_assistant.assistant.worlds.evennia.install import CONFIG, JOURNAL


class RestoreOptions(Struct, frozen=True):
    """The options of the command line."""

    file: Path
    to: Path
    overwrite: bool = False


def run_restore(options: RestoreOptions, *, tell: Callable[[str], None], note: Note) -> int:
    """Put what a backup holds into a folder, and return the exit status. Raises AssistantError."""
    folder = options.to.absolute()
    manifest = read_manifest(options.file)
    _check(options, manifest, folder)
    new = folder.with_name(f".{folder.name}.restoring")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        try:
            _unpack(options.file, new, note)
            remarks = _settle(new, manifest)
            _put(new, folder, manifest)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise CannotBackUp(f"{folder} cannot be written: {error.strerror or error}") from error
    tell("\n".join([_told(manifest, folder), *remarks]))
    return 0


def _check(options: RestoreOptions, manifest: Manifest, folder: Path) -> None:
    """Raise CannotBackUp when the backup may not be put into the folder."""
    if (journal := manifest.journal) is not None and journal.tables > SCHEMA.version:
        raise CannotBackUp(
            f"{options.file} was made by a newer mud-assistant ({manifest.program}; its journal is of version "
            f"{journal.tables}, this one knows {SCHEMA.version}): install that one to restore it"
        )
    if folder.exists() and not folder.is_dir():
        raise CannotBackUp(f"{folder} is not a folder")
    if folder.is_dir() and any(folder.iterdir()) and not options.overwrite:
        raise CannotBackUp(f"{folder} is not empty: name a new folder, or give --overwrite to replace its files")
    if journal is not None and (folder / journal.name).exists() and is_open_elsewhere(folder / journal.name):
        raise CannotBackUp(f"{folder / journal.name} is in use: stop the program that writes it first")


def _unpack(file: Path, new: Path, note: Note) -> None:
    """Write all members into a new folder, and sync them. Raises CannotBackUp for what is not as it was written."""
    with ExitStack() as last:
        opened: list[IO[bytes]] = []

        def use(name: str, piece: bytes) -> None:
            if not piece:
                last.close()
                (new / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                number = os.open(new / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
                opened[:] = [last.enter_context(os.fdopen(number, "wb"))]
            opened[0].write(piece)

        read_members(file, use, note)
    for path in new.rglob("*"):
        sync(path)


def _settle(new: Path, manifest: Manifest) -> list[str]:
    """Let the journal go on with numbers of its own, and the settings name it; return what the owner must know."""
    if (journal := manifest.journal) is None:
        return []
    note_restored(new / journal.name)
    if not manifest.settings or _names(new, manifest.settings, journal):
        return []
    settings = new / manifest.settings
    place = Path(os.path.relpath(new / journal.name, settings.parent)).as_posix()
    changes: dict[tuple[str, ...], Value | None] = {("journal", name): None for name in ("url", "password")}
    changes["journal", "file"] = place
    try:
        settings.write_text(edited(settings.read_text(encoding="utf-8"), changes), encoding="utf-8")
    except CannotEdit:
        return [f'The settings name the journal of the original: write file = "{place}" into [journal] before a start.']
    remark = f'Its settings named the journal of the original; they have file = "{place}" now.'
    if journal.source == "postgresql":
        remark += " To put it into a database: mud-assistant journal copy, docs/scale-out.md."
    return [remark]


def _names(new: Path, name: str, journal: JournalMember) -> bool:
    """Tell whether the settings name the journal that was unpacked, and no other."""
    config = read_settings(new / name, {}).journal
    if config.url:
        return False
    if not config.file:
        return name == CONFIG and journal.name == JOURNAL
    return ((new / name).parent / config.file).resolve() == (new / journal.name).resolve()


def _put(new: Path, folder: Path, manifest: Manifest) -> None:
    """Put what was unpacked into its place."""
    if not folder.is_dir() or not any(folder.iterdir()):
        if folder.is_dir():
            folder.rmdir()
        new.rename(folder)
        sync(folder.parent)
        return
    journal = manifest.journal.name if manifest.journal else ""
    for name in sorted(manifest.members, key=lambda one: (one == journal, one)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == journal:
            for ending in ("-wal", "-shm", "-mark", ENDING):  # of the journal that was there
                beside(path, ending).unlink(missing_ok=True)
        put_in_place(new / name, path)


def _told(manifest: Manifest, folder: Path) -> str:
    at = datetime.fromtimestamp(manifest.made_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"Restored to {folder}, as it was at {at}:"]
    if (journal := manifest.journal) is not None:
        lines.append(f"  the journal {journal.name}: {journal.told}")
    lines += [f"  {name}" for name in sorted(manifest.members) if journal is None or name != journal.name]
    lines += [f"Note: {sentence}." for sentence in manifest.left_out]
    lines.append(
        "What happened since then is in the world and not in this journal. It is a journal of its own: let it and the "
        "original not both run as the same character. mud-assistant doctor says whether all is well."
    )
    return "\n".join(lines)
