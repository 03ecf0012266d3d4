"""The options of `mud-assistant setup`. Loads nothing of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

SETUP_EXAMPLES = """  mud-assistant setup
      asks for the model, the web and the journal, writes assistant.toml and tests it
  mud-assistant setup --config games/hamlet.toml
      keys are kept beside it, in games/keys/
  printf '%s\\n' local http://127.0.0.1:8080/v1 no qwen3 no hamlet.journal no yes | mud-assistant setup
      one answer a line; an empty line takes what is proposed"""


# Any: the class that argparse returns has no public name.
def add_setup(commands: Any) -> None:
    """Add the command to the parser of the whole."""
    setup = commands.add_parser(
        "setup",
        help="ask for what an assistant needs, write assistant.toml and test it",
        description="Asks which model thinks, whether the web is used, and where things are remembered; writes the "
        "settings and tests them. What is in the file already is proposed, and what it is not asked for stays as it "
        "is. Keys are asked for without showing them, and kept outside the settings: in a file closed to others, in "
        "the environment or in the keyring.",
        epilog=f"examples:\n{SETUP_EXAMPLES}\n\n"
        "Exit status: 0 when the settings are written and all is well, 1 when they are written and the doctor found\n"
        "something wrong, 2 when they are not written, 130 after Ctrl-C: before the last answer nothing is written.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    setup.add_argument("--config", type=Path, metavar="FILE", help="the settings to write (default: assistant.toml)")
    setup.add_argument("--page", metavar="URL", help="the page to try the readers on (default: https://example.com/)")
