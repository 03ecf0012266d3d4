"""When which bytes of an answer go out. Pure: time and randomness are passed in."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from resilience.testing.faults.combined import Ending, Shape

#: A limited rate is kept in steps of this many seconds.
RATE_STEP_SECONDS = 0.05

Due = tuple[float, bytes | Ending]


class Schedule:
    """The timetable of one answer: it returns what it is given with the time, in clock seconds, when each part is due.

    `is_over` is True once the answer has its ending; nothing comes after it.
    """

    def __init__(self, shape: Shape, random: Random) -> None:
        self._shape = shape
        self._random = random
        self._last: float | None = None
        self._left = shape.cut_bytes
        self.is_over = False

    def of(self, data: bytes, now: float) -> list[Due]:
        """Return the data in pieces, up to the cut, and the ending if the cut is reached."""
        if self.is_over:
            return []
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        due: list[Due] = [(self._due(len(piece), arrival), piece) for arrival, piece in self._pieces(data, now)]
        return due if self._left != 0 else due + self.end(self._shape.cut_ending, now)

    def end(self, ending: Ending, now: float) -> list[Due]:
        """Return the ending, unless there was one before."""
        if self.is_over:
            return []
        self.is_over = True
        if self._last is None:
            self._last = now + self._delay()
        slow = self._shape.slow_close_seconds if ending is Ending.CLOSE else 0.0
        return [(max(self._last, now) + slow, ending)]

    def _pieces(self, data: bytes, now: float) -> Iterator[tuple[float, bytes]]:
        """Yield the data in slices, each with the earliest time for it."""
        size = self._size(len(data))
        arrival = now + self._delay() if data else now
        for start in range(0, len(data), size):
            yield arrival, data[start : start + size]

    def _size(self, whole: int) -> int:
        sizes = [max(1, whole)]
        if self._shape.slicer is not None:
            sizes.append(self._shape.slicer.size)
        if self._shape.bytes_per_second is not None:
            sizes.append(max(1, int(self._shape.bytes_per_second * RATE_STEP_SECONDS)))
        return min(sizes)

    def _due(self, size: int, arrival: float) -> float:
        """Return when a piece of this size has come through, after those before it."""
        begin = arrival
        if self._last is not None:
            begin = max(arrival, self._last + (self._shape.slicer.delay_seconds if self._shape.slicer else 0.0))
        rate = self._shape.bytes_per_second
        self._last = begin + size / rate if rate else begin
        return self._last

    def _delay(self) -> float:
        latency = self._shape.latency
        if latency.jitter_seconds == 0:
            return latency.seconds  # draw no random number without need: the sequence stays the same on every run
        return max(0.0, latency.seconds + latency.jitter_seconds * (2 * self._random.random() - 1))
