"""Shows results as they come, and slow checks on standard error. Imports nothing of ours but one small module."""

from __future__ import annotations

import sys
from typing import TextIO

from mud_assistant.assistant.checks.finding import Finding


class DoctorScreen:
    """Writes one line for each result to standard output, for people or, with `json`, for machines."""

    def __init__(self, *, json: bool = False) -> None:
        self._json = json
        self._open = False

    def show(self, finding: Finding) -> None:
        """Write a result."""
        self._close()
        _write(sys.stdout, f"{finding.json() if self._json else finding.line()}\n")

    def waiting(self, text: str) -> None:
        """Show which check is slow: at a terminal on one line that changes, elsewhere on a new line each time."""
        if not sys.stderr.isatty():
            _write(sys.stderr, f"... {text}\n")
            return
        self._open = True
        _write(sys.stderr, f"\r\x1b[K{text}")

    def _close(self) -> None:
        if self._open:
            _write(sys.stderr, "\r\x1b[K")
            self._open = False


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
