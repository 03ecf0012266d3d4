"""Defines the arguments of `mud-assistant journal`, and how journals are named. Imports nothing else of ours."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

JOURNAL_EXAMPLES = """  mud-assistant journal copy hamlet.journal postgresql://mud@db.example/mud --password env:MUD_DB
      from one file to a database that several machines share; stop the game first
  mud-assistant journal copy settings backup.journal
      the journal that assistant.toml names, to a new file
  mud-assistant journal copy postgresql://mud@db.example/mud hamlet.journal
      and back; the password is taken from PGPASSFILE or ~/.pgpass
  mud-assistant journal restored
      a backup of the journal that assistant.toml names was put back"""

#: Stands for the journal of the settings.
OF_SETTINGS = "settings"
_ADDRESS = re.compile(r"postgres(ql)?:")
_WHERE = f"a file, postgresql://USER@HOST/DATABASE, or the word {OF_SETTINGS} for the journal of the settings"


def journal_name(text: str) -> Path | str:
    """Return the path of a file, or the address of a database as it was given."""
    return text if _ADDRESS.match(text) else Path(text)


# Any: argparse has no public name for the class.
def add_journal(commands: Any) -> None:
    """Add the command and its action to the parsers of commands."""
    journal = commands.add_parser(
        "journal",
        help="copy a journal: from a file to PostgreSQL, back, or to another file; say that a backup was put back",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The journal is what the assistants heard, did and remember.",
        epilog=f"examples:\n{JOURNAL_EXAMPLES}",
    )
    actions = journal.add_subparsers(dest="action", required=True, metavar="ACTION")
    copy = actions.add_parser(
        "copy",
        help="copy a whole journal to a place where there is none",
        description="Copies all that the assistants of a journal heard, did and remember, with the same numbers, and "
        "compares both afterwards. No program may be writing either; the source is only read. All of the copy is "
        "there at the end, or nothing of it.",
        epilog=f"examples:\n{JOURNAL_EXAMPLES}\n\n"
        "Then name the new place in [journal] of assistant.toml: file = ..., or url = ... and password = ...\n\n"
        "Exit status: 0, or 2 when something cannot be read or written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    copy.add_argument("source", type=_name, metavar="FROM", help=_WHERE)
    copy.add_argument("target", type=_name, metavar="TO", help="the same; there must be no journal yet")
    _add_password(copy)
    restored = actions.add_parser(
        "restored",
        help="say that a backup of a journal was put back",
        description="Says that an older state of a journal was put back: a dump, a snapshot, a copy of a file. Whoever "
        "wrote to the newer one may do so no more: each process takes its assistants anew, and no number is given "
        "twice. For a database also while processes run; of a file, stop its program first.",
        epilog="Exit status: 0, or 2 when the journal cannot be read or written.",
    )
    restored.add_argument("source", type=_name, metavar="JOURNAL", nargs="?", default=OF_SETTINGS, help=_WHERE)
    restored.set_defaults(target=OF_SETTINGS)
    _add_password(restored)


# Any: as above.
def _add_password(action: Any) -> None:
    action.add_argument(
        "--password",
        metavar="REFERENCE",
        default="",
        help="where the password of a postgresql:// address is: env:NAME, file:PATH or keyring:NAME (default: as in "
        "the settings, for the same address; else PGPASSFILE or ~/.pgpass)",
    )
    action.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")


def _name(text: str) -> Path | str:
    return text if text == OF_SETTINGS else journal_name(text)
