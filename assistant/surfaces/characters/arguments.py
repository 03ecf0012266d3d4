"""Defines the arguments of `mud-assistant character`. Imports nothing else of ours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

CHARACTER_EXAMPLES = """  mud-assistant character import aqua.png
      shows what a character card would bring, asks, and writes characters/aqua
  mud-assistant character show sage
  mud-assistant character test sage "Where is the old mill?"
      which of its topics that line finds, which lore it brings up, and by which word
  mud-assistant character export sage sage.json"""


# Any: argparse has no public name for the class.
def add_character(commands: Any) -> None:
    """Add the command and its actions to the parsers of commands."""
    character = commands.add_parser(
        "character",
        help="import, show, test or export a character: a persona, greetings and lore",
        description="Characters stand in the folder `characters` beside the settings, or in the game's folder. A card "
        "that somebody else made is shown before it is imported; nothing of it runs or is fetched.",
        epilog=f"examples:\n{CHARACTER_EXAMPLES}\n\n"
        "Exit status: 0, 1 when you say no, 2 when something cannot be read or written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = character.add_subparsers(dest="action", required=True, metavar="ACTION")
    imported = actions.add_parser("import", help="import a character card or a lorebook: .png, .json or .charx")
    imported.add_argument("file", type=Path, metavar="FILE")
    imported.add_argument(
        "--as", dest="name", default="", metavar="NAME", help="under this name, or into this character"
    )
    imported.add_argument("--yes", action="store_true", help="do not ask")
    shown = actions.add_parser("show", help="show a character; without a name, list them")
    shown.add_argument("name", nargs="?", default="", metavar="NAME")
    tested = actions.add_parser("test", help="say which topic a line would find, and which lore it would bring up")
    tested.add_argument("name", metavar="NAME")
    tested.add_argument("line", metavar="LINE", help="the line, in quotes")
    exported = actions.add_parser("export", help="write a character as a card: FILE.json, or FILE.png")
    exported.add_argument("name", metavar="NAME")
    exported.add_argument("file", type=Path, metavar="FILE")
    exported.add_argument("--version", type=int, choices=(2, 3), default=3, help="of the card (default: 3)")
    for action in (imported, shown, tested, exported):
        action.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml here)")
        action.add_argument("--folder", type=Path, metavar="DIR", help="the folder of characters itself")
