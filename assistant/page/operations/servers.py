"""Which servers the page shows: those in use or asked lately; and how their circuits were in the last hour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from mud_assistant.assistant.page.values.common import CircuitSpan, ServerStatus
from mud_assistant.assistant.service.service import AssistantService
from mud_assistant.assistant.service.wording.status import servers_text
from mud_assistant.resilience import origin_of
from mud_assistant.resilience.snapshot import UpstreamState

#: How long a server is shown that nobody thinks with, after it answered or failed last, in seconds.
SHOWN_SECONDS = 600.0
#: How often the circuits are looked at, and for how long what was seen is kept, in seconds.
LOOK_SECONDS, KEPT_SECONDS = 5.0, 3600.0
#: The most spans that are kept of one server: more than one that changes at each look for half an hour.
_MOST_SPANS = 400


def servers_in_use(service: AssistantService) -> Sequence[UpstreamState]:
    """Return the servers that assistants think with, that calls are on their way to, or that were asked lately.

    One that was only tried once, and one that ended, as an embedded model does at each of its restarts, is left out
    after a while.
    """
    runners = service.runners.values()
    thinking = {origin_of(model.provider.get_api_url()) for runner in runners for model in runner.models}
    oldest = service.clock.seconds() - SHOWN_SECONDS
    return [
        server
        for server in service.pipeline.servers()
        if server.origin in thinking
        or server.in_flight
        or server.waiting
        or any(one.at >= oldest for one in server.recent[-1:])
    ]


def servers_of(service: AssistantService) -> tuple[ServerStatus, ...]:
    """Return these servers, each with the sentence that describes it elsewhere."""
    shown = servers_in_use(service)
    sentences = servers_text(service.pipeline.snapshot(), {server.origin for server in shown})
    return tuple(
        ServerStatus(
            origin=server.origin,
            circuit=server.state,
            open_for=server.open_for,
            failures_in_a_row=server.failures_in_a_row,
            in_flight=server.in_flight,
            waiting=server.waiting,
            sentence=sentence,
        )
        for server, sentence in zip(shown, sentences, strict=True)
    )


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
