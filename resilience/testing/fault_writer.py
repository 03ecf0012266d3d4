"""Writes one answer to a client when it is due, and never more than the client takes.

Which bytes are due when is decided by its `Schedule`, which is pure: time and randomness are passed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IPullProducer, IReactorTime
from zope.interface import implementer

from mud_assistant.resilience.testing.faults import Ending, Record, Shape

#: A limited rate is kept in steps of this many seconds.
RATE_STEP_SECONDS = 0.05
#: With more than this many bytes waiting to go out, no more should be fed. It is large because delayed bytes wait too.
HIGH_WATER_BYTES = 1024 * 1024
Due = tuple[float, bytes | Ending]


@implementer(IPullProducer)
class FaultWriter:
    """Writes one answer to its client. The answer is fed in from a server, or poured from pieces on demand.

    `transport` is the client's: it calls `resumeProducing` when all it was given is on its way, and only then gets
    the next piece. `over` is called with the ending when that is due; `has_room` after each piece that went out.
    """

    def __init__(
        self,
        clock: IReactorTime,
        transport: Any,  # Any: an IConsumer that can also be closed in several ways
        schedule: Schedule,
        record: Record,
        *,
        over: Callable[[Ending], None],
        has_room: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._transport = transport
        self._schedule = schedule
        self._record = record
        self._over = over
        self._has_room = has_room
        self._queue: deque[Due] = deque()
        self._queued = 0
        self._poured: Iterator[bytes] | None = None
        self._interval = 0.0
        self._poured_ending = Ending.KEEP
        self._flushed = False
        self._stopped = False
        self._timer: IDelayedCall | None = None

    @property
    def is_full(self) -> bool:
        """Whether it should be fed no more for now."""
        return self._queued > HIGH_WATER_BYTES

    def start(self) -> None:
        """Begin to write the answer."""
        self._transport.registerProducer(self, False)
        self.feed(b"")  # an answer that is cut before its first byte has its ending now

    def feed(self, data: bytes) -> None:
        """Take more of the answer."""
        self._add(self._schedule.of(data, self._clock.seconds()))

    def finish(self, ending: Ending) -> None:
        """Note that the answer is complete."""
        self._add(self._schedule.end(ending, self._clock.seconds()))

    def pour(
        self, pieces: Iterator[bytes], interval_seconds: float, ending: Ending, delay_seconds: float = 0.0
    ) -> None:
        """Write the pieces after the delay, each once the one before it is on its way and the interval is over."""
        self._poured, self._interval, self._poured_ending = pieces, interval_seconds, ending
        self._pull(delay_seconds)
        self._advance()

    def resumeProducing(self) -> None:
        """Go on: all that was written is on its way."""
        self._flushed = True
        self._advance()

    def stopProducing(self) -> None:
        """Forget everything: the client has left, or the answer is over."""
        self._stopped = True
        self._queue.clear()
        self._queued = 0
        self._poured = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _add(self, due: list[Due]) -> None:
        if not self._stopped:
            self._put(due)
            self._advance()

    def _put(self, due: list[Due]) -> None:
        self._queue.extend(due)
        self._queued += sum(len(item) for _, item in due if isinstance(item, bytes))

    def _advance(self) -> None:
        """Write or end what is due, if the client is ready for it."""
        if self._stopped or not self._flushed or self._timer is not None or not self._queue:
            return
        due, item = self._queue[0]
        wait = due - self._clock.seconds()
        if wait > 0:
            self._timer = self._clock.callLater(wait, self._wake)
            return
        self._queue.popleft()
        if isinstance(item, Ending):
            self._end(item)
        else:
            self._write(item)

    def _wake(self) -> None:
        self._timer = None
        self._advance()

    def _write(self, piece: bytes) -> None:
        self._flushed = False
        self._queued -= len(piece)
        self._record.sent_bytes += len(piece)
        self._transport.write(piece)
        if not self._queue:
            self._pull(self._interval)
        self._has_room()

    def _pull(self, delay: float) -> None:
        """Put the next poured piece, or the end of the answer, in the queue."""
        if self._poured is None:
            return
        now = self._clock.seconds() + delay
        piece = next(self._poured, None)
        self._put(self._schedule.end(self._poured_ending, now) if piece is None else self._schedule.of(piece, now))

    def _end(self, ending: Ending) -> None:
        self.stopProducing()
        self._transport.unregisterProducer()
        self._over(ending)


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
