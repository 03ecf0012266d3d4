"""Defines the arguments of `mud-assistant serve`. Imports nothing else of ours."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

#: The highest port there is.
_MAX_PORT = 65_535
#: Stands for the port of the settings.
ANY_PORT = -1

SERVE_EXAMPLES = """  mud-assistant serve --journal sage.journal
      an assistant in the hamlet without a terminal, with the operator's page; open the address that is printed
  mud-assistant serve --config games/hamlet.toml --port 8080
  mud-assistant serve --journal server/assistant.sqlite --read-only
      look at the journal of a game, also while the game is down or writing it; nothing is changed"""


# Any: argparse has no public name for the class.
def add_serve(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parsers of commands, and return its parser."""
    serve: argparse.ArgumentParser = commands.add_parser(
        "serve",
        help="run an assistant without a terminal, or look at a journal, with the operator's page",
        description="Starts an assistant in its place and the operator's page beside it, and prints an address that is "
        "good for one log-in. With --read-only no assistant runs: the page shows what a journal holds.",
        epilog=f"examples:\n{SERVE_EXAMPLES}\n\n"
        "In a game of Evennia the page is there already, at /assistants of the game's own web site.\n"
        "Exit status: 0 after Ctrl-C and SIGTERM; 75 when trying again may help, 77 for what this user may "
        "not do, 78 when the settings must be changed, 64 for a wrong command line.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument("--name", help="what the assistant is called (default: the place's character, or Sage)")
    serve.add_argument("--place", type=Path, metavar="FILE", help="its rooms and character, see docs/characters.md")
    serve.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    serve.add_argument("--journal", type=Path, metavar="FILE", help="remember everything in this file, or look at it")
    serve.add_argument("--read-only", action="store_true", help="only look at the journal: no assistant runs")
    serve.add_argument(
        "--port", dest="page", type=page_port, metavar="N", help="the port of the page (default: 8410); 0: any free one"
    )
    serve.add_argument("--log", type=Path, metavar="FILE", help="write the log to a file; -: to standard error")
    return serve


# Any: as above.
def add_page(trial: Any) -> None:
    """Add the option for a page beside a trial."""
    trial.add_argument(
        "--page",
        nargs="?",
        type=page_port,
        const=ANY_PORT,
        metavar="PORT",
        help="open the operator's page beside it, at this port (default: 8410); 0: any free one",
    )


def page_port(text: str) -> int:
    """Return a port to listen on. argparse explains what it must be when it is not valid."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_PORT)) else -1
    if not 0 <= number <= _MAX_PORT:
        raise argparse.ArgumentTypeError(f"give a number from 0 to {_MAX_PORT}; 0 takes a free port")
    return number
