"""The screen of a trial without a terminal, and one that hides keys. `terminal.py` has the one of a terminal."""

from __future__ import annotations

import sys
from typing import Protocol

from assistant.keys.redaction import Secrets


class Screen(Protocol):
    """The output of a trial."""

    def show(self, text: str) -> None:
        """Show a piece of the transcript."""
        ...

    def remark(self, text: str) -> None:
        """Show a remark about the program, which is not part of the story."""
        ...

    def thinking(self, name: str | None) -> None:
        """Show who is thinking now, None when nobody is."""
        ...


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


class DiscreetScreen:
    """A screen that passes everything on to another one, remarks without keys."""

    def __init__(self, screen: Screen, secrets: Secrets) -> None:
        self._screen = screen
        self._secrets = secrets

    def show(self, text: str) -> None:
        """Show a piece of the transcript."""
        self._screen.show(text)

    def remark(self, text: str) -> None:
        """Show a remark about the program, such as a server's error text, without keys."""
        self._screen.remark(self._secrets.scrub(text))

    def thinking(self, name: str | None) -> None:
        """Show who is thinking now, None when nobody is."""
        self._screen.thinking(name)
