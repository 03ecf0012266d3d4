"""Writes what a child process reports to its parent: one JSON object per line on stdout.

Progress is reported at most four times a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TextIO

#: Seconds between two progress lines.
PROGRESS_EVERY_SECONDS = 0.25


class Reporter:
    """A writer of the lines. `now` gives seconds that only go forward."""

    def __init__(self, stream: TextIO, now: Callable[[], float]) -> None:
        self._stream = stream
        self._now = now
        self._last_kind = ""
        self._next_at = 0.0

    def progress(self, kind: str, done_bytes: int, total_bytes: int, source: str) -> None:
        """Write a progress line, unless one of the same kind was written just now and this one is not the last."""
        now = self._now()
        if kind == self._last_kind and now < self._next_at and done_bytes < total_bytes:
            return
        self._last_kind, self._next_at = kind, now + PROGRESS_EVERY_SECONDS
        self._write({"progress": kind, "done_bytes": done_bytes, "total_bytes": total_bytes, "source": source})

    def note(self, text: str) -> None:
        """Write one sentence that a person should see."""
        self._write({"note": text})

    def model(self, path: str) -> None:
        """Write the path of the model file. This is the last line of a fetch that succeeded."""
        self._write({"model": path})

    def ready(self, url: str, model: str, *, own_template: bool) -> None:
        """Write that the server answers at `url`."""
        self._write({"url": url, "model": model, "own_template": own_template})

    def error(self, sentence: str, *, see_stderr: bool = False) -> None:
        """Write why there is no result. `see_stderr`: the library printed the exact cause there."""
        self._write({"error": sentence, "see_stderr": see_stderr})

    def _write(self, record: dict[str, str | int | bool]) -> None:
        # The parent is gone and needs no line; the lifeline ends this process.
        try:
            self._stream.write(json.dumps(record) + "\n")
            self._stream.flush()
        except OSError:
            return
