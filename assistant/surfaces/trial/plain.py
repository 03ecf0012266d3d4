"""The screen of a trial without a terminal: lines in, transcript out. `--json` uses it too."""

from __future__ import annotations

import sys


class PlainScreen:
    """A screen that prints the transcript on standard output; with `quiet` only remarks, on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def show(self, text: str) -> None:
        """Print a piece of the transcript, unless `quiet`."""
        if not self._quiet:
            print(text, flush=True)

    def remark(self, text: str) -> None:
        """Print a remark about the program."""
        print(text, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def thinking(self, name: str | None) -> None:
        """Show or clear the thinking sign on standard error when that is a terminal. A transcript shows no sign."""
        if sys.stderr.isatty():
            sign = f"{name} is thinking ..." if name else ""
            print(f"\r\x1b[K{sign}", end="", file=sys.stderr, flush=True)
