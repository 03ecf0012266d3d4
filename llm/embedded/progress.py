"""What the embedded model reports while it is being made ready, and where it can be reached afterwards.

A child process writes it for its parent as JSON lines, one object per line on stdout. Progress is reported at most four
times a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TextIO

from msgspec import Struct

from mud_assistant.llm.messages import JSONObject

#: Seconds between two progress lines.
PROGRESS_EVERY_SECONDS = 0.25


class Phase(StrEnum):
    """What is going on. The values of the first three are the words of the fetching process."""

    DOWNLOAD = "download"
    VERIFY = "verify"
    JOIN = "join"
    #: Something happened that a person should see; `FetchProgress.note` says what.
    NOTE = "note"
    #: The model is being loaded.
    START = "start"


class FetchProgress(Struct, frozen=True):
    """How far the embedded model is. Sizes are bytes, 0 where they mean nothing."""

    phase: Phase
    done_bytes: int = 0
    total_bytes: int = 0
    source: str = ""
    note: str = ""

    @property
    def fraction(self) -> float:
        """The completed part of this phase, from 0 to 1."""
        return self.done_bytes / self.total_bytes if self.total_bytes else 0.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the embedded model answers. `url` has no path; Chat Completions are below `/v1`.

    `own_template` is True when the template was changed so that native tool calls are recognised. Then 3 to 4 examples
    of calls in the history make the calls correct.
    """

    url: str
    key: str = field(repr=False)
    model: str
    own_template: bool

    @property
    def port(self) -> int:
        """The port number."""
        return int(self.url.rpartition(":")[2])


def read_progress(record: JSONObject) -> FetchProgress | None:
    """Return the progress that a line of the fetching process reports, or None for any other line."""
    note = record.get("note")
    if isinstance(note, str):
        return FetchProgress(Phase.NOTE, note=note)
    done, total, source = record.get("done_bytes"), record.get("total_bytes"), record.get("source")
    if isinstance(done, int) and isinstance(total, int) and isinstance(source, str):
        try:
            return FetchProgress(Phase(str(record.get("progress"))), done, total, source)
        except ValueError:
            return None
    return None


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
