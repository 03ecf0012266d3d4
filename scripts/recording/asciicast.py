"""A recording of a terminal, as a file of asciinema's second format: https://docs.asciinema.org/manual/asciicast/v2/."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Longer pauses are shown as this long, in seconds: players of the format read it from the file.
IDLE_LIMIT = 1.6


@dataclass(frozen=True)
class Recording:
    """What a terminal was sent, each piece with the second it came at."""

    width: int
    height: int
    title: str
    output: Sequence[tuple[float, str]]

    def paced(self) -> list[tuple[float, str]]:
        """Return the output from second 0 on, with no pause longer than the limit."""
        now = before = 0.0
        pieces = []
        for at, text in self.output:
            now += min(at - before, IDLE_LIMIT) if pieces else 0.0
            before = at
            pieces.append((round(now, 3), text))
        return pieces

    def save(self, path: Path) -> None:
        """Write the file. It says neither when nor where it was made."""
        header = {
            "version": 2,
            "width": self.width,
            "height": self.height,
            "title": self.title,
            "idle_time_limit": IDLE_LIMIT,
        }
        lines = [json.dumps(header), *(json.dumps([round(at, 3), "o", text]) for at, text in self.output)]
        path.write_text("\n".join(lines) + "\n")


def load(path: Path) -> Recording:
    """Read a file."""
    header, *events = map(json.loads, path.read_text().splitlines())
    output = [(at, text) for at, kind, text in events if kind == "o"]
    return Recording(header["width"], header["height"], header["title"], output)
