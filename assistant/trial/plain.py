"""A trial that is no terminal: lines in, transcript out. Also what `--json` prints through."""

from __future__ import annotations

import sys


class PlainScreen:
    """The transcript on standard output; with `quiet` only what the program says, on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def show(self, text: str) -> None:
        """A piece of the transcript."""
        if not self._quiet:
            print(text, flush=True)

    def remark(self, text: str) -> None:
        """Something about the program."""
        print(text, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def thinking(self, name: str | None) -> None:
        """A transcript shows no sign; a person who watches standard error does see one."""
        if sys.stderr.isatty():
            sign = f"{name} is thinking ..." if name else ""
            print(f"\r\x1b[K{sign}", end="", file=sys.stderr, flush=True)
