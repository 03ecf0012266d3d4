"""Defines the arguments of `mud-assistant backup` and `mud-assistant restore`. Imports nothing else of ours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

BACKUP_EXAMPLES = """  mud-assistant backup
      journal, settings and characters of this folder, into backup.tar.gz, while the assistant runs
  mud-assistant backup path/to/game --to /mnt/backups/hamlet.tar.gz --overwrite
      those of an Evennia game; its own database is Evennia's: copy that as well
  mud-assistant restore hamlet.tar.gz --to path/to/folder
      on this machine or another; the folder is new, or empty"""
#: Where a backup goes without `--to`.
BACKUP_FILE = Path("backup.tar.gz")


# Any: argparse has no public name for the class.
def add_backup(commands: Any) -> None:
    """Add both commands to the parsers of commands."""
    backup = commands.add_parser(
        "backup",
        help="put journal, settings and characters into one file, also while the assistant runs",
        description="Puts the journal as it is at one moment, the settings, the characters and other files that the "
        "settings name into one file, reads it back and compares. Nothing is changed in what it reads. Keys are left "
        "out unless --keys is given. The file holds what players said: only its owner may read it.",
        epilog=f"examples:\n{BACKUP_EXAMPLES}\n\nExit status: 0, or 2 when something cannot be read or written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    backup.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="the folder with assistant.toml, or that of an Evennia game (default: this folder)",
    )
    backup.add_argument("--config", type=Path, metavar="FILE", help="settings (default: those of the folder)")
    backup.add_argument(
        "--journal", type=Path, metavar="FILE", help="the journal's file (default: as the settings or the game say)"
    )
    backup.add_argument(
        "--to", type=Path, metavar="FILE", default=BACKUP_FILE, help="the file to write (default: backup.tar.gz)"
    )
    backup.add_argument(
        "--keys", action="store_true", help="with the files of keys that lie in the folder: whoever has it has them"
    )
    backup.add_argument("--overwrite", action="store_true", help="replace the file when it is there")
    restore = commands.add_parser(
        "restore",
        help="put what a backup holds into a folder",
        description="Compares all that is in the backup with its checksums, and puts it into a folder. The journal "
        "goes on from there, with numbers that the original never gave. It is a journal of its own: do not let both "
        "run as the same character.",
        epilog=f"examples:\n{BACKUP_EXAMPLES}\n\nExit status: 0, or 2 when something cannot be read or written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    restore.add_argument("file", type=Path, metavar="FILE", help="the backup")
    restore.add_argument("--to", type=Path, metavar="FOLDER", required=True, help="where to; new, or empty")
    restore.add_argument(
        "--overwrite",
        action="store_true",
        help="also into a folder that is not empty: files of the backup replace those",
    )
