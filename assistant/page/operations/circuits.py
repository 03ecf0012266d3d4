"""Keeps in mind how the circuits of servers were in the last hour, while a page is mounted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from assistant.page.values.common import CircuitSpan
from resilience.snapshot import UpstreamState

#: How often the circuits are looked at, and for how long what was seen is kept, in seconds.
LOOK_SECONDS, KEPT_SECONDS = 5.0, 3600.0
#: The most spans that are kept of one server: more than one that changes at each look for half an hour.
_MOST_SPANS = 400


class CircuitLog:
    """The circuits of the last hour. `look` returns the servers of now, `wall` seconds since 1970."""

    def __init__(
        self, clock: IReactorTime, wall: Callable[[], float], look: Callable[[], Iterable[UpstreamState]]
    ) -> None:
        self._wall = wall
        self._look = look
        self._spans: dict[str, list[CircuitSpan]] = {}
        self._loop = LoopingCall(self._note)
        self._loop.clock = clock

    def start(self) -> None:
        """Begin to look."""
        self._loop.start(LOOK_SECONDS, now=True)

    def stop(self) -> None:
        """Look no more. No effect when it does not look."""
        if self._loop.running:
            self._loop.stop()

    def spans(self) -> tuple[CircuitSpan, ...]:
        """Return how each circuit was, by server, the oldest first."""
        return tuple(span for _, spans in sorted(self._spans.items()) for span in spans)

    def _note(self) -> None:
        """Lengthen the span of each server, or begin a new one, and drop what is over an hour old."""
        now = self._wall()
        for server in self._look():
            spans = self._spans.setdefault(server.origin, [])
            if spans:
                spans[-1] = replace(spans[-1], until=now)
            if not spans or spans[-1].circuit != server.state.value:
                spans.append(CircuitSpan(server.origin, server.state.value, now, now))
        oldest = now - KEPT_SECONDS
        for origin, spans in list(self._spans.items()):
            kept = [span for span in spans if span.until >= oldest][-_MOST_SPANS:]
            if kept:
                self._spans[origin] = kept
            else:
                del self._spans[origin]
