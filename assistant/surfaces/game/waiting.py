"""Waits for other processes, and reads what they write into their logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Patience:
    """A clock and a way to sleep, both in seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]

    def until(self, is_so: Callable[[], bool], seconds: float, every_seconds: float = 0.2) -> bool:
        """Wait until `is_so` returns True; return False when it did not within `seconds`.

        It is called at least once. Blocks.
        """
        end = self.now() + seconds
        while not is_so():
            if self.now() >= end:
                return False
            self.sleep(every_seconds)
        return True


@dataclass(slots=True)
class LogTail:
    """A reader of a log that grows, and that Evennia may put aside and begin anew."""

    path: Path
    _at: int = 0
    _rest: bytes = b""

    def to_end(self) -> None:
        """Skip what is in the log now."""
        self._at = self.path.stat().st_size if self.path.exists() else 0
        self._rest = b""

    def lines(self) -> list[str]:
        """Return the whole lines that were written since the last call."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                if size < self._at:
                    self._at, self._rest = 0, b""
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return []
        self._at += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [line.decode("utf-8", "replace").rstrip("\r") for line in whole]
