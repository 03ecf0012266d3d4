"""Defines the arguments of `mud-assistant worker` and `mud-assistant tell`. Imports nothing else of ours."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Any

WORKER_EXAMPLES = """  mud-assistant worker
      the assistants of [worker] in assistant.toml; run it with the same settings on as many machines as you like
  mud-assistant worker --assistant sage --assistant mira --name cellar
      these two, as the process that the others call cellar
  mud-assistant worker --place docs/places/harbour.toml --port 8411"""

TELL_EXAMPLES = """  mud-assistant tell sage "Are you there?"
      from any machine with the same settings, wherever Sage lives
  mud-assistant tell sage --as Anna --timeout 30 "Who keeps the mill?" """

#: How long `tell` waits for an answer by default, in seconds.
TELL_SECONDS = 120.0
_DAY_SECONDS = 86_400.0


# Any: argparse has no public name for the class.
def add_worker(commands: Any, page_port: Callable[[str], int]) -> argparse.ArgumentParser:
    """Add the command to the parsers of commands, and return its parser."""
    worker: argparse.ArgumentParser = commands.add_parser(
        "worker",
        help="run assistants without a terminal, shared with other machines through PostgreSQL",
        description="Runs assistants that are tied to no game. Several workers with the same settings, on one machine "
        "or on many, share them: each assistant lives in one of them, and when that one ends or its machine dies, "
        "another goes on where it was. It needs a journal in PostgreSQL: [journal] url of the settings.",
        epilog=f"examples:\n{WORKER_EXAMPLES}\n\n"
        "They hear what is said with `mud-assistant tell`. docs/worker.md tells more.\n"
        "Ctrl-C and SIGTERM give the assistants to the other workers at once.\n"
        "Exit status: 0 after either; 75 when trying again may help, 77 for what this user may "
        "not do, 78 when the settings must be changed, 64 for a wrong command line.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    worker.add_argument(
        "--assistant",
        action="append",
        metavar="NAME",
        dest="assistants",
        help="run this one, a character or a plain name; may be repeated (default: [worker] assistants)",
    )
    worker.add_argument(
        "--name",
        dest="process",
        metavar="NAME",
        help="what the other processes call this one; after a crash the same name takes its assistants back at once "
        "(default: the machine's name and a number that is new at each start)",
    )
    worker.add_argument("--place", type=Path, metavar="FILE", help="the rooms they live in, see docs/characters.md")
    worker.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")
    worker.add_argument(
        "--port",
        dest="page",
        type=page_port,
        metavar="N",
        help="the port of the operator's page (default: 8410, or no page when that is taken); 0: any free one",
    )
    worker.add_argument("--log", type=Path, metavar="FILE", help="write the log to a file; -: to standard error")
    return worker


# Any: as above.
def add_tell(commands: Any) -> None:
    """Add the command to the parsers of commands."""
    tell = commands.add_parser(
        "tell",
        help="say something to an assistant of a worker, wherever it lives, and show its answer",
        description="Leaves words for an assistant in the journal that the workers share, waits until the one that "
        "runs it has heard them, and prints what it answers. Words that nobody has heard in time are taken back.",
        epilog=f"examples:\n{TELL_EXAMPLES}\n\n"
        "Exit status: 0 when it answered, 1 when it did not, 2 when something kept the words from being left.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    tell.add_argument("name", metavar="NAME", help="the assistant")
    tell.add_argument("words", metavar="WORDS", help="what is said to it")
    tell.add_argument("--as", dest="speaker", metavar="NAME", default="Visitor", help="who says it (default: Visitor)")
    tell.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        default=TELL_SECONDS,
        help=f"how long to wait for an answer (default: {TELL_SECONDS:.0f})",
    )
    tell.add_argument("--config", type=Path, metavar="FILE", help="settings (default: assistant.toml, if there)")


def _seconds(text: str) -> float:
    """Return a number of seconds. argparse explains what it must be when it is not valid."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not (isfinite(seconds) and 0 < seconds <= _DAY_SECONDS):
        raise argparse.ArgumentTypeError("give a number of seconds above 0")
    return seconds
